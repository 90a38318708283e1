// Package linktest is what tests of links share: a wire that a test holds by both
// ends, and the handshake of hostsup's own protocol up to its end.
package linktest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// Wire is a link.Wire that a test holds by both ends. Its lock guards the fields.
type Wire struct {
	sync.Mutex
	Got    bytes.Buffer
	Writes int           // calls of Write that wrote something
	Tries  int           // calls of TryWrite
	Room   int           // bytes that TryWrite takes before it gives up
	Gate   chan struct{} // Write waits for it, nil: it does not
	Begun  chan struct{} // one for every Write that waits at the gate
	Err    error         // of both writes
	Half   chan struct{} // closed by CloseWrite
	Idle   chan struct{} // closed by the first Read: from then on the read loop waits
	closed chan struct{} // closed by Close
	once   sync.Once
	first  sync.Once
}

// NewWire makes a wire whose peer says nothing and reads everything.
func NewWire() *Wire {
	return &Wire{Room: 1 << 30, Begun: make(chan struct{}, 100), Half: make(chan struct{}), Idle: make(chan struct{}), closed: make(chan struct{})}
}

// Read waits for Close.
func (w *Wire) Read([]byte) (int, error) {
	w.first.Do(func() { close(w.Idle) })
	<-w.closed
	return 0, io.EOF
}

// Write implements link.Wire.
func (w *Wire) Write(p []byte) (int, error) {
	w.Lock()
	gate := w.Gate
	w.Unlock()
	if gate != nil {
		w.Begun <- struct{}{}
		select {
		case <-gate:
		case <-w.closed:
			return 0, errors.New("wire closed")
		}
	}
	w.Lock()
	defer w.Unlock()
	if w.Err != nil {
		return 0, w.Err
	}
	w.Writes++
	return w.Got.Write(p)
}

// TryWrite implements link.Wire.
func (w *Wire) TryWrite(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	if w.Err != nil {
		return 0, w.Err
	}
	w.Tries++
	n := min(len(p), w.Room)
	w.Room -= n
	w.Got.Write(p[:n])
	return n, nil
}

// CloseWrite implements link.Wire.
func (w *Wire) CloseWrite() error {
	close(w.Half)
	return nil
}

// Close implements link.Wire.
func (w *Wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// opening is the first message of every connection.
func opening(s codec.Session) (codec.Handshake, codec.Message) {
	hs := s.Handshake(codec.Hello{Supervisor: "test", Host: "h", Life: 1})
	out, _ := hs.Start()
	return hs, out[0]
}

// Shake plays the handshake up to its end, after which all capabilities are in force.
func Shake(t testing.TB, s codec.Session) {
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

// Written returns what has arrived so far, as the host decodes it.
func (w *Wire) Written(t testing.TB) []codec.Message {
	t.Helper()
	s := native.Open(codec.Limits{})
	_, first := opening(s)
	b, err := s.Append(nil, &first)
	if err != nil {
		t.Fatal(err)
	}
	w.Lock()
	b = append(b, w.Got.Bytes()...)
	w.Unlock()
	host := native.Open(codec.Limits{})
	host.Accept(native.Self{Name: "h", Caps: codec.CapAll})
	r := host.NewReader(bytes.NewReader(b))
	var out []codec.Message
	for {
		var m codec.Message
		err := r.Next(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, codec.ErrTruncated) { // the rest is to come
			return out[1:]
		}
		if err != nil {
			t.Fatalf("after %d messages: %v", len(out), err)
		}
		out = append(out, m)
	}
}

// Said returns what has arrived after the handshake.
func (w *Wire) Said(t testing.TB) []codec.Message {
	t.Helper()
	w.Lock()
	b := bytes.Clone(w.Got.Bytes())
	w.Unlock()
	s := native.Open(codec.Limits{})
	Shake(t, s)
	r := s.NewReader(bytes.NewReader(b))
	var out []codec.Message
	for {
		var m codec.Message
		err := r.Next(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, codec.ErrTruncated) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
}

// Answers returns the answers among what Said returns.
func (w *Wire) Answers(t testing.TB) []codec.Message {
	t.Helper()
	return slices.DeleteFunc(w.Said(t), func(m codec.Message) bool { return m.Kind != codec.Response })
}

// Shaken is a handshake that is done at once.
type Shaken codec.Caps

// Start implements [codec.Handshake].
func (Shaken) Start() ([]codec.Message, bool) { return nil, true }

// Handle implements [codec.Handshake].
func (Shaken) Handle(*codec.Message) ([]codec.Message, bool, error) { return nil, true, nil }

// Peer implements [codec.Handshake].
func (s Shaken) Peer() codec.Peer { return codec.Peer{Caps: codec.Caps(s)} }
