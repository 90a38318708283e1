package sdk

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// call is one request of ours. It stays in the table until it is answered,
// also when nobody waits for it any more.
type call struct {
	done   chan struct{} // closed with the fields below set
	result codec.Raw
	err    error
}

// Call sends a request to the supervisor, waits for the answer and decodes it
// into out, a pointer; a nil out drops the result, a *[codec.Raw] takes it as
// it came. Before the handshake is done it waits for that.
//
// An error of the supervisor is a *[codec.Error]. When ctx ends first, the
// supervisor is told, and the error is the context's cause. When the
// connection ends it is [ErrPeerGone], [ErrShuttingDown] or [ErrClosed].
func (s *Server) Call(ctx context.Context, method string, in, out any) error {
	if h := handlingOf(ctx); h != nil && h.inline {
		return ErrInline
	}
	params, err := s.enc.Marshal(in)
	if err != nil {
		return err
	}
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	id, cl, err := c.openCall()
	if err != nil {
		return err
	}
	m := &codec.Message{Kind: codec.Request, ID: id, Method: method, Params: params, Trace: TraceFrom(ctx)}
	if err := c.w.send(ctx, m); err != nil {
		c.forget(id)
		return err
	}
	select {
	case <-cl.done:
	case <-ctx.Done():
		if c.abandon(id) {
			return context.Cause(ctx)
		}
		<-cl.done // answered at the last moment
	}
	switch {
	case cl.err != nil:
		return cl.err
	case out == nil:
		return nil
	}
	if raw, ok := out.(*codec.Raw); ok {
		*raw = cl.result
		return nil
	}
	if err := s.enc.Unmarshal(cl.result, out); err != nil {
		return fmt.Errorf("result of %s: %w", method, err)
	}
	return nil
}

// connected waits for the handshake.
func (s *Server) connected(ctx context.Context) (*conn, error) {
	select {
	case <-s.ready:
		return s.conn, nil
	default:
	}
	select {
	case <-s.ready:
		return s.conn, nil
	case <-s.ended:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openCall takes a free id.
func (c *conn) openCall() (uint32, *call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return 0, nil, c.gone
	}
	for {
		c.lastCall++
		if c.lastCall == 0 {
			c.wrapped = true
			continue
		}
		if _, open := c.calls[c.lastCall]; !open {
			cl := &call{done: make(chan struct{})}
			c.calls[c.lastCall] = cl
			return c.lastCall, cl, nil
		}
	}
}

// forget drops a call that was never sent.
func (c *conn) forget(id uint32) {
	c.mu.Lock()
	delete(c.calls, id)
	c.mu.Unlock()
}

// abandon tells the peer that nobody waits for id any more, unless it is
// answered already. It does not wait for room: a cancellation is small, and
// there is at most one for every call.
func (c *conn) abandon(id uint32) bool {
	c.mu.Lock()
	_, open := c.calls[id]
	c.mu.Unlock()
	if !open {
		return false
	}
	if c.caps.Has(codec.CapCancel) {
		c.w.mu.Lock()
		if c.w.err == nil {
			_ = c.w.addLocked(&codec.Message{Kind: codec.Cancel, ID: id})
		}
		c.w.mu.Unlock()
		c.w.poke()
	}
	return true
}

// response takes the answer to a call of ours.
func (c *conn) response(m *codec.Message) error {
	c.mu.Lock()
	cl := c.calls[m.ID]
	delete(c.calls, m.ID)
	given := c.gaveLocked(m.ID)
	c.mu.Unlock()
	switch {
	case cl != nil:
		cl.result = m.Result
		if m.Err != nil {
			cl.err = m.Err
		}
		close(cl.done)
		return nil
	case given:
		return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("request %d was answered before", m.ID)}
	}
	return neverGiven(m)
}

func (c *conn) gaveID(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gaveLocked(id)
}

func (c *conn) gaveLocked(id uint32) bool {
	return id != 0 && (c.wrapped || id <= c.lastCall)
}

// failCalls answers every open and every later call of ours with err.
func (c *conn) failCalls(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = err
	}
	for id, cl := range c.calls {
		delete(c.calls, id)
		cl.err = c.gone
		close(cl.done)
	}
}
