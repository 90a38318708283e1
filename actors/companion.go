package actors

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Companion speaks with a host beside its callers, over all its lives: it is
// there before any call goes to a new life, it hears everything that the host
// says by itself, in order and without loss, and it may answer what the host
// asks. [Ref.Accompany] sets it. Its methods are called by actors and read
// loops: none but Pace may wait.
type Companion interface {
	// Opening returns what the next life is told in the handshake instead of
	// the spec's Init, in the encoding of the protocol; nil for the spec's.
	Opening() codec.Raw
	// Up says that a life has shaken hands. What is sent over the line before
	// publish is called goes before every call to that life. Up calls publish
	// exactly once before it returns.
	Up(line *Line, publish func())
	// Down says that the life of the last Up has ended, or is about to.
	Down(life uint64)
	// Notified gets each notification. It may come before Up.
	Notified(life uint64, m *codec.Message)
	// Asked returns what answers a request of the host, or nil to leave it to
	// the rules of the spec.
	Asked(method string) Handler
	// Pace is called before more is read from the host. It may hold that up as
	// long as what was read before has found no taker, until ctx ends.
	Pace(ctx context.Context)
}

// Clerk is a [Companion] that some requests of the host only tell something, which
// are answered at once, without a result.
type Clerk interface {
	Companion
	// Noted takes such a request; false: it is none. It is called by the read loop,
	// in the order of the requests, before Asked, and must not wait.
	Noted(life uint64, method string, params codec.Raw) bool
}

// Line is the connection of one life, for a companion.
type Line struct{ c *conn }

// Life is its number.
func (l *Line) Life() uint64 { return l.c.life }

// Notify hands a notification to the connection. Where the host does not read,
// the error is [ErrBusy] and space says when to try again; any other error is the
// end of the connection, or a message that the wire cannot carry.
func (l *Line) Notify(method string, params codec.Raw) (space <-chan struct{}, err error) {
	m := codec.Message{Kind: codec.Notification, Method: method, Params: params}
	space, err = l.c.say(&m, link.Limit)
	if errors.Is(err, link.ErrFull) {
		err = ErrBusy
	}
	return space, err
}

// Tell is Notify for what must not wait: it goes over the bound.
func (l *Line) Tell(method string, params codec.Raw) error {
	m := codec.Message{Kind: codec.Notification, Method: method, Params: params}
	_, err := l.c.say(&m, link.NoLimit)
	return err
}

// Opened returns what was asked and answered in the handshake, where the
// protocol has one that can be told again; see [codec.Opener].
func (l *Line) Opened() (request, result codec.Raw, ok bool) {
	o, ok := l.c.Session().(codec.Opener)
	if !ok {
		return nil, nil, false
	}
	request, result = o.Opened()
	return request, result, true
}

// ErrBusy means that the host does not read.
var ErrBusy = errors.New("host does not read")

// Accompany sets the companion of a host. Of a life that is up already it is
// told at once. There can be one; false says that there is another.
func (r *Ref) Accompany(c Companion) bool {
	if !r.companion.CompareAndSwap(nil, &c) {
		return false
	}
	tell(r.world.System.Root, r.pid, &accompanied{})
	return true
}

// accompanied tells the host's actor that there is a companion from now on.
type accompanied struct{}

// with returns the companion, or nil.
func (r *Ref) with() Companion {
	if c := r.companion.Load(); c != nil {
		return *c
	}
	return nil
}

// opening is what the next life is told.
func (r *Ref) opening() any {
	if c := r.with(); c != nil {
		if raw := c.Opening(); raw != nil {
			return raw
		}
	}
	return r.spec.Init
}

// letIn publishes the connection of a new life, companion first.
func (h *Host) letIn(publish func()) {
	c := h.ref.with()
	if c == nil || h.up == h.conn {
		publish()
		return
	}
	h.up = h.conn
	c.Up(&Line{h.conn}, publish)
}

// letOut tells the companion that the life is over.
func (h *Host) letOut() {
	if h.up == nil {
		return
	}
	if c := h.ref.with(); c != nil {
		c.Down(h.up.life)
	}
	h.up = nil
}
