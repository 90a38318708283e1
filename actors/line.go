package actors

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Line is the connection of one life, for an [Interceptor].
type Line struct{ c *conn }

// ErrBusy means that the host does not read.
var ErrBusy = errors.New("host does not read")

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

// Put puts a notification into the outbox, of which no [Interceptor.Write] is asked.
// See [link.Conn.Put].
func (l *Line) Put(m *codec.Message, limit int) (space <-chan struct{}, err error) {
	return l.c.Put(m, limit)
}

// Room returns nil if Put would accept a message, else what Put would return.
func (l *Line) Room(limit int) (space <-chan struct{}, err error) { return l.c.Room(limit) }

// Call asks the life of the line for something, and no other life, and waits
// for the outcome; else it is [Ref.Call].
func (l *Line) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	r := l.c.ref
	_, bounded := ctx.Deadline()
	q, _, err := r.make(method, in, false, bounded, append(opts, direct))
	if err != nil {
		return err
	}
	q.Arm()
	if err := l.c.send(ctx, q, link.Limit); err != nil {
		if errors.Is(err, link.ErrClosed) {
			err = &HostError{Host: r.spec().Name, Life: l.c.life, Err: ErrCrashed, Reason: "connection closed"}
		}
		q.Settle(nil, err)
	}
	return q.result(ctx, out)
}

// Opened returns what was asked and answered in the handshake, where the
// protocol has one that can be told again; see [codec.SessionFeatures].
func (l *Line) Opened() (request, result codec.Raw, ok bool) {
	opened := l.c.Features().Opened
	if opened == nil {
		return nil, nil, false
	}
	request, result = opened()
	return request, result, true
}

// Announced returns what the life has said of its extensions; false where it
// does not speak of any. See [codec.SessionFeatures].
func (l *Line) Announced() ([]codec.Announced, bool) {
	if announced := l.c.Features().Announced; announced != nil {
		return announced()
	}
	return nil, false
}
