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

// incoming is what Read knows of the frame that it is at.
type incoming struct {
	src     *bufio.Reader
	fail    error  // what is to be returned next
	head    []byte // of the header, what is still to be handed out
	left    int    // bytes of data to come from the socket
	deliver bool   // they are handed out, behind the first skip of them
	skip    int    // they were handed out before the socket was lost

	length int                 // of the message that is being handed out, or 0
	passed int                 // how many bytes of it were
	open   bool                // it is not whole yet
	first  [wire.HeadSize]byte // of it

	longest int // of the messages so far
}

// droppedLimit is the most data that a frame may have which is not handed out,
// unless one with as much was before: it is dropped as it comes, but what it
// says of its length decides where the next frame is looked for.
const droppedLimit = 64 << 20

// Read returns the frames of the host that are messages, in order and once. No
// frame is ever held as a whole.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	unsent := s.unsent
	s.mu.Unlock()
	if unsent {
		s.dash()
	}
	for {
		err, n := s.in.fail, 0
		if s.in.fail = nil; err == nil {
			n, err = s.read(p)
		}
		if n > 0 || err == nil {
			s.in.fail = err // for the next time
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

// errDisconnected means that the host has said that it will not come back.
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
			if err := s.whole(); err != nil {
				return n, err
			}
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// header takes the header of the next frame.
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
		signal(s.kick) // it may have asked for something to be written
	}
	in.left, in.skip, in.deliver = int(h.Length), 0, effect == persistent.Deliver
	if in.deliver && in.open {
		in.skip = in.passed
	} else if in.deliver {
		in.open, in.length, in.passed = true, int(h.Length), 0
		in.longest = max(in.longest, in.length)
		in.head = append([]byte(nil), b...)
	}
	_, _ = in.src.Discard(persistent.HeaderSize) // it was just seen
	if in.deliver && in.left == 0 {
		return s.whole()
	}
	return nil
}

// whole says that a message has come to its end.
func (s *stream) whole() error {
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
	if s.asked++; s.asked > maxAsked {
		return codec.Faultf(codec.ErrElements, -1, nil, "the host has made %d requests and acknowledged nothing", maxAsked)
	}
	if err := s.m.Send(ack); err != nil {
		s.fail(err)
		return err
	}
	if s.m.Acked() >= s.mark {
		s.asked, s.mark = 0, s.m.Sent()
	}
	s.unsent = true
	return nil
}
