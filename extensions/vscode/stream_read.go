package vscode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
)

// incoming is the state of Read within a frame.
type incoming struct {
	src     *bufio.Reader
	fail    error  // the next result of Read
	head    []byte // the part of the header that is still to be returned
	left    int    // bytes of the frame that are still to be read
	deliver bool   // they are returned, after the first skip of them
	skip    int    // bytes that were returned before the socket was lost

	length int                 // of the current message, or 0
	passed int                 // bytes of it that were returned
	open   bool                // it is incomplete
	first  [wire.HeadSize]byte // its first bytes

	longest int // length of the longest message so far
}

// droppedLimit bounds the length of a frame that is dropped, unless a message was as long:
// its data takes no memory, but its length decides where the next frame begins.
const droppedLimit = 64 << 20

// Read returns the frames of the host that are messages, once and in order. It holds no
// complete frame in memory.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	unsent := s.unsent
	s.mu.Unlock()
	if unsent {
		s.tryFlush()
	}
	for {
		err, n := s.in.fail, 0
		if s.in.fail = nil; err == nil {
			n, err = s.read(p)
		}
		if n > 0 || err == nil {
			s.in.fail = err // for the next call
			return n, nil
		}
		var broken *codec.FrameError
		switch {
		case errors.As(err, &broken):
			return 0, err
		case errors.Is(err, errDisconnected):
			return 0, io.EOF
		}
		if err = s.reconnect(err); err != nil {
			return 0, err
		}
	}
}

// errDisconnected means that the host has announced the end of the conversation.
var errDisconnected = errors.New("disconnected")

func (s *stream) read(p []byte) (n int, err error) {
	in := &s.in
	for n < len(p) {
		switch {
		case len(in.head) > 0:
			k := copy(p[n:], in.head)
			in.head, n = in.head[k:], n+k
			continue
		case n > 0 && in.src.Buffered() == 0, n > 0 && in.left == 0 && in.src.Buffered() < persistent.HeaderSize:
			return n, nil
		case in.left == 0:
			if err := s.header(); err != nil {
				return n, err
			}
			continue
		case !in.deliver || in.skip > 0:
			k := in.left
			if in.deliver {
				k = in.skip
			}
			k, err := in.src.Discard(k)
			in.left -= k
			if in.deliver {
				in.skip -= k
			}
			if err != nil {
				return n, err
			}
			continue
		}
		k, err := in.src.Read(p[n:min(len(p), n+in.left)])
		if in.passed < len(in.first) {
			copy(in.first[in.passed:], p[n:n+k])
		}
		n, in.left, in.passed = n+k, in.left-k, in.passed+k
		if in.left == 0 {
			if err := s.messageRead(); err != nil {
				return n, err
			}
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// header reads the header of the next frame.
func (s *stream) header() error {
	in := &s.in
	b, err := in.src.Peek(persistent.HeaderSize)
	if err != nil {
		if errors.Is(err, io.EOF) && len(b) > 0 && s.single {
			err = codec.Faultf(codec.ErrTruncated, -1, b, "the stream ended within the header of a frame")
		}
		return err
	}
	h := persistent.ParseHeader(b)
	s.mu.Lock()
	s.lost = time.Time{}
	before := s.m.Unacked()
	effect, err := s.m.Receive(time.Now(), h)
	if s.m.Unacked() < before {
		s.moved.Broadcast()
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		return frameError(err, b)
	case effect == persistent.Disconnected:
		return errDisconnected
	case effect == persistent.Deliver && in.open && in.length != int(h.Length):
		return frameError(fmt.Errorf("%w: frame %d has %d bytes when it is sent again, %d before", persistent.ErrShape, h.ID, h.Length, in.length), b)
	case effect != persistent.Deliver && uint64(h.Length) > uint64(max(droppedLimit, in.longest)):
		return codec.Faultf(codec.ErrTooLarge, -1, b, "%d bytes in a %s frame out of turn, limit %d", h.Length, h.Type, max(droppedLimit, in.longest))
	case h.Type != persistent.Ack && h.Type != persistent.KeepAlive && effect != persistent.Deliver:
		signal(s.kick) // the machine may have something to write
	}
	in.left, in.skip, in.deliver = int(h.Length), 0, effect == persistent.Deliver
	if in.deliver && in.open {
		in.skip = in.passed
	} else if in.deliver {
		in.open, in.length, in.passed = true, int(h.Length), 0
		in.longest = max(in.longest, in.length)
		in.head = append([]byte(nil), b...)
	}
	_, _ = in.src.Discard(persistent.HeaderSize) // they were just peeked
	if in.deliver && in.left == 0 {
		return s.messageRead()
	}
	return nil
}

// messageRead handles the end of a message.
func (s *stream) messageRead() error {
	in := &s.in
	in.open = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Done(time.Now())
	s.rearm()
	ack := wire.Acknowledge(in.first[:min(in.passed, len(in.first))])
	if ack == nil {
		return nil
	}
	if s.requests++; s.requests > maxRequests {
		return codec.Faultf(codec.ErrElements, -1, nil, "the host has made %d requests and acknowledged nothing", maxRequests)
	}
	if err := s.m.Send(ack); err != nil {
		s.fail(err)
		return err
	}
	if s.m.Acked() >= s.mark {
		s.requests, s.mark = 0, s.m.Sent()
	}
	s.unsent = true
	return nil
}
