//go:build unix

package dscode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// What is written at once is taken by a writer that waits at once.
func TestFramesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := New().Open(codec.Limits{})
		var b []byte
		for range 300 {
			var err error
			if b, err = session.Append(b, &codec.Message{Kind: codec.Notification, Method: "n"}); err != nil {
				t.Fatal(err)
			}
		}
		s := &stream{out: newOutqueue(), stop: make(chan struct{})}
		taken := make(chan int)
		go func() {
			_, marks, _ := s.out.take(s.stop)
			taken <- len(marks)
		}()
		synctest.Wait()
		if n, err := s.Write(b); err != nil || n != len(b) {
			t.Fatal(n, err)
		}
		if n := <-taken; n != 300 {
			t.Errorf("%d of 300 frames in the first write", n)
		}
	})
}

func TestBothWays(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	h.say(asks(2, "a"), codec.Message{Kind: codec.Notification, Method: "n"}, asks(3, "b"))
	for _, want := range []wireMessage{{"req_2", "a", nil}, {"msg_1", "n", nil}, {"req_3", "b", nil}} {
		if got := main.hear(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	main.say("req_3", "b-response", 3)
	main.say("req_2", "a-response", 2)
	for _, want := range []uint32{3, 2} {
		if m := h.next(); m.Kind != codec.Response || m.ID != want || string(m.Result) != fmt.Sprint(want) {
			t.Errorf("%+v", m)
		}
	}
	// Requests of the same id on three connections, each answered on its own, in
	// another order.
	var accepted []*peer
	ids := make(map[string]uint32)
	for i := range 3 {
		g := h.dial()
		accepted = append(accepted, g)
		g.say("req_1", "ask", i)
		m := h.next()
		ids[string(m.Params)] = m.ID
	}
	for i := 2; i >= 0; i-- {
		h.say(codec.Message{Kind: codec.Response, ID: ids[fmt.Sprint(i)], Result: codec.Raw(fmt.Sprint(i * 10))})
		if got := accepted[i].hear(); got.ID != "req_1" || got.Type != "ask-response" || got.Payload != float64(i*10) {
			t.Errorf("%+v", got)
		}
	}
	// One that ends takes its own requests along, nothing else.
	accepted[0].say("x", "slow", nil)
	open := h.next()
	accepted[0].Close()
	if m := h.next(); m.Kind != codec.Cancel || m.ID != open.ID {
		t.Errorf("%+v", m)
	}
	h.say(codec.Message{Kind: codec.Response, ID: open.ID})
	accepted[1].say("msg_1", "still", "here")
	if m := h.next(); m.Kind != codec.Notification || m.Method != "still" {
		t.Errorf("%+v", m)
	}
}

func TestFramesThatAreNone(t *testing.T) {
	for name, bad := range map[string]string{"zero": "\x00\x00\x00\x00rest", "text": "Traceback (most recent call last)", "over": "\x03\x20\x00\x01{}"} {
		for _, where := range []string{"main", "accepted"} {
			t.Run(name+" "+where, func(t *testing.T) {
				h := newHarness(t)
				p := h.accept()
				if where == "accepted" {
					p = h.dial()
				}
				p.say("msg_1", "fine", nil)
				if _, err := io.WriteString(p, bad); err != nil {
					t.Fatal(err)
				}
				var m codec.Message
				err := h.r.Next(&m)
				if where == "accepted" {
					err = h.r.Next(&m)
				}
				var frame *codec.FrameError
				if !errors.As(err, &frame) || !strings.HasPrefix(bad, string(frame.Bytes)) || len(frame.Bytes) < 4 {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// A frame cut in the middle is the end of its connection.
func TestCutFrame(t *testing.T) {
	h := newHarness(t)
	main, acceptedConn := h.accept(), h.dial()
	for _, p := range []*peer{acceptedConn, main} {
		if _, err := io.WriteString(p, "\x00\x00\x10\x00{"); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	h.accept()
	h.dial().say("msg_1", "on", nil)
	if m := h.next(); m.Method != "on" {
		t.Errorf("%+v", m)
	}
}

func TestLargeFramesOfManyConnections(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	body := `{"id":"%s","type":"a-response","payload":"` + strings.Repeat("y", 3<<20) + `"}`
	var wrote sync.WaitGroup
	for i := range 6 {
		p, id := main, "req_2"
		if i > 0 {
			p, id = h.dial(), "r"
		}
		wrote.Go(func() {
			if _, err := p.Write(framed(fmt.Sprintf(body, id))); err != nil {
				t.Error(err)
			}
		})
	}
	kinds := make(map[codec.Kind]int)
	for range 6 {
		m := h.next()
		if len(m.Params)+len(m.Result) != 3<<20+2 {
			t.Errorf("%d bytes", len(m.Params)+len(m.Result))
		}
		kinds[m.Kind]++
	}
	wrote.Wait()
	if kinds[codec.Response] != 1 || kinds[codec.Request] != 5 {
		t.Errorf("%v", kinds)
	}
}

// What a host sends and nobody reads does not pile up here.
func TestBackPressure(t *testing.T) {
	h := newHarness(t)
	h.accept()
	text := framed(`{"id":"msg_1","type":"n","payload":"` + strings.Repeat("z", 10000) + `"}`)
	const each, conns = 8 << 20, 8
	var wrote sync.WaitGroup
	var stuck sync.WaitGroup
	stuck.Add(conns)
	for range conns {
		p := h.dial()
		wrote.Go(func() {
			told := false
			for n := 0; n < each; n += len(text) {
				_ = p.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
				rest := text
				for len(rest) > 0 {
					k, err := p.Write(rest)
					rest = rest[k:]
					if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
						return
					}
					if err != nil && !told {
						told = true
						stuck.Done()
					}
					_ = p.SetWriteDeadline(time.Now().Add(time.Minute))
				}
			}
			if !told {
				stuck.Done()
				t.Error("never had to wait")
			}
		})
	}
	stuck.Wait()
	in := h.st.(*stream).in
	in.mu.Lock()
	total := in.total
	in.mu.Unlock()
	if total > inboxLimit+blockSize*2 {
		t.Errorf("%d bytes wait", total)
	}
	for range conns * ((each + len(text) - 1) / len(text)) {
		h.next()
	}
	wrote.Wait()
}

func TestConnectionsAreCounted(t *testing.T) {
	h := newHarness(t)
	h.accept()
	var accepted []*peer
	for i := range MaxConnections {
		g := h.dial()
		accepted = append(accepted, g)
		g.say("msg_1", "n", i)
		h.next()
	}
	one := h.dial()
	if _, err := one.read(); !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("one more: %v", err)
	}
	// The end of one makes room.
	accepted[7].say("req", "open", nil)
	h.next()
	accepted[7].Close()
	if m := h.next(); m.Kind != codec.Cancel {
		t.Errorf("%+v", m)
	}
	let := make(chan codec.Message)
	go func() { let <- h.next() }()
	for in := false; !in; {
		g := h.dial()
		refused := make(chan bool)
		go func() {
			_, _ = g.Write(framed(`{"id":"msg_1","type":"in"}`)) // it may be refused by now
			_, _ = g.read()
			close(refused)
		}()
		select {
		case <-refused:
		case m := <-let:
			if in = true; m.Method != "in" {
				t.Errorf("%+v", m)
			}
			g.Close()
			<-refused
		}
	}
}

// A host that asks and does not read loses that connection, and no other.
func TestHostThatDoesNotReadItsAnswers(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	g := h.dial()
	big := codec.Raw(`"` + strings.Repeat("x", 1<<20) + `"`)
	var ids []uint32
	for i := range 16 {
		g.say(fmt.Sprint("req_", i), "ask", nil)
		ids = append(ids, h.next().ID)
	}
	for _, id := range ids {
		h.say(codec.Message{Kind: codec.Response, ID: id, Result: big})
	}
	h.say(asks(2, "a"))
	if got := main.hear(); got.ID != "req_2" {
		t.Errorf("%+v", got)
	}
	_ = g.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, g); err != nil && !isReset(err) {
		t.Error(err)
	}
}

// CloseWrite lets everything go out; the stream ends with the host's socket.
func TestCloseWrite(t *testing.T) {
	h := newHarness(t)
	main, acceptedConn := h.accept(), h.dial()
	acceptedConn.say("r", "ask", nil)
	asked := h.next()
	h.say(asks(2, "a"), codec.Message{Kind: codec.Response, ID: asked.ID})
	if err := h.st.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := h.st.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := main.hear(); got.ID != "req_2" {
		t.Errorf("%+v", got)
	}
	if got := acceptedConn.hear(); got.Type != "ask-response" {
		t.Errorf("%+v", got)
	}
	for _, p := range []*peer{main, acceptedConn} {
		if _, err := p.read(); !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
	}
	main.say("req_2", "a-response", "last words")
	if m := h.next(); m.ID != 2 || string(m.Result) != `"last words"` {
		t.Errorf("%+v", m)
	}
	main.Close()
	var m codec.Message
	if err := h.r.Next(&m); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if _, err := net.Dial("unix", h.m.in); err == nil {
		t.Error("still listening")
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	h := newHarness(t)
	h.accept()
	read, wrote := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := h.st.Read(make([]byte, 1))
		read <- err
	}()
	big := asks(2, "a")
	big.Params = codec.Raw(`"` + strings.Repeat("x", 8<<20) + `"`)
	h.say(big)
	go func() {
		var b []byte
		for {
			b = must(t, h.s, b[:0], big)
			if _, err := h.st.Write(b); err != nil {
				wrote <- err
				return
			}
		}
	}()
	if err := h.st.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []chan error{read, wrote} {
		if err := <-c; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	if err := h.st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.st.Write(must(t, h.s, nil, asks(3, "b"))); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := h.st.CloseWrite(); err != nil {
		t.Error(err)
	}
}

func TestCloseWhileItIsLookedFor(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	h.ln.Close()
	main.Close()
	// It has seen the end once the connection is no longer its own.
	for s := h.st.(*stream); ; runtime.Gosched() {
		s.mu.Lock()
		gone := s.main == nil
		s.mu.Unlock()
		if gone {
			break
		}
	}
	began := time.Now()
	h.st.Close()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("%s", took)
	}
}

// Writes may be cut anywhere.
func TestWriteInPieces(t *testing.T) {
	h := newHarness(t)
	main := h.accept()
	var b []byte
	for id := uint32(2); id < 20; id++ {
		b = must(t, h.s, b, asks(id, "a"))
	}
	for piece := range slices.Chunk(b, 7) {
		if n, err := h.st.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	for id := 2; id < 20; id++ {
		if got := main.hear(); got.ID != fmt.Sprint("req_", id) {
			t.Errorf("%+v", got)
		}
	}
	if _, err := h.st.Write(bytes.Repeat([]byte("x"), 30)); err == nil {
		t.Error("a label that is none was taken")
	}
}

// What is over a limit of the session's own is refused by its first bytes.
func TestLargeFrameIsRefusedByItsLength(t *testing.T) {
	h := newHarness(t)
	h.accept()
	h.s = New().Open(codec.Limits{Frame: 1 << 20})
	h.r = h.s.NewReader(h.st)
	g := h.dial()
	if _, err := g.Write(append([]byte{2, 0, 0, 0}, `{"id":"req_1","type":"a","payload":"`...)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Write(bytes.Repeat([]byte("x"), blockSize)); err != nil {
		t.Fatal(err)
	}
	var m codec.Message
	err := h.r.Next(&m)
	var frame *codec.FrameError
	if !errors.As(err, &frame) || !errors.Is(err, codec.ErrTooLarge) || !strings.HasPrefix(string(frame.Bytes), "\x02\x00\x00\x00{\"id\":") {
		t.Errorf("%v", err)
	}
}
