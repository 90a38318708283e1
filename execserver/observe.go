package execserver

import (
	"context"
	"errors"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Processes lists the processes of the session. It needs wire.ExtProcessList.
func (c *Client) Processes(ctx context.Context) ([]wire.ProcessInfo, error) {
	var r wire.ProcessListResult
	err := c.callExtension(ctx, wire.ExtProcessList, wire.MethodProcessList, nil, &r)
	return r.Processes, err
}

// Keep sets how long the session lives without a connection, which the server
// bounds, and returns that time; with 0 the session ends with its connection. Keep
// needs wire.ExtSessionKeep.
func (c *Client) Keep(ctx context.Context, d time.Duration) (time.Duration, error) {
	var r wire.SessionKeepResult
	params := wire.SessionKeepParams{KeepMs: uint64(max(0, d.Milliseconds()))}
	err := c.callExtension(ctx, wire.ExtSessionKeep, wire.MethodSessionKeep, params, &r)
	return time.Duration(r.KeepMs) * time.Millisecond, err
}

// Observe follows a process of any session of the server by its attach token
// (wire.ProcessStartResult.AttachToken), from what is retained after the event
// with the given number on. An observer never slows the process down: a
// *LaggedError takes the place of events that were missed. Observe needs
// wire.ExtProcessAttach. Unobserve ends the observation.
func (c *Client) Observe(ctx context.Context, token string, after uint64) (*Process, error) {
	l, err := c.need(ctx, wire.ExtProcessAttach)
	if err != nil {
		return nil, err
	}
	p := newProcess(c, newID(), after)
	p.token, p.started.ProcessID = token, p.id
	if err := c.register(p); err != nil {
		return nil, err
	}
	if err := p.attach(ctx, l, after); err != nil {
		c.forget(p)
		p.fail(err)
		return nil, err
	}
	return p, nil
}

// Observed returns what the server reported about an observed process when the
// observation began, or was last resumed.
func (p *Process) Observed() wire.ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed
}

// Unobserve ends an observation; the process goes on.
func (p *Process) Unobserve(ctx context.Context) error {
	if p.token == "" {
		return errors.New("the process is not observed but was started here")
	}
	l, err := p.c.need(ctx, wire.ExtProcessAttach)
	if err != nil {
		return err
	}
	err = l.call(ctx, wire.MethodProcessDetach, wire.ProcessDetachParams{AttachID: p.id}, nil, nil)
	p.fail(ErrClosed)
	return err
}

// attach asks for the events of an observed process after a number. An
// observation ends with its connection, so this is also how one is resumed.
func (p *Process) attach(ctx context.Context, l *link, after uint64) error {
	var r wire.ProcessAttachResult
	err := l.call(ctx, wire.MethodProcessAttach, wire.ProcessAttachParams{AttachID: p.id, Token: p.token, AfterSeq: &after}, &r, nil)
	if err == nil {
		p.mu.Lock()
		p.observed = r.Process
		p.mu.Unlock()
	}
	if refused := (*RequestError)(nil); errors.As(err, &refused) {
		p.fail(err)
	}
	return err
}
