package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// controls are the handlers of what a supervisor asks of extensions. They are
// for the protocol: nothing that is registered takes their place, and no limit of
// handlers keeps them waiting.
func (s *Server) controls() map[string]*handler {
	find := func(id string) (*Extension, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x := s.extension(id); x != nil {
			return x, nil
		}
		return nil, notActive(id, "there is no such extension in this host")
	}
	return map[string]*handler{
		native.MethodActivate: controlled(s, func(ctx context.Context, in native.Activate) (any, error) {
			x, err := find(in.ID)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			if err := x.activate(ctx, in.Event, in.Startup); err != nil {
				return nil, err
			}
			return native.Activated{TookMS: float64(time.Since(began)) / float64(time.Millisecond)}, nil
		}),
		native.MethodDeactivate: controlled(s, func(ctx context.Context, in native.Deactivate) (any, error) {
			x, err := find(in.ID)
			if err != nil {
				return nil, err
			}
			ctx, stop := context.WithTimeout(ctx, time.Duration(min(max(in.TimeoutMS, 0), 1<<40))*time.Millisecond)
			defer stop()
			return nil, x.deactivate(ctx)
		}),
	}
}

func controlled[In any](s *Server, fn func(ctx context.Context, in In) (any, error)) *handler {
	decode := decoder[In](s.enc)
	return &handler{s: s, control: true, call: func(ctx context.Context, params codec.Raw) (codec.Raw, error) {
		in, err := decode(params)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil || out == nil {
			return nil, err
		}
		return encode(s.enc, out)
	}}
}

// to changes the state, with the lock held.
func (x *Extension) to(next unitState) {
	x.state = next
	x.on.Store(next == unitOn)
	close(x.change)
	x.change = make(chan struct{})
}

// settled waits until the state is on or off and returns with the lock held, or
// with ctx's error and without.
func (x *Extension) settled(ctx context.Context) error {
	for {
		x.mu.Lock()
		if x.state == unitOff || x.state == unitOn {
			return nil
		}
		change := x.change
		x.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// activate switches the extension on. What it depends on is.
func (x *Extension) activate(ctx context.Context, event string, startup bool) error {
	if err := x.settled(ctx); err != nil {
		return err
	}
	if x.state == unitOn {
		x.mu.Unlock()
		return nil
	}
	a := &Activation{Event: event, Startup: startup, x: x}
	a.ctx, a.end = context.WithCancelCause(context.Background())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	x.active, x.stop = a, stop
	x.to(unitStarting)
	x.mu.Unlock()

	err := errors.New("it has ended its goroutine")
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stop = nil
		if err != nil {
			a.end(ErrDeactivated)
			x.active = nil
			x.to(unitOff)
			return
		}
		x.rank = x.s.ranks.Add(1)
		x.to(unitOn)
	}()
	if err = x.run(ctx, a); err == nil {
		return nil
	}
	a.end(ErrDeactivated)
	a.work.Wait() // as long as it goes on, it is not off
	return err
}

// run calls Activate. One that succeeds when nobody waits for it any more is
// undone.
func (x *Extension) run(ctx context.Context, a *Activation) error {
	err := protected(func() error {
		if x.m.Activate == nil {
			return nil
		}
		return x.m.Activate(ctx, a)
	})
	if err != nil || ctx.Err() == nil {
		return err
	}
	err = context.Cause(ctx)
	a.end(ErrDeactivated)
	undo, stop := context.WithTimeout(context.Background(), x.s.opt.drain)
	defer stop()
	return errors.Join(err, x.undo(undo))
}

// undo calls Deactivate.
func (x *Extension) undo(ctx context.Context) error {
	if x.m.Deactivate == nil {
		return nil
	}
	return protected(func() error { return x.m.Deactivate(ctx) })
}

// protected turns a panic into an error.
func protected(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &codec.Error{Name: codec.NamePanic, Message: fmt.Sprint(v), Stack: string(debug.Stack())}
		}
	}()
	return fn()
}

