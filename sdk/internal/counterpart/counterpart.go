// Package counterpart is the supervisor's side of a connection for tests: it
// speaks message by message, sees everything that comes, and hides nothing.
package counterpart

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
)

// patience is how long a message may take before a test fails.
const patience = 20 * time.Second

// Pair returns the two ends of a unix socket. They are closed with the test.
func Pair(tb testing.TB) (mine, theirs *net.UnixConn) {
	tb.Helper()
	addr := &net.UnixAddr{Name: filepath.Join(tb.TempDir(), "s"), Net: "unix"}
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *net.UnixConn, 1)
	go func() {
		conn, _ := l.AcceptUnix()
		accepted <- conn
	}()
	theirs, err = net.DialUnix("unix", nil, addr)
	if err != nil {
		tb.Fatal(err)
	}
	mine = <-accepted
	if mine == nil {
		tb.Fatal("accept failed")
	}
	tb.Cleanup(func() {
		mine.Close()
		theirs.Close()
	})
	return mine, theirs
}

// Conn is a stream that can be read with a deadline.
type Conn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// Peer is one connection from the supervisor's side. Its methods fail the
// test when something unforeseen comes.
type Peer struct {
	tb   testing.TB
	conn Conn
	sess *native.Session
	rd   codec.Reader
	Host codec.Peer // what the host said of itself
	Last uint32     // id of the last request made
}

// New makes a peer that has not opened the connection yet.
func New(tb testing.TB, conn Conn) *Peer {
	p := &Peer{tb: tb, conn: conn, sess: native.Open(codec.Limits{})}
	p.rd = p.sess.NewReader(conn)
	return p
}

// Open makes a peer and opens the connection.
func Open(tb testing.TB, conn Conn) *Peer {
	tb.Helper()
	p := New(tb, conn)
	p.Handshake(codec.Hello{Supervisor: "counterpart", Version: "0", Host: "h", Life: 1})
	return p
}

// LeaveAtEnd says goodbye at the end of the test, and wants done, which says how
// the serving of the other side has ended, to go well; of a test that has failed
// it only waits for that.
func (p *Peer) LeaveAtEnd(done <-chan error) {
	p.tb.Cleanup(func() {
		if p.tb.Failed() {
			p.Close()
			<-done
			return
		}
		p.Goodbye()
		if err := <-done; err != nil {
			p.tb.Error("serve:", err)
		}
	})
}

// Handshake opens the connection.
func (p *Peer) Handshake(h codec.Hello) {
	p.tb.Helper()
	if err := p.TryHandshake(h); err != nil {
		p.tb.Fatal("handshake:", err)
	}
}

// TryHandshake opens the connection or says why it cannot.
func (p *Peer) TryHandshake(h codec.Hello) error {
	hs := p.sess.Handshake(h)
	out, done := hs.Start()
	p.Send(out...)
	for !done {
		var m codec.Message
		if err := p.read(&m); err != nil {
			return err
		}
		var err error
		if out, done, err = hs.Handle(&m); err != nil {
			return err
		}
		p.Send(out...)
	}
	p.Host, p.Last = hs.Peer(), 1
	return nil
}

// Announced is what the host said of its extensions.
func (p *Peer) Announced() ([]codec.Announced, bool) { return p.sess.Announced() }

// Send sends messages in one write.
func (p *Peer) Send(ms ...codec.Message) {
	p.tb.Helper()
	p.Write(p.encode(ms))
}

// Offer sends messages in one write on a goroutine of its own, to a host that
// may not take them. The channel returned is closed when the write is over.
func (p *Peer) Offer(ms ...codec.Message) <-chan struct{} {
	p.tb.Helper()
	b, over := p.encode(ms), make(chan struct{})
	go func() {
		defer close(over)
		_, _ = p.conn.Write(b)
	}()
	return over
}

func (p *Peer) encode(ms []codec.Message) (b []byte) {
	p.tb.Helper()
	for i := range ms {
		var err error
		if b, err = p.sess.Append(b, &ms[i]); err != nil {
			p.tb.Fatal(err)
		}
	}
	return b
}

// Write sends bytes as they are.
func (p *Peer) Write(b []byte) {
	p.tb.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.tb.Fatal(err)
	}
}

