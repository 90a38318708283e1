//go:build !hostsup_posix

package survive

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/shim"
)

// wire is the connection to a host by way of its shim. conn is set before the first use but
// for Close. The other fields are those of the read loop.
type wire struct {
	conn Conn
	life *life

	framing framing // nil without a protocol
	whole   uint64  // bytes that are whole messages
	saved   bool    // the handshake is in the file of the life

	kept     atomic.Bool // another supervisor can go on with the life
	going    atomic.Bool // one is going to: what is written is dropped
	stopping atomic.Bool // the life ends for this supervisor
	let      chan struct{}
	letOnce  sync.Once
	ended    chan struct{} // closed when Read has returned after letGo
	endOnce  sync.Once
}

func newWire(l *life) *wire {
	return &wire{life: l, let: make(chan struct{}), ended: make(chan struct{})}
}

// letGo ends the life for this supervisor: see starter.watch.
func (w *wire) letGo() { w.letOnce.Do(func() { close(w.let) }) }

// dropped reports whether a message is not sent, because another supervisor takes over the host.
func (w *wire) dropped() bool {
	if !w.going.Load() {
		return false
	}
	if w.stopping.Load() {
		w.letGo() // this was the goodbye
	}
	return true
}

// Read implements link.Wire. It acknowledges the messages that it has returned whole before: they are
// worked on by then, and the shim has what answers those of a handshake.
func (w *wire) Read(p []byte) (int, error) {
	if w.life.Open && !w.saved {
		if err := w.life.save(); err != nil {
			return 0, err
		}
		w.saved = true
	}
	w.kept.Store(w.saved)
	out := w.conn.Stdout()
	_ = out.Ack(out.From() + w.whole) // that the shim is lost, Read tells
	n, err := out.Read(p)
	w.whole = w.framing.scan(p[:n])
	if errors.Is(err, shim.ErrLost) {
		err = io.EOF // how the process has ended says more
	}
	if w.going.Load() && errors.Is(err, os.ErrClosed) {
		w.endOnce.Do(func() { close(w.ended) })
		err = io.EOF // for the life, the process ends
	}
	return n, err
}

// Write implements link.Wire. p is made of whole messages.
func (w *wire) Write(p []byte) (int, error) {
	if w.dropped() {
		return len(p), nil
	}
	if err := w.conn.Send(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TryWrite implements link.Wire.
func (w *wire) TryWrite(p []byte) (int, error) {
	if w.dropped() {
		return len(p), nil
	}
	if sent, err := w.conn.TrySend(p); err != nil || !sent {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite implements link.Wire.
func (w *wire) CloseWrite() error {
	if w.going.Load() {
		w.letGo()
		return nil
	}
	return w.conn.CloseInput()
}

// Close implements link.Wire. The connection to the shim goes on: it tells how the process ends.
func (w *wire) Close() error {
	if w.conn != nil {
		w.conn.Hangup()
	}
	return nil
}

func (w *wire) heard(m codec.Message) { w.life.Opening = append(w.life.Opening, m) }
func (w *wire) opened()               { w.life.Open = true }
