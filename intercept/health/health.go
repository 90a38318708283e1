// Package health asks a function of the program whether a host is healthy, and tells the
// host's rules what it says.
package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// Check returns why a host is not healthy, or nil if it is. It must return soon after ctx
// has ended.
type Check func(ctx context.Context) error

// checks are those of one host.
type checks struct {
	host  *actors.Ref
	check Check

	mu   sync.Mutex
	stop context.CancelFunc // of the checks of the present life; nil: there are none
}

// Interceptor returns what has a host checked while it runs: each Liveness.Ping of its
// spec. When no check has succeeded for Liveness.After, one that goes on included, the
// host is unresponsive until one does.
func Interceptor(host *actors.Ref, check Check) *actors.Interceptor {
	c := &checks{host: host, check: check}
	return &actors.Interceptor{Name: "health", Stage: actors.StageWatch, Changed: c.changed, Closed: c.end, Status: status}
}

// status says what tells of the host's health, if nothing else does.
func status(s *record.HostStatus) {
	if s.Liveness == "none" && s.State.Up() {
		s.Liveness = "check"
	}
}

func (c *checks) changed(t lifecycle.Transition) {
	switch {
	case t.To == lifecycle.Running && t.From == lifecycle.Starting:
		ctx, cancel := context.WithCancel(context.Background())
		c.mu.Lock()
		c.stop = cancel
		c.mu.Unlock()
		c.host.Background(func() { c.run(ctx, t.Life) })
	case !t.To.Up():
		c.end()
	}
}

// end ends the checks of the present life.
func (c *checks) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// run checks a life until ctx ends.
func (c *checks) run(ctx context.Context, life uint64) {
	env, rule := c.host.Env(), c.host.Spec().Liveness
	well, told := env.Now(), false // when it was healthy last; whether it was told that it is not
	var asked *question
	for {
		began := env.Now()
		if !pause(ctx, env, rule.Ping) {
			return
		}
		if late := time.Duration(env.Now()-began) - rule.Ping; late > rule.Ping+time.Second {
			well = env.Now() // this program was stopped, or the machine was
		}
		if asked == nil {
			asked = c.ask(ctx, rule.After)
		}
		var err error
		select {
		case err = <-asked.answer:
			asked.cancel()
			asked = nil
		case <-asked.ctx.Done(): // it is not asked again before it has answered
			err = fmt.Errorf("no answer within %s", rule.After)
		}
		if ctx.Err() != nil {
			return
		}
		switch since := time.Duration(env.Now() - well); {
		case err == nil:
			well = env.Now()
			if told {
				told = false
				c.host.Healthy(life)
			}
		case since >= rule.After:
			told = true
			c.host.Unhealthy(life, since, err)
		}
	}
}

// question is one call of a check.
type question struct {
	ctx    context.Context
	cancel context.CancelFunc
	answer chan error
}

func (c *checks) ask(ctx context.Context, d time.Duration) *question {
	q := &question{answer: make(chan error, 1)}
	q.ctx, q.cancel = context.WithTimeout(ctx, d)
	c.host.Background(func() {
		q.answer <- link.Contain(func() error { return c.check(q.ctx) })
	})
	return q
}

// pause waits, and reports whether ctx still goes on.
func pause(ctx context.Context, env link.Env, d time.Duration) bool {
	over := make(chan struct{})
	timer := env.AfterFunc(d, func() { close(over) })
	select {
	case <-over:
		return true
	case <-ctx.Done():
		timer.Stop()
		return false
	}
}