// Request returns a request with the next id.
func (p *Peer) Request(method string, params any) codec.Message {
	p.tb.Helper()
	p.Last++
	return codec.Message{Kind: codec.Request, ID: p.Last, Method: method, Params: p.Raw(params)}
}

// Notification returns a notification.
func (p *Peer) Notification(method string, params any) codec.Message {
	p.tb.Helper()
	return codec.Message{Kind: codec.Notification, Method: method, Params: p.Raw(params)}
}

// Call sends a request and returns its answer; acks on the way are dropped.
func (p *Peer) Call(method string, params any) codec.Message {
	p.tb.Helper()
	p.Send(p.Request(method, params))
	return p.Answer(p.Last)
}

// Answer returns the answer to a request; acks on the way are dropped.
func (p *Peer) Answer(id uint32) codec.Message {
	p.tb.Helper()
	for {
		m := p.Next()
		switch {
		case m.Kind == codec.Ack:
		case m.Kind == codec.Response && m.ID == id:
			return m
		default:
			p.tb.Fatalf("%v %d %q instead of the answer to %d", m.Kind, m.ID, m.Method, id)
		}
	}
}

// Next returns the next message.
func (p *Peer) Next() codec.Message {
	p.tb.Helper()
	var m codec.Message
	if err := p.read(&m); err != nil {
		p.tb.Fatal("next message: ", err)
	}
	return m
}

// Try takes the next message or says why there is none.
func (p *Peer) Try(m *codec.Message) error { return p.read(m) }

// Take returns the next message, for benchmarks: nothing limits the wait.
func (p *Peer) Take() (m codec.Message) {
	if err := p.rd.Next(&m); err != nil {
		p.tb.Fatal("next message: ", err)
	}
	return m
}

// Buffered says whether Take can return without waiting.
func (p *Peer) Buffered() bool { return p.rd.Buffered() }

// Expect returns the next message, which must be of this kind and id.
func (p *Peer) Expect(kind codec.Kind, id uint32) codec.Message {
	p.tb.Helper()
	m := p.Next()
	if m.Kind != kind || m.ID != id {
		p.tb.Fatalf("%v for id %d (%v), want %v for id %d", m.Kind, m.ID, m.Err, kind, id)
	}
	return m
}

// End reads until the stream ends and returns how; io.EOF becomes nil.
func (p *Peer) End() error {
	for {
		var m codec.Message
		switch err := p.read(&m); {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// Goodbye asks the host to end, waits for the answer and closes.
func (p *Peer) Goodbye() {
	p.tb.Helper()
	if m := p.Call(native.MethodShutdown, nil); m.Err != nil {
		p.tb.Fatal("shutdown:", m.Err)
	}
	p.Close()
}

// Close closes the connection.
func (p *Peer) Close() { p.conn.Close() }

// CloseWrite ends the stream towards the host.
func (p *Peer) CloseWrite() {
	p.tb.Helper()
	half, ok := p.conn.(interface{ CloseWrite() error })
	if !ok {
		p.tb.Fatalf("%T cannot be closed by half", p.conn)
	}
	if err := half.CloseWrite(); err != nil {
		p.tb.Fatal(err)
	}
}

// Raw encodes v.
func (p *Peer) Raw(v any) codec.Raw {
	p.tb.Helper()
	raw, err := mpack.Encoding{}.Marshal(v)
	if err != nil {
		p.tb.Fatal(err)
	}
	return raw
}

// JSON shows a value.
func (p *Peer) JSON(raw codec.Raw) string {
	p.tb.Helper()
	b, err := mpack.Encoding{}.ToJSON(raw)
	if err != nil {
		p.tb.Fatal(err)
	}
	return string(b)
}

func (p *Peer) read(m *codec.Message) error {
	// A pipe whose other end is closed takes no deadline, and needs none.
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	return p.rd.Next(m)
}

// Server is what a test serves.
type Server interface {
	ServeConn(ctx context.Context, rw io.ReadWriteCloser) error
}

// Serve serves rw on a goroutine and returns where its result will be.
func Serve(ctx context.Context, s Server, rw io.ReadWriteCloser) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.ServeConn(ctx, rw) }()
	return done
}
