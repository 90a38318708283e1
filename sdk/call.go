package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// Call sends a request to the supervisor, waits for the answer and decodes it
// into out, a pointer; a nil out drops the result, a *[codec.Raw] takes it as
// it came. Before the handshake is done it waits for that.
//
// An error of the supervisor is a *[codec.Error]. When ctx ends first, the
// supervisor is told, and the error is the context's cause. When the
// connection ends it is [ErrPeerGone], [ErrShuttingDown] or [ErrClosed].
func (s *Server) Call(ctx context.Context, method string, in, out any) error {
	p, err := s.ask(ctx, method, in, false)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Cancel(context.Cause(ctx))
		<-p.Done()
	}
	raw, err := p.Outcome()
	switch {
	case err != nil:
		return causeOf(ctx, err)
	case out == nil:
		return nil
	}
	return s.decode(method, raw, out)
}

// Items sends a request to the supervisor and yields the items of its result as they
// come, each decoded into an Out. A result that comes as one value is yielded as the only
// item, unless it is nil. An error, which is as that of [Server.Call], ends the sequence.
// When the loop is left early or ctx ends, the supervisor is told. It sends a bounded
// number of items ahead of the loop's body.
func Items[Out any](ctx context.Context, s *Server, method string, in any) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		var none Out
		p, err := s.ask(ctx, method, in, true)
		if err != nil {
			yield(none, err)
			return
		}
		defer p.Cancel(ErrCancelled)
		for raw, err := range p.Items(ctx) {
			var out Out
			if err == nil {
				err = s.decode(method, raw, &out)
			} else {
				err = causeOf(ctx, err)
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

func (s *Server) decode(method string, raw codec.Raw, out any) error {
	if to, ok := out.(*codec.Raw); ok {
		*to = raw
		return nil
	}
	if err := s.enc.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("result of %s: %w", method, err)
	}
	return nil
}

// ask sends a request.
func (s *Server) ask(ctx context.Context, method string, in any, items bool) (*link.Pending, error) {
	if h := handlingOf(ctx); h != nil && h.inline {
		return nil, ErrInline
	}
	params, err := s.enc.Marshal(in)
	if err != nil {
		return nil, err
	}
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	p := new(link.Pending)
	p.Init(nil, c.list, method, params)
	p.Trace = TraceFrom(ctx)
	if items {
		p.AllowItems()
	}
	if err := c.Send(ctx, p, c.opt.outgoing); errors.Is(err, link.ErrClosed) {
		return nil, c.lost()
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// causeOf replaces the error of a context by its cause.
func causeOf(ctx context.Context, err error) error {
	if err == ctx.Err() { //nolint:errorlint // it is never wrapped
		return context.Cause(ctx)
	}
	return err
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

// lose ends everything that depends on the connection.
func (c *conn) lose(err error) {
	c.mu.Lock()
	if c.gone == nil {
		c.gone = err
	}
	gone := c.gone
	c.mu.Unlock()
	c.cancel(err)
	for _, p := range c.CloseRequests(gone) {
		p.Settle(nil, gone)
	}
}

// lost returns why calls cannot be made any more.
func (c *conn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Notify sends a notification to the supervisor. It waits for the handshake
// and for room to send, as long as ctx allows, and returns when the message is
// on its way, not when it has arrived.
func (s *Server) Notify(ctx context.Context, method string, in any) error {
	params, err := s.enc.Marshal(in)
	if err != nil {
		return err
	}
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	h := handlingOf(ctx)
	m := &codec.Message{Kind: codec.Notification, Method: method, Params: params, Trace: TraceFrom(ctx)}
	err = c.Tell(ctx, m, h != nil && h.inline) // what an inline handler sends leaves with its turn's answers
	if errors.Is(err, io.ErrClosedPipe) {
		return ErrClosed
	}
	return err
}
