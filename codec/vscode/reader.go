package vscode

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// blockSize is how much is read at once.
const blockSize = 64 << 10

// reader takes messages off a stream of regular frames.
type reader struct {
	s   *session
	src *bufio.Reader
	err error
}

func (s *session) NewReader(r io.Reader) codec.Reader {
	return &reader{s: s, src: bufio.NewReaderSize(r, blockSize)}
}

// Next fills m with the next message.
func (r *reader) Next(m *codec.Message) error {
	for r.err == nil {
		var data []byte
		if data, r.err = r.frame(); r.err != nil {
			break
		}
		var found bool
		if found, r.err = r.s.decode(data, m); r.err == nil && found {
			m.Size += persistent.HeaderSize
			return nil
		}
	}
	return r.err
}

// Buffered says whether Next can return without waiting for the stream.
func (r *reader) Buffered() bool {
	if r.err != nil {
		return true
	}
	have := r.src.Buffered()
	if have < persistent.HeaderSize {
		return false
	}
	b, err := r.src.Peek(persistent.HeaderSize)
	return err == nil && uint64(have) >= persistent.HeaderSize+uint64(persistent.ParseHeader(b).Length)
}

// frame returns the data of the next frame.
func (r *reader) frame() ([]byte, error) {
	b, err := r.src.Peek(persistent.HeaderSize)
	switch {
	case errors.Is(err, io.EOF) && len(b) > 0:
		return nil, truncated("the header of a frame", b)
	case err != nil:
		return nil, err
	}
	h := persistent.ParseHeader(b)
	head := evidence(b)
	switch {
	case h.Type != persistent.Regular:
		return nil, &codec.FrameError{Err: codec.ErrByte, Offset: -1, Detail: fmt.Sprintf("%s frame, a regular one expected", h.Type), Bytes: head}
	case h.Length == 0:
		return nil, &codec.FrameError{Err: codec.ErrEmpty, Offset: -1, Detail: "length 0", Bytes: head}
	case uint64(h.Length) > uint64(r.s.lim.Frame):
		return nil, r.large(h.Length)
	}
	_, _ = r.src.Discard(persistent.HeaderSize) // it was just seen
	body, err := codec.ReadBody(r.src, int(h.Length))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, truncated(fmt.Sprintf("%d of a frame's %d bytes", len(body), h.Length), body)
	}
	return body, err
}

func truncated(what string, b []byte) error {
	return &codec.FrameError{Err: codec.ErrTruncated, Offset: -1, Detail: "the stream ended within " + what, Bytes: evidence(b)}
}
