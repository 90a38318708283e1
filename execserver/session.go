package execserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// together is how many processes are read at once when a session is resumed.
const together = 16

// ready returns the connection. Without one, ready makes one, or waits for the one
// that is being made.
func (c *Client) ready(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		switch {
		case c.state == Attached:
			l := c.link
			c.mu.Unlock()
			select {
			case <-l.done: // its goroutine is about to call linkEnded
				c.linkEnded(l)
				continue
			default:
				return l, nil
			}
		case c.state == Ended:
			c.mu.Unlock()
			return nil, ErrClosed
		case c.state == Lost && c.opt.Latched:
			defer c.mu.Unlock()
			return nil, c.lost
		}
		a := c.attempt
		if a != nil {
			a.waiters++
			c.mu.Unlock()
		} else {
			a = c.begin() // unlocks
		}

		select {
		case <-a.done:
			if a.err != nil {
				return nil, a.err
			}
		case <-ctx.Done():
			c.mu.Lock()
			a.waiters--
			if a.waiters == 0 && a.cancel != nil {
				a.cancel(context.Canceled)
			}
			c.mu.Unlock()
			return nil, context.Cause(ctx)
		}
	}
}

// begin starts to connect for one caller. The caller must hold mu, which is unlocked afterwards.
func (c *Client) begin() *attempt {
	ctx, cancel := context.WithCancelCause(c.ctx)
	a := &attempt{done: make(chan struct{}), cancel: cancel, waiters: 1}
	r, resume := c.opt.Retry, c.begun
	if c.state == Lost || !c.endpoint.lasting() {
		r.For = -1
	}
	c.attempt = a
	c.wg.Go(func() {
		defer cancel(nil)
		l, hello, err := c.first(ctx, resume, r)
		c.settle(a, l, hello, err)
	})
	c.to(Connecting, nil)
	return a
}

// first makes the first connection of a session.
func (c *Client) first(ctx context.Context, resume string, r Retry) (*link, wire.InitializeResult, error) {
	begun, wait := time.Now(), r.First
	for n := 1; ; n++ {
		l, hello, err := c.open(ctx, resume)
		if err == nil {
			return l, hello, nil
		}
		if r.For < 0 || final(err) || time.Since(begun)+wait > r.For || !pause(ctx, wait) {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, hello, &ConnectError{Endpoint: c.endpoint.String(), Err: err, Attempts: n}
		}
		wait = min(2*wait, r.Max)
	}
}

// final reports whether another attempt would be useless.
func final(err error) bool {
	var refused *RequestError
	if errors.As(err, &refused) {
		return !errors.Is(err, ErrAttached)
	}
	return errors.Is(err, ErrUnauthorized)
}

// pause waits; false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// open makes one connection and shakes hands over it.
func (c *Client) open(ctx context.Context, resume string) (*link, wire.InitializeResult, error) {
	var hello wire.InitializeResult
	dialing, cancel := context.WithTimeoutCause(ctx, c.opt.ConnectTimeout, &TimeoutError{Step: "connect", After: c.opt.ConnectTimeout})
	defer cancel()
	t, err := c.endpoint.dial(dialing)
	if err != nil {
		if dialing.Err() != nil {
			err = context.Cause(dialing)
		}
		return nil, hello, err
	}
	l := newLink(t, c)
	if !c.work(l.run) {
		t.hangUp()
		t.close()
		return nil, hello, ErrClosed
	}

	shaking, cancel := context.WithTimeoutCause(ctx, c.opt.InitializeTimeout, &TimeoutError{Step: "initialize", After: c.opt.InitializeTimeout})
	defer cancel()
	params := wire.InitializeParams{ClientName: c.opt.Name, Extensions: []string{wire.ExtAll}}
	if resume != "" {
		params.ResumeSessionID = &resume
	}
	if err = l.call(shaking, wire.MethodInitialize, params, &hello, nil); err == nil {
		err = l.notify(shaking, wire.NotifyInitialized)
	}
	if err == nil && resume != "" && hello.SessionID != "" && hello.SessionID != resume {
		err = &ProtocolError{Err: fmt.Errorf("asked for session %s, given %s", resume, hello.SessionID)}
	}
	if err != nil {
		l.fail(err)
		<-l.done
		return nil, hello, err
	}
	return l, hello, nil
}

