package link

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// Bounds of what a peer asks for. What is over them is answered with an error of
// name [NameOverloaded].
const (
	// maxServing is how many requests of a peer may be open at once: those that are
	// worked on, and those whose answers wait for the peer to read.
	maxServing = 256
	// maxServingBytes is how many bytes the parameters of those that are worked on
	// may take, together with the answers that wait. One alone may have more.
	maxServingBytes = 256 << 20
)

// Names of errors that a peer is answered with, besides those of package codec.
const (
	NameOverloaded = "Overloaded" // too many requests are open
	NameError      = "Error"      // anything else, such as an answer that cannot be sent
)

// Handler answers a request of the peer, with a result or a failure. ctx ends when
// the peer takes the request back or the connection ends; a handler must return then.
type Handler func(ctx context.Context) (result codec.Raw, failure *codec.Error)

// requests are those of the peer that are open. The connection's lock is theirs.
type requests struct {
	count  *sync.WaitGroup                    // of the handlers; may be nil
	open   map[uint32]context.CancelCauseFunc // that handlers work on
	bytes  int                                // of the parameters of those, and of answers that wait
	unread int                                // answers that wait for the peer to read
}

// full says why one more request must not be worked on; "" when it may.
func (r *requests) full(size int) string {
	switch open := len(r.open) + r.unread; {
	case open >= maxServing:
		return fmt.Sprintf("%d requests are open", open)
	case r.bytes > 0 && r.bytes+size > maxServingBytes:
		return fmt.Sprintf("the open requests have %d bytes of parameters, and this one %d, limit %d together", r.bytes, size, maxServingBytes)
	}
	return ""
}

// serve answers a request that the peer makes. Called by the read loop, which it
// does not hold up: handlers run on goroutines of their own, which end with the
// request, the connection at the latest.
func (c *Conn) serve(m *codec.Message) error {
	inTurn := c.turns.enter(c.session, m)
	later, err := c.begin(m, inTurn)
	if inTurn && !later {
		c.passOnBeside(m.ID)
	}
	return err
}

// begin answers a request, or has a handler do that later.
func (c *Conn) begin(m *codec.Message, inTurn bool) (later bool, err error) {
	reply, handle := c.owner.Asked(m)
	if handle == nil {
		if reply != nil {
			reply.Kind, reply.ID = codec.Response, m.ID
			c.post(reply, held)
		}
		return false, nil
	}
	id, size := m.ID, len(m.Params)
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	r := &c.requests
	_, twice := r.open[id]
	full := r.full(size)
	closed := c.table.IsClosed()
	if !twice && full == "" && !closed {
		if r.open == nil {
			r.open = make(map[uint32]context.CancelCauseFunc)
		}
		r.open[id] = cancel
		r.bytes += size
		c.begun()
	}
	c.mu.Unlock()
	switch {
	case twice:
		cancel(nil)
		return false, &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("request %d of the peer, which is open already", id)}
	case full != "":
		cancel(nil)
		c.refuse(held, id, NameOverloaded, full)
		return false, nil
	case closed:
		cancel(nil)
		return false, nil
	}
	c.env.Go(func() {
		defer c.ended()
		out := &codec.Message{Kind: codec.Response, ID: id}
		out.Result, out.Err = handle(ctx)
		if inTurn {
			defer c.passOn(id)
			c.turns.await(ctx, id)
		}
		c.mu.Lock()
		delete(r.open, id)
		r.bytes -= size
		c.mu.Unlock()
		c.respond(ctx, out)
		cancel(nil)
	})
	return true, nil
}

// begun and ended count what goes on for a request of the peer.
func (c *Conn) begun() {
	if c.requests.count != nil {
		c.requests.count.Add(1)
	}
}

func (c *Conn) ended() {
	if c.requests.count != nil {
		c.requests.count.Done()
	}
}

// refuse answers a request of the peer with an error.
func (c *Conn) refuse(w when, id uint32, name, message string) {
	c.post(&codec.Message{Kind: codec.Response, ID: id, Err: &codec.Error{Name: name, Message: message}}, w)
}

// respond sends an answer, waiting for a peer that does not read. One that the
// wire cannot carry becomes an error.
func (c *Conn) respond(ctx context.Context, out *codec.Message) {
	for {
		if context.Cause(ctx) == errTakenBack && c.out.forget(out.ID) { //nolint:errorlint // it is never wrapped
			return
		}
		space, err := c.out.put(out, byLoop, Limit)
		switch {
		case err == nil:
			return
		case errors.Is(err, ErrFull):
			size := len(out.Result)
			if !c.hold(size) {
				c.refuse(byLoop, out.ID, NameOverloaded, fmt.Sprintf("an answer of %d bytes does not fit to those that are not read, limit %d together", size, maxServingBytes))
				return
			}
			select {
			case <-space:
				c.unhold(size) // before the peer can have read of it
			case <-ctx.Done():
				c.unhold(size)
				if !c.out.forget(out.ID) {
					c.refuse(byLoop, out.ID, codec.NameCancelled, "the request was taken back")
				}
				return // else the peer is no more
			}
		case errors.Is(err, codec.ErrTooLarge), errors.Is(err, codec.ErrShape):
			c.refuse(byLoop, out.ID, NameError, fmt.Sprintf("the answer cannot be sent: %v", err))
			return
		default:
			return // the stream is broken, of which the read loop tells
		}
	}
}

// hold counts an answer that waits for the peer to read; false: it must not wait.
func (c *Conn) hold(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests.bytes > 0 && c.requests.bytes+size > maxServingBytes {
		return false
	}
	c.requests.unread++
	c.requests.bytes += size
	return true
}

func (c *Conn) unhold(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests.unread--
	c.requests.bytes -= size
}

// errTakenBack is the cause of a handler's end when the peer no longer wants
// the answer.
var errTakenBack = errors.New("the peer took the request back")

// unserve ends a request that the peer takes back. It is still answered, unless
// the protocol has it otherwise.
func (c *Conn) unserve(id uint32) {
	c.mu.Lock()
	cancel := c.requests.open[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errTakenBack)
	}
}
