// Package health checks whether a host is healthy, by a function of the program or from
// outside by a [Rule], and tells the host's rules.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/hostcommand"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// Check returns why a host is not healthy, or nil if it is. It must return soon after ctx
// has ended.
type Check func(ctx context.Context) error

// checks are those of one host.
type checks struct {
	host *actors.Ref
	rule *Rule
	once func(context.Context) error // makes one check, or goes on with the last one

	mu    sync.Mutex
	stop  context.CancelFunc // ends the checks of the present life; nil: no checks run
	up    bool               // the present life is running
	given *actors.Start      // what it was given
	line  *actors.Line       // its connection; nil while it has no connection
	last  record.HealthStatus
}

// Interceptor returns what has a host checked while it runs: each Liveness.Ping of its
// spec. When no check has succeeded for Liveness.After, one that goes on included, the
// host is unresponsive until one does.
func Interceptor(host *actors.Ref, check Check) *actors.Interceptor {
	c := &checks{host: host}
	var turn sync.Mutex // a life begins while the last check of the one before it still ends
	var asked *question
	c.once = func(ctx context.Context) error {
		turn.Lock()
		defer turn.Unlock()
		for {
			if asked == nil {
				asked = c.ask(ctx, check)
			}
			err, answered := asked.wait()
			if !answered { // it is not asked again before it has answered
				return fmt.Errorf("no answer within %s", host.Spec().Liveness.After)
			}
			asked.cancel()
			of := asked.life
			asked = nil
			if of == ctx { // else it was about a life that has ended
				return err
			}
		}
	}
	return &actors.Interceptor{Name: "health", Stage: actors.StageWatch, Changed: c.changed, Closed: c.end, Status: c.status}
}

// New returns what has a host checked by a rule that has its defaults: while it runs, and
// while it starts if its spec says Start.WhenHealthy.
func New(host *actors.Ref, rule Rule) *actors.Interceptor {
	c := &checks{host: host, rule: &rule, last: record.HealthStatus{Check: rule.String()}}
	c.once = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, rule.Timeout)
		defer cancel()
		err := link.Contain(func() error { return c.check(ctx, &rule) })
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, hostcommand.ErrTimeout) {
			err = fmt.Errorf("no answer within %s", rule.Timeout)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", rule.String(), err)
		}
		return err
	}
	return &actors.Interceptor{
		// Last: what a life is given is complete, and not changed any more.
		Name: "health", Stage: actors.StageLast, Changed: c.changed, Closed: c.end, Status: c.status,
		Starting: c.starting, Up: c.connected, Down: c.disconnected,
	}
}

// terms returns those of the host's present configuration.
func (c *checks) terms() terms {
	if r := c.rule; r != nil {
		return terms{interval: r.Interval, timeout: r.Timeout, threshold: r.Threshold, period: r.StartPeriod}
	}
	l := c.host.Spec().Liveness
	return terms{interval: l.Ping, timeout: l.After, threshold: 1, after: l.After}
}

// gates reports whether the host is running only once a check has succeeded.
func (c *checks) gates() bool {
	s := c.host.Spec()
	return s.Start.WhenHealthy && s.Protocol == nil
}

// status says what tells of the host's health, if nothing else does.
func (c *checks) status(s *record.HostStatus) {
	if s.Liveness == "none" && s.State.Up() {
		s.Liveness = "check"
	}
	if c.rule != nil {
		c.mu.Lock()
		last := c.last
		c.mu.Unlock()
		s.Health = &last
	}
}

// starting keeps what a life is given: the commands that check it are given the same.
func (c *checks) starting(_ context.Context, s *actors.Start) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = s
	return nil
}

func (c *checks) connected(line *actors.Line, publish func()) {
	c.mu.Lock()
	c.line = line
	c.mu.Unlock()
	publish()
}

func (c *checks) disconnected(uint64) {
	c.mu.Lock()
	c.line = nil
	c.mu.Unlock()
}

func (c *checks) changed(t lifecycle.Transition) {
	switch {
	case t.To == lifecycle.Starting && c.gates():
		c.begin(t.Life, true)
	case t.To == lifecycle.Running && t.From == lifecycle.Starting:
		c.mu.Lock()
		c.up = true
		begun := c.stop != nil
		c.mu.Unlock()
		if !begun {
			c.begin(t.Life, false)
		}
	case !t.To.Up():
		c.end()
	}
}

// begin checks a life from now on.
func (c *checks) begin(life uint64, starting bool) {
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.stop, c.up = cancel, !starting
	c.last = record.HealthStatus{Check: c.last.Check}
	c.mu.Unlock()
	c.host.Background(func() { c.run(ctx, life) })
}

// end ends the checks of the present life.
func (c *checks) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	c.up = false
}

// isUp reports whether the life is running, or has been.
func (c *checks) isUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// run checks a life until ctx ends.
func (c *checks) run(ctx context.Context, life uint64) {
	env := c.host.Env()
	now := func() time.Duration { return time.Duration(env.Now()) }
	j := newJudge(c.terms(), now())
	for n := 0; ; n++ {
		if c.isUp() {
			n = -1
		}
		began, wait := now(), j.wait(n)
		if !pause(ctx, env, wait) {
			return
		}
		if now()-began-wait > wait+time.Second {
			j.late(now()) // this program was stopped, or the machine was
		}
		err := c.once(ctx)
		if ctx.Err() != nil {
			return
		}
		what, since := j.take(now(), err != nil), now()-j.well
		c.note(err, j.fails)
		switch {
		case err == nil && (what == isHealthy || !c.isUp()):
			c.host.Healthy(life)
		case err != nil && (what == isUnhealthy || !j.done && !c.isUp()):
			c.host.Unhealthy(life, since, err)
		}
	}
}

// note keeps the outcome of a check for the status.
func (c *checks) note(err error, fails int) {
	at, healthy := c.host.Now(), err == nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.At, c.last.Healthy, c.last.Failures, c.last.Reason = &at, &healthy, fails, nil
	if err != nil {
		reason := err.Error()
		c.last.Reason = &reason
	}
}

// question is one call of a check.
type question struct {
	life   context.Context // of the life that it is about
	ctx    context.Context // its own
	cancel context.CancelFunc
	answer chan error
}

func (c *checks) ask(ctx context.Context, check Check) *question {
	q := &question{life: ctx, answer: make(chan error, 1)}
	q.ctx, q.cancel = context.WithTimeout(ctx, c.terms().timeout)
	c.host.Background(func() {
		q.answer <- link.Contain(func() error { return check(q.ctx) })
	})
	return q
}

// wait returns the answer. It waits for it until the time for the check, or the life that
// it was about, has ended.
func (q *question) wait() (err error, answered bool) {
	select {
	case err = <-q.answer:
		return err, true
	default: // an answer that came in time counts, however late it is looked at
	}
	select {
	case err = <-q.answer:
		return err, true
	case <-q.ctx.Done():
		return nil, false
	}
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