// settle ends an attempt.
func (c *Client) settle(a *attempt, l *link, hello wire.InitializeResult, err error) {
	c.mu.Lock()
	if c.state == Ended {
		c.mu.Unlock()
		if l != nil {
			l.fail(ErrClosed)
		}
		a.err = ErrClosed
		close(a.done)
		return
	}
	c.attempt = nil
	a.err = err
	if err != nil {
		s := Idle
		if c.lost != nil {
			s = Lost
		}
		c.to(s, err)
		close(a.done)
		return
	}
	doubtful := c.session.doubtful
	c.session.doubtful = nil
	if c.session.id != hello.SessionID {
		doubtful = nil // those of another session ended with it
	}
	c.link, c.hello, c.session.id = l, hello, hello.SessionID
	c.lost, c.begun = nil, ""
	c.to(Attached, nil)
	close(a.done)
	for _, id := range doubtful {
		c.terminate(l, id)
	}
	select {
	case <-l.done: // it has ended before anybody knew it
		c.linkEnded(l)
	default:
	}
}

// linkEnded resumes the session or gives it up. It is called when a connection has
// ended, by its own goroutine last.
func (c *Client) linkEnded(l *link) {
	c.mu.Lock()
	if c.link != l || c.state != Attached {
		c.mu.Unlock()
		return
	}
	c.link = nil
	gone := l.end
	if c.session.id == "" || !c.endpoint.lasting() || c.opt.Recover.For < 0 {
		_ = c.lose(gone, nil) // unlocks, and reports the error to all that wait
		return
	}
	a := &attempt{done: make(chan struct{})}
	c.attempt = a
	c.wg.Go(func() { c.resume(a, gone) })
	c.to(Recovering, gone)
}

// lose gives the session up. The caller must hold mu, which is unlocked afterwards.
func (c *Client) lose(gone error, why error) error {
	e := &DisconnectedError{Resume: why, lost: true}
	var d *DisconnectedError
	if errors.As(gone, &d) {
		e.Reason, e.Err = d.Reason, d.Err
	}
	c.lost, c.session = e, session{}
	all := c.takeAll()
	c.to(Lost, e)
	for _, p := range all {
		p.fail(e)
	}
	return e
}

// resume is the goroutine that gets a session back: a connection first, then
// what happened to each process in the meantime.
func (c *Client) resume(a *attempt, gone error) {
	limit := &TimeoutError{Step: "recovery", After: c.opt.Recover.For}
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.opt.Recover.For, func() { cancel(limit) })
	defer timer.Stop()
	id := c.SessionID()
	var last error
	for {
		l, hello, err := c.open(ctx, id)
		if err == nil {
			if hello.SessionID == "" {
				hello.SessionID = id
			}
			before := c.heard()
			ok := c.catchUp(ctx, l)
			for ok && c.doubts() {
				ok = c.catchUp(ctx, l) // a caller that waited for a start has just found out
			}
			if ok {
				c.settle(a, l, hello, nil)
				return
			}
			err = l.end
			if c.heard() != before {
				// Connections that end again and again, but get on.
				timer.Reset(c.opt.Recover.For)
			}
		}
		if ctx.Err() == nil {
			last = err
		}
		if final(err) || !pause(ctx, c.opt.Recover.Every) {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
				if err == error(limit) { //nolint:errorlint // this very one
					err = &TimeoutError{Step: limit.Step, After: limit.After, Err: last}
				}
			}
			c.mu.Lock()
			if c.state == Ended {
				c.mu.Unlock()
				a.err = ErrClosed
			} else {
				c.attempt = nil
				a.err = c.lose(gone, err)
			}
			close(a.done)
			return
		}
	}
}

// catchUp reads what every process has written while there was no connection. It
// returns false when this connection has ended too.
func (c *Client) catchUp(ctx context.Context, l *link) bool {
	c.mu.Lock()
	doubtful := c.session.doubtful
	c.session.doubtful = nil
	c.mu.Unlock()
	var wg sync.WaitGroup
	turn := make(chan struct{}, together)
	for _, id := range doubtful {
		// Before a caller can start another process by that name.
		_ = l.call(ctx, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: id}, nil, nil)
	}
	for _, p := range c.all() {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			_ = p.refill(ctx, l) // an end of the connection is looked for below
		})
	}
	wg.Wait()
	select {
	case <-l.closing:
		<-l.done
		return false
	default:
	}
	if ctx.Err() != nil {
		l.fail(context.Cause(ctx))
		<-l.done
		return false
	}
	return true
}

