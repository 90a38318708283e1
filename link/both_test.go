package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/sys"
)

// side is one end of a conversation that tells what it hears.
type side struct {
	owner
	*Conn
	name    string
	told    chan string
	counted chan error // how "count" has ended; may be nil
	hs      codec.Handshake
}

func (s *side) Asked(m *codec.Message) (*codec.Message, Handler) {
	if h := counting(m, s.counted); h != nil {
		return nil, h
	}
	if h := sequence(m); h != nil {
		return nil, h
	}
	return s.owner.Asked(m)
}

func (s *side) Opened(codec.Peer)         { s.told <- s.name + " opened" }
func (s *side) Notified(m *codec.Message) { s.told <- s.name + " heard " + m.Method }
func (s *side) Ended(err error)           { s.told <- fmt.Sprint(s.name, " ended: ", err) }

func (s *side) call(t *testing.T, method string, params codec.Raw) *call {
	t.Helper()
	q := newCall()
	q.Method, q.Params = method, params
	if err := s.Send(t.Context(), &q.Pending, Limit); err != nil {
		t.Fatal(err)
	}
	return q
}

// pair connects two links by a socket, and lets them shake hands.
func pair(t *testing.T) (a, b *side) {
	t.Helper()
	ours, theirs, err := sys.SocketPair()
	if errors.Is(err, sys.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(theirs)
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string, w Wire, s *native.Session, hs codec.Handshake) *side {
		x := &side{name: name, told: make(chan string, 10), counted: make(chan error, 10), hs: hs}
		x.handlers = map[string]func(context.Context) (codec.Raw, *codec.Error){
			"who": func(context.Context) (codec.Raw, *codec.Error) { return codec.Raw("\xa1" + name), nil },
			"wait": func(ctx context.Context) (codec.Raw, *codec.Error) {
				x.told <- name + " works"
				<-ctx.Done()
				x.told <- name + " stops"
				return nil, &codec.Error{Name: codec.NameCancelled}
			},
		}
		x.Conn = New(Options{Session: s, Wire: w, Owner: x, Env: System{}, FirstID: 2, Bounds: PeerBounds, Serving: &x.owner.serving, Collect: 1 << 10})
		return x
	}
	s := native.Open(codec.Limits{})
	a = make("a", NewSocketWire(ours), s, s.Handshake(codec.Hello{Supervisor: "a", Host: "b", Life: 1}))
	s = native.Open(codec.Limits{})
	b = make("b", NewNetWire(conn.(*net.UnixConn)), s, s.Accept(native.Self{Name: "b", Caps: codec.CapAll}))
	b.Open(b.hs)
	a.Open(a.hs)
	for _, x := range []*side{a, b} {
		x.expect(t, " opened")
		t.Cleanup(func() {
			for _, p := range x.CloseRequests(errCrashed) {
				p.Settle(nil, errCrashed)
			}
			x.Close()
			x.owner.serving.Wait()
		})
	}
	return a, b
}

func (s *side) expect(t *testing.T, what string) {
	t.Helper()
	if got := <-s.told; got != s.name+what {
		t.Fatalf("%q, want %q", got, s.name+what)
	}
}

// The two ends of a stream are the same: each calls the other, tells it something and
// takes back what it asked for.
func TestBothSidesAreLinks(t *testing.T) {
	a, b := pair(t)
	for _, x := range []struct{ from, to *side }{{a, b}, {b, a}} {
		if raw, err := x.from.call(t, "who", nil).Wait(t.Context()); err != nil || string(raw) != "\xa1"+x.to.name {
			t.Errorf("%q, %v", raw, err)
		}
		if _, err := x.from.Put(&codec.Message{Kind: codec.Notification, Method: "news"}, Limit); err != nil {
			t.Error(err)
		}
		x.to.expect(t, " heard news")
		q := x.from.call(t, "wait", nil)
		x.to.expect(t, " works")
		q.Cancel(errCancelled)
		x.to.expect(t, " stops")
		soon(t, func() bool {
			x.from.mu.Lock()
			defer x.from.mu.Unlock()
			return x.from.table.Len() == 0
		}, "the late answer")
		if !errors.Is(q.err, errCancelled) {
			t.Error(q.err)
		}
	}
}

// Handlers end with the connection, and the other side reads the end of the stream.
func TestEndOfOneSide(t *testing.T) {
	a, b := pair(t)
	q := a.call(t, "wait", nil)
	b.expect(t, " works")
	a.CloseWrite()
	b.expect(t, " ended: "+io.EOF.Error())
	for _, p := range b.CloseRequests(io.EOF) {
		t.Errorf("%s is open", p.Method)
	}
	b.expect(t, " stops")
	if _, err := q.Wait(t.Context()); !errors.As(err, new(*codec.Error)) { // its half of the stream is open
		t.Error(err)
	}
}
