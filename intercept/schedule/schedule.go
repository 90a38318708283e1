// Package schedule starts a host at the times of a schedule, as cron does.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// name is that of the interceptor.
const name = "schedule"

const (
	// glance is the longest time between two looks at the clock, which may be set, or go
	// on while the machine sleeps.
	glance = time.Minute
	// late is how much later than its time a run may start.
	late = time.Minute
	// setBack is how far clocks must be set back for times that have been to come again.
	setBack = 3 * time.Hour
)

// clock is the schedule of one host over all its configurations.
type clock struct {
	host *actors.Ref
	ctx  context.Context // ends with the host
	end  context.CancelFunc

	mu      sync.Mutex
	rule    Rule
	times   times
	broken  error // why there are no times; nil: there are
	due     time.Time
	seen    time.Time // when the clock was looked at last
	timer   link.Timer
	made    time.Time
	entered bool      // it has been an interceptor of the host
	resting bool      // the last run has ended, or there was none
	asking  bool      // a start was asked for, and has not come about yet
	queued  time.Time // of the run that waits; zero: none does
}

// newClock returns the clock of a host of which nothing runs: it is being made, or what it was
// as another host has ended.
func newClock(host *actors.Ref) *clock {
	now := host.Now()
	c := &clock{host: host, made: now, seen: now, resting: true}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

func (c *clock) interceptor() *actors.Interceptor {
	return &actors.Interceptor{
		Name: name, Stage: actors.StageWatch, Value: c,
		Changed: c.changed, Closed: c.closed, Status: c.status,
	}
}

// set gives the clock a rule. Times count from now on.
func (c *clock) set(r Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == c.rule || c.ctx.Err() != nil {
		return
	}
	c.rule = r
	loc, err := location(r.Timezone)
	if err == nil {
		c.times, err = parse(r.Times, loc)
	}
	c.broken, c.due = err, time.Time{}
	if err != nil { // it was validated: a time zone has vanished
		c.host.Log().Error("the schedule is not followed", "error", err)
		return
	}
	c.due = c.times.next(c.host.Now())
	if c.rule.Overlap != Queue {
		c.queued = time.Time{}
	}
	c.arm()
}

// arm sets the timer. The caller must hold mu.
func (c *clock) arm() {
	if c.timer != nil {
		c.timer.Stop()
	}
	wait := glance
	switch {
	case !c.entered:
		wait = time.Millisecond
	case !c.due.IsZero():
		wait = min(wait, c.due.Sub(c.host.Now()))
	}
	// A timer may be early by the clock of the machine: no wait is shorter than this.
	c.timer = c.host.Env().AfterFunc(max(wait, time.Millisecond), c.look)
}

// look starts what is due.
func (c *clock) look() {
	mine := c.host.Interceptor(name) == any(c)
	now := c.host.Now()
	c.mu.Lock()
	if c.ctx.Err() != nil || c.broken != nil || !mine && (c.entered || now.Sub(c.made) > glance) { // the host has no schedule any more
		c.mu.Unlock()
		return
	}
	c.entered = c.entered || mine
	due, missed := c.pass(now)
	c.arm()
	c.mu.Unlock()
	if missed {
		c.note(fmt.Sprintf("%s: missed, the machine slept or its clock was set", told(due)))
		return
	}
	if !due.IsZero() {
		c.run(due)
	}
}

// pass returns the time that has come, if one has, and whether that is too long ago. The
// caller must hold mu.
func (c *clock) pass(now time.Time) (due time.Time, missed bool) {
	back := now.Before(c.seen.Add(-setBack))
	c.seen = now
	switch {
	case back:
		c.due = c.times.next(now)
		return time.Time{}, false
	case c.due.IsZero() || now.Before(c.due):
		return time.Time{}, false
	}
	due = c.due
	if c.due = c.times.next(due); !c.due.After(now) {
		c.due = c.times.next(now)
	}
	return due, now.Sub(due) > late
}

// run follows a time that has come.
func (c *clock) run(due time.Time) {
	s := c.host.Peek()
	c.mu.Lock()
	do := decide(c.rule.Overlap, c.resting, s.StoppedByPerson, c.asking, !c.queued.IsZero())
	switch do {
	case enqueue:
		c.queued = due
	case start, replace:
		c.ask(due, do == replace)
	}
	c.mu.Unlock()
	switch do {
	case skip:
		c.note(fmt.Sprintf("%s: skipped, the last run goes on", told(due)))
	case full:
		c.note(fmt.Sprintf("%s: skipped, another run waits for the end of the last one", told(due)))
	}
}

// action is what becomes of a time that has come.
type action string

const (
	nothing action = "nothing"
	start   action = "start"
	replace action = "replace" // stop the run that goes on, and start
	enqueue action = "enqueue"
	skip    action = "skip"
	full    action = "full" // a run waits already
)

// decide returns what becomes of a time that has come. resting says that the last run has
// ended, suspended that a person has stopped the host, asking that a start is on its way,
// and queued that a run waits.
func decide(o Overlap, resting, suspended, asking, queued bool) action {
	switch {
	case suspended:
		return nothing
	case resting && !asking && !queued:
		return start
	case o == Kill && !asking:
		return replace
	case o == Queue && queued:
		return full
	case o == Queue:
		return enqueue
	}
	return skip
}

// ask has the host started. The caller must hold mu.
func (c *clock) ask(due time.Time, again bool) {
	if c.ctx.Err() != nil {
		return
	}
	c.asking = true
	c.host.Background(func() {
		err := c.host.RunDue(c.ctx, clockTime(due), again)
		c.mu.Lock()
		c.asking = false
		c.next()
		c.mu.Unlock()
		if err != nil && c.ctx.Err() == nil && !errors.Is(err, actors.ErrClosed) {
			c.note(fmt.Sprintf("%s: not started: %v", told(due), err))
		}
	})
}

// next starts the run that waits, if the last one has ended. The caller must hold mu.
func (c *clock) next() {
	if due := c.queued; !due.IsZero() && c.resting && !c.asking {
		c.queued = time.Time{}
		c.ask(due, false)
	}
}

// changed keeps whether the last run has ended. The next one may wait for that.
func (c *clock) changed(t lifecycle.Transition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting = t.To.AtRest(); c.resting && t.By == lifecycle.ByPerson {
		c.queued = time.Time{} // it suspends the schedule
	}
	c.next()
}

func (c *clock) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clock) status(s *record.HostStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.due.IsZero() && !s.StoppedByPerson && c.ctx.Err() == nil {
		due := c.due
		s.NextRun = &due
	}
}

// note adds a remark to the output of the host and to the log.
func (c *clock) note(text string) {
	life := c.host.Life()
	c.host.Print(life, capture.Note, text)
	c.host.Log().Warn(text, "life", life)
}

// told names a time of a schedule.
func told(t time.Time) string { return "schedule " + clockTime(t) }

// clockTime returns a time of day, with seconds if there are any.
func clockTime(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
