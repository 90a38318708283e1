package sdk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link"
)

// notesWaiting is how many notifications wait for their handlers.
const notesWaiting = 1024

// conn is one connection in service, and the owner of its link. The methods of
// [link.Owner] run on the receive loop.
type conn struct {
	*link.Conn
	srv  *Server
	opt  *options
	caps codec.Caps // in force; set before the handshake is done

	controls map[string]*handler // of the protocol
	list     *link.Deadlines     // of calls; they have none

	ctx    context.Context // parent of every handler's
	cancel context.CancelCauseFunc
	reply  codec.Message // of the receive loop
	busy   tally         // requests, notifications and hooks accepted and not done
	notes  chan note     // closed when the receive loop has ended
	read   chan error    // how that was

	drainOnce sync.Once
	drained   chan struct{} // closed when handlers and hooks are done
	over      chan struct{} // closed when goodbyes are to be answered
	helpers   sync.WaitGroup
	workers   workers
	refusing  atomic.Bool // nothing new is accepted
	parting   atomic.Bool // a goodbye was asked for

	mu   sync.Mutex
	gone error // why calls cannot be made any more
}

// Opened implements [link.Owner].
func (c *conn) Opened(p codec.Peer) {
	c.caps = p.Caps
	c.srv.conn = c
	close(c.srv.ready)
	if len(c.srv.extensions) > 0 && !c.caps.Has(codec.CapExtensions) {
		c.helpers.Go(c.startup)
	}
}

// Ended implements [link.Owner].
func (c *conn) Ended(err error) {
	close(c.notes)
	if verdict := c.verdict(err); verdict != nil {
		c.lose(verdict)
	} else {
		c.lose(ErrClosed)
	}
	c.read <- err
}

// Pace implements [link.Owner].
func (*conn) Pace(context.Context) {}

// Noise implements [link.Owner].
func (*conn) Noise([]byte) {}

// Sent implements [link.Owner].
func (*conn) Sent(*link.Pending, *codec.Message, bool) {}

// Answered implements [link.Owner].
func (*conn) Answered(uint32, *link.Pending, int64, int64) {}

// Replied implements [link.Owner].
func (*conn) Replied(*link.Pending) {}

// Sign implements [link.Owner].
func (*conn) Sign() {}

// Broke implements [link.Owner]: the receive loop sees the end of the stream, too.
func (*conn) Broke(error) {}

// Asked implements [link.Owner]: it answers a request at once, or names its handler.
func (c *conn) Asked(m *codec.Message) (*codec.Message, link.Handler) {
	switch m.Method {
	case native.MethodPing:
		return c.replyWith(nil, nil), nil
	case native.MethodShutdown:
		return c.goodbye()
	}
	h := (*c.srv.methods.Load())[m.Method]
	if own := c.controls[m.Method]; own != nil && c.caps.Has(codec.CapExtensions) {
		h = own
	}
	switch {
	case c.refusing.Load():
		return c.replyWith(nil, shuttingDown()), nil
	case h == nil:
		return c.replyWith(nil, methodNotFound(m.Method)), nil
	case h.control:
		return nil, control{h}
	case !h.inline || h.stream != nil || h.of != nil && !h.of.on.Load(): // the last one has to wait
		return nil, h
	}
	return c.replyWith(c.inline(h, m)), nil
}

func (c *conn) replyWith(result codec.Raw, failure *codec.Error) *codec.Message {
	c.reply = codec.Message{Result: result, Err: failure}
	return &c.reply
}

// inline runs a handler on the receive loop.
func (c *conn) inline(h *handler, m *codec.Message) (result codec.Raw, failure *codec.Error) {
	returned := false
	defer func() {
		if !returned {
			c.Ended(errors.New("an inline handler ended the receive loop"))
		}
	}()
	c.LetGo()
	result, failure = h.invoke(&handling{Context: c.ctx, id: m.ID, inline: true, trace: m.Trace}, m.Params)
	returned = true
	return result, failure
}

// Serve implements [link.Handler].
func (h *handler) Serve(r *link.Incoming) (result codec.Raw, failure *codec.Error) {
	switch {
	case r.Err() != nil: // the time for draining is over
		failure = shuttingDown()
	case h.stream != nil:
		result, failure = r.Items(list, func() *codec.Error {
			_, failure := protect(func() (codec.Raw, error) {
				return nil, h.stream(r, r.Params, func(item any) error { return h.send(r, item) })
			})
			return failure
		})
	default:
		result, failure = h.invoke(r, r.Params)
	}
	if r.Err() != nil && context.Cause(r) == ErrCancelled { //nolint:errorlint // it is never wrapped
		return nil, cancelled()
	}
	return result, failure
}

// invoke runs a handler that answers with one value.
func (h *handler) invoke(ctx context.Context, params codec.Raw) (codec.Raw, *codec.Error) {
	return protect(func() (codec.Raw, error) { return h.call(ctx, params) })
}

// protect runs a handler. Panics become errors.
func protect(f func() (codec.Raw, error)) (result codec.Raw, failure *codec.Error) {
	defer func() {
		if v := recover(); v != nil {
			result, failure = nil, panicked(v)
		}
	}()
	result, err := f()
	if err != nil {
		return nil, answerOf(err)
	}
	return result, nil
}

// control is a handler of the protocol's own: no limit of handlers keeps it waiting.
type control struct{ *handler }

// Urgent implements [link.Urgent].
func (control) Urgent() {}
