package vscode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/vscode/persistent"
	"github.com/hostsup/hostsup/internal/poll"
)

// pipe is one end of a socket in memory. It breaks, with its other end, after
// some bytes.
type pipe struct {
	net.Conn
	other *pipe

	mu   sync.Mutex
	left int // bytes until it breaks; negative: it does not
}

func pipes(left int) (a, b *pipe) {
	x, y := net.Pipe()
	a, b = &pipe{Conn: x, left: left}, &pipe{Conn: y, left: left}
	a.other, b.other = b, a
	return a, b
}

func (p *pipe) CloseWrite() error { return p.Close() }

// Write writes as much as is left, and breaks.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	left := p.left
	if left >= 0 {
		p.left = max(0, left-len(b))
	}
	p.mu.Unlock()
	if left < 0 || left >= len(b) {
		return p.Conn.Write(b)
	}
	n, _ := p.Conn.Write(b[:left])
	p.Close()
	p.other.Close()
	return n, io.ErrClosedPipe
}

func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) } // until it is closed

// SyscallConn is what it has none of: everything is left to Write.
func (*pipe) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// peer is the host's end of a socket, frame by frame.
type peer struct {
	t *testing.T
	c net.Conn
}

func (p peer) write(h persistent.Header, data string) {
	p.t.Helper()
	h.Length = uint32(len(data))
	if _, err := p.c.Write(append(h.Append(nil), data...)); err != nil {
		p.t.Fatal(err)
	}
}

func (p peer) says(id uint32, data string) {
	p.t.Helper()
	p.write(persistent.Header{Type: persistent.Regular, ID: id}, data)
}

// hears returns the next frame: "regular 1/0 text".
func (p peer) hears() string {
	p.t.Helper()
	var b [persistent.HeaderSize]byte
	if _, err := io.ReadFull(p.c, b[:]); err != nil {
		p.t.Fatal(err)
	}
	h := persistent.ParseHeader(b[:])
	data := make([]byte, h.Length)
	if _, err := io.ReadFull(p.c, data); err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprintf("%s %d/%d %s", h.Type, h.ID, h.Ack, data)
}

func (p peer) expects(want string) {
	p.t.Helper()
	if got := p.hears(); got != want {
		p.t.Fatalf("%q, want %q", got, want)
	}
}

// reads collects what comes out of a stream.
type reads struct {
	mu   sync.Mutex
	got  bytes.Buffer
	err  error
	done chan struct{}
}

func reading(s *stream) *reads {
	r := &reads{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		buf := make([]byte, 100)
		for {
			n, err := s.Read(buf)
			r.mu.Lock()
			r.got.Write(buf[:n])
			r.err = err
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return r
}

// texts are the messages that have come.
func (r *reads) texts() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for b := r.got.Bytes(); len(b) >= persistent.HeaderSize; {
		n := persistent.HeaderSize + int(persistent.ParseHeader(b).Length)
		if n > len(b) {
			break
		}
		out = append(out, string(b[persistent.HeaderSize:n]))
		b = b[n:]
	}
	return out
}

func alone1(t *testing.T) (*stream, peer, *reads) {
	t.Helper()
	a, b := pipes(-1)
	s := newStream(a, nil, 0)
	r := reading(s)
	t.Cleanup(func() {
		s.Close()
		b.Close()
		<-r.done
	})
	return s, peer{t, b}, r
}

// What is written at once goes to the socket at once.
func TestFramesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, _ := alone1(t)
		all := ""
		for i := range 300 {
			all += framed(fmt.Sprint(i))
		}
		written := make(chan error, 1)
		go func() {
			_, err := s.Write([]byte(all))
			written <- err
		}()
		// A read from a pipe in memory gets what one write has written.
		n, err := p.c.Read(make([]byte, 2*len(all)))
		if err != nil || n != len(all) {
			t.Errorf("%d of %d bytes, %v", n, len(all), err)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, r := alone1(t)
		p.write(persistent.Header{Type: persistent.Resume}, "")
		p.says(1, "\x02")
		synctest.Wait()
		go func() {
			// Two in one write, and the third in pieces.
			two := framed("one") + framed("two")
			three := framed("three")
			for _, piece := range []string{two, three[:5], three[5:15], three[15:]} {
				if n, err := s.Write([]byte(piece)); err != nil || n != len(piece) {
					t.Error(n, err)
				}
			}
		}()
		p.expects("regular 1/1 one")
		p.expects("regular 2/1 two")
		p.expects("regular 3/1 three")
		// A request is acknowledged at once, the rest after two seconds.
		p.says(2, head(1, 9)+"…")
		p.expects("regular 4/2 " + head(rpcAck, 9))
		begin := time.Now()
		p.says(3, head(9, 9)+"…")
		p.says(3, "once more")
		synctest.Wait()
		p.says(5, "behind a gap")
		p.expects("replay request 0/0 ")
		p.write(persistent.Header{Type: persistent.Ack, Ack: 2}, "")
		p.write(persistent.Header{Type: persistent.ReplayRequest}, "")
		p.expects("regular 3/3 three")
		p.expects("regular 4/3 " + head(rpcAck, 9))
		p.says(4, "")
		synctest.Wait()
		p.expects("ack 0/4 ")
		if took := time.Since(begin); took != persistent.AckAfter {
			t.Error(took)
		}
		p.expects("keep-alive 0/4 ")
		if took := time.Since(begin); took != persistent.KeepAliveEvery {
			t.Error(took)
		}
		// Paused.
		p.write(persistent.Header{Type: persistent.Pause}, "")
		synctest.Wait()
		if _, err := s.Write([]byte(framed("paused"))); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		p.write(persistent.Header{Type: persistent.Resume, Ack: 4}, "")
		p.expects("regular 5/4 paused")
		p.expects("keep-alive 0/4 ")
		p.write(persistent.Header{Type: persistent.Disconnect, Ack: 5}, "")
		<-r.done
		if !errors.Is(r.err, io.EOF) || fmt.Sprintf("%q", r.texts()) != fmt.Sprintf("%q", []string{"\x02", head(1, 9) + "…", head(9, 9) + "…", ""}) {
			t.Errorf("%v, %q", r.err, r.texts())
		}
	})
}