// deactivate switches the extension off: handlers get half of the time, then
// their contexts end; after them Deactivate is called. It returns at ctx's
// deadline, whatever the extension does.
func (x *Extension) deactivate(ctx context.Context) error {
	x.mu.Lock()
	if x.stop != nil {
		x.stop() // nobody waits for it any more
	}
	x.mu.Unlock()
	if err := x.settled(ctx); err != nil {
		return fmt.Errorf("its Activate does not return: %w", err)
	}
	if x.state == unitOff {
		x.mu.Unlock()
		return nil
	}
	x.to(unitStopping)
	a := x.active
	quiet := make(chan struct{})
	if x.calls == 0 {
		close(quiet)
	} else {
		x.quiet = quiet
	}
	x.mu.Unlock()

	half := ctx
	if end, ok := ctx.Deadline(); ok {
		var stop context.CancelFunc
		half, stop = context.WithDeadline(ctx, end.Add(-time.Until(end)/2))
		defer stop()
	}
	select {
	case <-quiet:
	case <-half.Done():
	}
	a.end(ErrDeactivated)
	ended := make(chan error, 1)
	step := make(chan string, 3)
	go func() {
		err := errors.New("its Deactivate has ended its goroutine")
		defer func() {
			x.mu.Lock()
			x.active = nil
			x.to(unitOff)
			x.mu.Unlock()
			ended <- err
		}()
		step <- "its handlers do"
		<-quiet
		step <- "its Deactivate does"
		err = x.undo(ctx)
		step <- "what it runs with Go does"
		a.work.Wait()
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended: // at the last moment
		return err
	default:
	}
	at := ""
	for len(step) > 0 {
		at = <-step
	}
	return fmt.Errorf("%s not return: %w", at, context.Cause(ctx))
}

// byItself activates an extension of a host whose supervisor leaves that to it,
// and what it depends on before it. One that has failed is not tried again. chain
// is for whom it is needed.
func (x *Extension) byItself(ctx context.Context, event string, startup bool, chain []*Extension) error {
	if x.on.Load() {
		return nil
	}
	if slices.Contains(chain, x) {
		return notActive(x.m.ID, "it depends on itself")
	}
	x.mu.Lock()
	err := x.failed
	x.mu.Unlock()
	if err != nil {
		return err
	}
	for _, id := range x.m.DependsOn {
		x.s.mu.Lock()
		dep := x.s.extension(id)
		x.s.mu.Unlock()
		if dep == nil {
			return notActive(x.m.ID, "it depends on "+id+", and there is no such extension")
		}
		if err := dep.byItself(ctx, event, startup, append(chain, x)); err != nil {
			return &codec.Error{Name: codec.NameNotActive, Message: x.m.ID + ": it depends on " + id, Cause: answerOf(err)}
		}
	}
	if err = x.activate(ctx, event, startup); err == nil || ctx.Err() != nil {
		return err
	}
	err = &codec.Error{Name: codec.NameNotActive, Message: x.m.ID + ": its activation has failed", Cause: answerOf(err)}
	x.mu.Lock()
	x.failed = err
	x.mu.Unlock()
	return err
}

// startup activates what belongs to the start of a host that does so by itself.
func (c *conn) startup() {
	c.srv.mu.Lock()
	list := slices.Clone(c.srv.extensions)
	c.srv.mu.Unlock()
	for _, event := range []string{"*", "onStartupFinished"} {
		for _, x := range list {
			if c.ctx.Err() == nil && slices.Contains(x.m.Events, event) {
				if err := x.byItself(c.ctx, event, true, nil); err != nil {
					c.opt.log.Error("activation failed", "extension", x.m.ID, "error", strings.TrimSpace(err.Error()))
				}
			}
		}
	}
}

// deactivateAll switches all extensions off, the last activated first.
func (s *Server) deactivateAll(ctx context.Context) error {
	s.mu.Lock()
	list := slices.Clone(s.extensions)
	s.mu.Unlock()
	rank := func(x *Extension) uint64 {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.rank
	}
	slices.SortStableFunc(list, func(a, b *Extension) int {
		switch ra, rb := rank(a), rank(b); {
		case ra > rb:
			return -1
		case ra < rb:
			return 1
		}
		return 0
	})
	var errs []error
	for _, x := range list {
		if err := x.deactivate(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", x.m.ID, err))
		}
	}
	return errors.Join(errs...)
}
