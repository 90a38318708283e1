package main

import (
	"io"
	"sync"
)

// streams are the standard streams of this process as one stream that can be closed. A read
// and a write that wait end then, which those of an inherited file do not: two goroutines make
// them, and end with the process at the latest. When nothing has passed through them for a
// while, this process gives the memory back that it does not need any more.
type streams struct {
	quiet  *quiet
	in     *io.PipeReader
	out    chan []byte
	wrote  chan error
	closed chan struct{}
	once   sync.Once
}

func newStreams(in io.Reader, out io.Writer) *streams {
	r, w := io.Pipe()
	s := &streams{quiet: newQuiet(quietFor, giveBack), in: r, out: make(chan []byte), wrote: make(chan error, 1), closed: make(chan struct{})}
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // nil is the end of the stream
	}()
	go func() {
		for {
			select {
			case b := <-s.out:
				_, err := out.Write(b)
				s.wrote <- err
			case <-s.closed:
				return
			}
		}
	}()
	return s
}

func (s *streams) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.quiet.touch()
	return n, err
}

// Write must not be called concurrently, and p must not be changed after a Close that came
// during a Write.
func (s *streams) Write(p []byte) (int, error) {
	s.quiet.touch()
	select {
	case s.out <- p:
	case <-s.closed:
		return 0, io.ErrClosedPipe
	}
	select {
	case err := <-s.wrote:
		if err != nil {
			return 0, err
		}
		return len(p), nil
	case <-s.closed:
		return 0, io.ErrClosedPipe
	}
}

// Close is idempotent.
func (s *streams) Close() error {
	s.once.Do(func() {
		s.quiet.stop()
		close(s.closed)
	})
	return s.in.Close()
}
