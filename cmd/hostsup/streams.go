package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
)

// streams are the standard streams of this process as one stream that can be closed. A read
// and a write that wait end then. One goroutine at a time may read, and one write. When nothing
// has passed through them for a while, this process gives the memory back that it does not
// need any more.
type streams struct {
	in    io.ReadCloser
	out   clientWriter
	quiet *quiet
}

// clientWriter is the stream to the client.
type clientWriter interface {
	io.WriteCloser
	// TryWrite writes what the kernel takes at once, which may be nothing.
	TryWrite(p []byte) (int, error)
}

// newStreams returns in and out as one stream.
func newStreams(in io.Reader, out io.Writer) *streams {
	s := &streams{quiet: newQuiet(quietFor, giveBack)}
	if f, ok := in.(*os.File); ok {
		if own, err := sys.StreamOf(f, false); err == nil {
			s.in = &polledReader{Stream: own}
		}
	}
	if f, ok := out.(*os.File); ok {
		if own, err := sys.StreamOf(f, true); err == nil {
			s.out = own
		}
	}
	if s.in == nil {
		s.in = copied(in)
	}
	if s.out == nil {
		s.out = newHandedWriter(out)
	}
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
	return s.out.Write(p)
}

// TryWrite writes what the kernel takes at once, which may be nothing.
func (s *streams) TryWrite(p []byte) (int, error) {
	s.quiet.touch()
	return s.out.TryWrite(p)
}

// Close is idempotent.
func (s *streams) Close() error {
	s.quiet.stop()
	return errors.Join(ignoreClosed(s.in.Close()), ignoreClosed(s.out.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// polledReader busy-polls for a short time before it blocks.
type polledReader struct {
	*sys.Stream
	state busypoll.State
}

func (r *polledReader) Read(p []byte) (int, error) {
	return r.state.Read(func() (int, bool) { return r.TryRead(p) }, func() (int, error) { return r.Stream.Read(p) })
}

// copied returns what can be read from in as a stream that can be closed. A goroutine reads
// from in, which ends with the process at the latest.
func copied(in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err) // nil is the end of the stream
	}()
	return r
}

// handedWriter hands what is written to a goroutine that writes, which ends with the process
// at the latest.
type handedWriter struct {
	out    chan []byte
	wrote  chan error
	closed chan struct{}
	once   sync.Once
}

func newHandedWriter(out io.Writer) *handedWriter {
	h := &handedWriter{out: make(chan []byte), wrote: make(chan error, 1), closed: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-h.out:
				_, err := out.Write(b)
				h.wrote <- err
			case <-h.closed:
				return
			}
		}
	}()
	return h
}

// TryWrite writes nothing: whether that would wait is not known.
func (*handedWriter) TryWrite([]byte) (int, error) { return 0, nil }

func (h *handedWriter) Write(p []byte) (int, error) {
	select {
	case h.out <- p:
	case <-h.closed:
		return 0, io.ErrClosedPipe
	}
	select {
	case err := <-h.wrote:
		if err != nil {
			return 0, err
		}
		return len(p), nil
	case <-h.closed:
		return 0, io.ErrClosedPipe
	}
}

// Close is idempotent.
func (h *handedWriter) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}