// Nothing happens where there is no other socket: whether the host lives is
// told by others.
func TestSilenceOfTheOnlySocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, r := alone1(t)
		go discard(p.c)
		if _, err := s.Write([]byte(framed("x"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		p.says(1, "late")
		synctest.Wait()
		if fmt.Sprint(r.texts()) != "[late]" {
			t.Error(r.texts(), r.err)
		}
	})
}

func TestBadFrames(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"text":           {"Traceback (most recent call last)", codec.ErrByte},
		"no id":          {framed("x"), codec.ErrID},
		"ack of nothing": {string(persistent.Header{Type: persistent.Ack, Ack: 5}.Append(nil)), codec.ErrID},
		"ack with data":  {string(persistent.Header{Type: persistent.Ack, Length: 5}.Append(nil)), codec.ErrShape},
		"out of turn":    {string(persistent.Header{Type: persistent.Regular, ID: 9, Length: droppedLimit + 1}.Append(nil)), codec.ErrTooLarge},
		"for itself":     {string(persistent.Header{Type: persistent.Control, Length: 1<<32 - 1}.Append(nil)), codec.ErrTooLarge},
		"half a header":  {framed("x")[:5], codec.ErrTruncated},
		"nothing":        {"", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, r := alone1(t)
			if _, err := io.WriteString(p.c, tc.in); err != nil {
				t.Fatal(err)
			}
			p.c.Close()
			<-r.done
			if !errors.Is(r.err, tc.want) {
				t.Error(r.err)
			}
		})
	}
}

// A host that acknowledges nothing makes writers wait, and does not see them again.
func TestNothingIsAcknowledged(t *testing.T) {
	s, p, _ := alone1(t)
	go discard(p.c)
	big := []byte(framed(strings.Repeat("x", keptLimit/4)))
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Write(big); err != nil {
				done <- err
				return
			}
		}
	}()
	kept := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.m.Kept()
	}
	poll.Until(t, time.Minute, "it does not come true", func() bool { return kept() >= keptLimit })
	p.write(persistent.Header{Type: persistent.Ack, Ack: 2}, "")
	poll.Until(t, time.Minute, "it does not come true", func() bool { return kept() >= keptLimit })
	if n := kept(); n > keptLimit+len(big) {
		t.Errorf("%d bytes", n)
	}
	s.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// A host that asks and reads nothing is not asked to do so without end.
func TestAsksWithoutEnd(t *testing.T) {
	s, p, r := alone1(t)
	go discard(p.c)
	p.says(1, head(1, 1)+"…") // begins to count
	p.says(2, head(1, 2)+"…")
	poll.Until(t, time.Minute, "it does not come true", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.requests == 1
	})
	s.mu.Lock()
	s.requests = maxRequests - 1
	s.mu.Unlock()
	// What has been acknowledged counts no more.
	p.write(persistent.Header{Type: persistent.Ack, Ack: 1}, "")
	p.says(3, head(1, 3)+"…")
	poll.Until(t, time.Minute, "it does not come true", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.m.Received() == 3 && s.requests == 0
	})
	s.mu.Lock()
	s.requests = maxRequests
	s.mu.Unlock()
	p.says(4, head(1, 4)+"…")
	<-r.done
	if !errors.Is(r.err, codec.ErrElements) || !strings.Contains(r.err.Error(), "requests and acknowledged nothing") {
		t.Error(r.err)
	}
}
