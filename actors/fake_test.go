package actors

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// fakeWire is a wire that a test holds by both ends.
type fakeWire struct {
	mu     sync.Mutex
	got    bytes.Buffer
	writes int           // calls of Write that wrote something
	tries  int           // calls of TryWrite
	room   int           // bytes that TryWrite takes before it gives up
	gate   chan struct{} // Write waits for it, nil: it does not
	begun  chan struct{} // one for every Write that waits at the gate
	err    error         // of both writes
	half   chan struct{} // closed by CloseWrite
	closed chan struct{} // closed by Close
	once   sync.Once
}

func newFakeWire() *fakeWire {
	return &fakeWire{room: 1 << 30, begun: make(chan struct{}, 100), half: make(chan struct{}), closed: make(chan struct{})}
}

func (w *fakeWire) Read([]byte) (int, error) {
	<-w.closed
	return 0, io.EOF
}

func (w *fakeWire) Write(p []byte) (int, error) {
	w.mu.Lock()
	gate := w.gate
	w.mu.Unlock()
	if gate != nil {
		w.begun <- struct{}{}
		select {
		case <-gate:
		case <-w.closed:
			return 0, errors.New("wire closed")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.writes++
	return w.got.Write(p)
}

func (w *fakeWire) TryWrite(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.tries++
	n := min(len(p), w.room)
	w.room -= n
	w.got.Write(p[:n])
	return n, nil
}

func (w *fakeWire) CloseWrite() error {
	close(w.half)
	return nil
}

func (w *fakeWire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// opening is the first message of every connection; shake is the handshake up
// to its end, after which all capabilities are in force.
func opening(s codec.Session) (codec.Handshake, codec.Message) {
	hs := s.Handshake(codec.Hello{Supervisor: "test", Host: "h", Life: 1})
	out, _ := hs.Start()
	return hs, out[0]
}

func shake(t testing.TB, s codec.Session) {
	t.Helper()
	hs, first := opening(s)
	answer, _, err := native.Open(codec.Limits{}).Accept(native.Self{Name: "h", Caps: codec.CapAll}).Handle(&first)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := hs.Handle(&answer[0]); err != nil || !done {
		t.Fatal(done, err)
	}
}

// written returns what has arrived so far, as the host decodes it.
func (w *fakeWire) written(t testing.TB) []codec.Message {
	t.Helper()
	s := native.Open(codec.Limits{})
	_, first := opening(s)
	b, err := s.Append(nil, &first)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	b = append(b, w.got.Bytes()...)
	w.mu.Unlock()
	host := native.Open(codec.Limits{})
	host.Accept(native.Self{Name: "h", Caps: codec.CapAll})
	r := host.NewReader(bytes.NewReader(b))
	var out []codec.Message
	for {
		var m codec.Message
		err := r.Next(&m)
		if err == io.EOF || errors.Is(err, codec.ErrTruncated) { // the rest is to come
			return out[1:]
		}
		if err != nil {
			t.Fatalf("after %d messages: %v", len(out), err)
		}
		out = append(out, m)
	}
}

// fakeRef is the handle of a host that has no actor: what would be told to it
// goes to nobody.
func fakeRef() *Ref {
	log := hclog.NewNullLogger()
	w := &World{System: NewSystem(log), Log: log, Journal: NewJournal()}
	spec := HostSpec{Name: "h", Command: []string{"x"}, Protocol: native.New()}.WithDefaults()
	ref := newRef(w, "g", spec)
	ref.inbox.ended = true
	return ref
}

// fakeConn is a connection with all capabilities over a fakeWire, whose write
// loop runs until the end of the test.
func fakeConn(t testing.TB, ref *Ref) (*conn, *fakeWire) {
	t.Helper()
	w := newFakeWire()
	session := native.Open(codec.Limits{})
	shake(t, session)
	c := newConn(ref, 1, session, w, 2)
	c.agree(codec.CapAll, true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.out.loop()
	}()
	t.Cleanup(func() {
		c.out.close(io.ErrClosedPipe)
		w.Close()
		<-done
	})
	return c, w
}

// fakeCall makes a request that takes its place in pending.
func fakeCall(ref *Ref) *Request {
	ref.pending.Add(1)
	return newRequest(ref, "echo", nil)
}