// heard returns a number that changes when an event is published, or a process ends.
func (c *Client) heard() (sum uint64) {
	for _, p := range c.all() {
		p.mu.Lock()
		sum += p.seq.last + 1
		p.mu.Unlock()
	}
	return sum
}

// terminate kills a process and does not wait for the answer: if it fails, the end
// of the session kills the process. It never blocks.
func (c *Client) terminate(l *link, id string) {
	c.request(l, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: id})
}

// doubt records a process that may have been started: the connection ended before
// the answer.
func (c *Client) doubt(asked *link, id string) {
	c.mu.Lock()
	l := c.link
	if l == nil || l == asked { // the next connection tells, whoever notices first that this one is over
		c.session.doubtful = append(c.session.doubtful, id)
		l = nil
	}
	c.mu.Unlock()
	if l != nil {
		c.terminate(l, id)
	}
}

// doubts reports whether there are such processes.
func (c *Client) doubts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.session.doubtful) > 0
}

// publish gives an event to its process. It may wait for a subscriber.
func (c *Client) publish(l *link, o output) {
	if p := c.route(o.process); p != nil {
		p.receive(l, o.event)
	}
}

// processBeside reports whether there is a process that s is not a reader of.
func (c *Client) processBeside(s stalling) bool {
	var own *Process
	if sub, ok := s.(*Subscription); ok {
		own = sub.p
	}
	c.routes.RLock()
	defer c.routes.RUnlock()
	for _, p := range c.procs {
		if p != own {
			return true
		}
	}
	return false
}

// withParams decodes the params of a notification and calls do with them.
func withParams[P any](m *wire.Message, do func(*P)) error {
	p := new(P)
	if err := json.Unmarshal(m.Params, p); err != nil {
		return malformed(m.Params, "%s: %w", m.Method, err)
	}
	do(p)
	return nil
}

// notification takes a notification, whose memory it must not keep. An error ends
// the connection.
func (c *Client) notification(l *link, m *wire.Message) error {
	switch m.Method {
	case wire.NotifyProcessOutput:
		return withParams(m, func(n *wire.ProcessOutput) {
			c.publish(l, output{[]byte(n.ProcessID), Event{Kind: Output, Seq: n.Seq, Stream: n.Stream, Data: n.Chunk}})
		})
	case wire.NotifyProcessExited:
		return withParams(m, func(n *wire.ProcessExited) {
			denied := n.SandboxDenied != nil && *n.SandboxDenied
			c.publish(l, output{[]byte(n.ProcessID), Event{Kind: Exited, Seq: n.Seq, ExitCode: int(n.ExitCode), SandboxDenied: denied}})
		})
	case wire.NotifyProcessClosed:
		return withParams(m, func(n *wire.ProcessClosed) {
			c.publish(l, output{[]byte(n.ProcessID), Event{Kind: Closed, Seq: n.Seq}})
		})
	case wire.NotifyProcessOutLost:
		return withParams(m, func(n *wire.OutputLost) {
			if p := c.route([]byte(n.ProcessID)); p != nil {
				p.skip(n.NextSeq)
			}
		})
	case wire.NotifyHTTPBodyDelta:
		return withParams(m, func(n *wire.HTTPBodyDelta) { l.bodyDelta(*n) })
	case wire.NotifyFSAppeared:
		return withParams(m, func(n *wire.FSMissingChanged) { l.takeWatch(n.WatchID).end(nil) })
	}
	return nil // a newer server's
}

// asked answers a request of the server. This client does not review network
// traffic: it denies what it is asked about.
func (c *Client) asked(method string) (any, *wire.Error) {
	if method == "network/policyRequest" {
		return json.RawMessage(`{"decision":{"type":"deny","reason":"not reviewed"}}`), nil
	}
	return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "no method " + method}
}
