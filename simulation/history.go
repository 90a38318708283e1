package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// What the history of events must be.

// past is what the events have said of a host so far.
type past struct {
	state   lifecycle.State
	since   time.Time   // of the state
	crashes []time.Time // that count
	streak  int         // ends since the last healthy life; -1: it is not known whether the life was healthy
	begun   time.Time   // the start of the life
	ready   time.Time   // its handshake
	up      time.Time   // when it was last seen to run

	least, most time.Duration // of the back-off

	changed time.Time // when what a later supervisor remembers has changed
	vague   bool      // it may have forgotten some of it
	life    uint64    // the last one that began
	resumed bool      // a life went on when its supervisor was killed
}

// events looks at the history, that of each supervisor.
func (c *checker) events(eras []history) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosts := make(map[string]*past)
	var all []supervisor.Event
	for i, e := range eras {
		if i > 0 {
			for name, h := range hosts {
				spec := c.hosts[name]
				h.begins(e.began, c.killedAt[i-1], survives(&spec), c.slack)
			}
		}
		c.eventsOf(e, hosts)
		all = append(all, e.events...)
	}
	c.checkReleases(all)
	c.checkWatches(all)
	c.checkSurvivors(eras)
	for _, p := range c.spells {
		i := 0
		for i+1 < len(eras) && !p.from.Before(eras[i+1].began) {
			i++
		}
		c.noticed(p, eras[i].events)
	}
	for name, h := range hosts {
		if h.state != "" && !h.state.AtRest() {
			c.fail("%s is %s at the end", name, h.state)
		}
	}
}

// eventsOf looks at the history of one supervisor. hosts has what is known of each host.
func (c *checker) eventsOf(era history, hosts map[string]*past) {
	all := era.events
	for i, e := range all {
		if e.Seq != all[0].Seq+uint64(i) {
			c.fail("event %d follows event %d", e.Seq, all[i-1].Seq)
		}
		if i > 0 && e.Time.Before(all[i-1].Time) {
			c.fail("event %d of %s is before event %d of %s", e.Seq, e.Time, all[i-1].Seq, all[i-1].Time)
		}
		if e.Host == nil {
			continue
		}
		h := hosts[*e.Host]
		if h == nil {
			h = &past{since: era.began}
			hosts[*e.Host] = h
		}
		if e.Kind == "reset" {
			h.crashes, h.streak, h.changed, h.vague = nil, 0, e.Time, false
		}
		if from, to, ok := e.Transition(); ok {
			c.trace = append(c.trace, fmt.Sprintf("%s event %d: %s: %s → %s (%s)", e.Time.Sub(c.begin), e.Seq, *e.Host, from, to, e.Reason))
			c.transition(e, h, from, to)
			for _, d := range c.hosts[*e.Host].Start.DependsOn {
				// The group has seen it run; it may have ended since.
				if to == lifecycle.Starting && (hosts[d] == nil || !hosts[d].state.Up() && e.Time.Sub(hosts[d].up) > c.slack) {
					c.fail("event %d: %s starts before %s runs", e.Seq, *e.Host, d)
				}
			}
		}
	}
}

// noticed looks whether a process that did nothing was noticed in time, and killed. It is
// looked at with each ping.
func (c *checker) noticed(p spell, all []supervisor.Event) {
	h := c.hosts[p.host]
	rule := h.Liveness
	if p.sick && !watchOf(&h).healthy {
		return
	}
	by := p.from.Add(rule.Ping + (rule.After + rule.Ping - 1).Truncate(rule.Ping) + c.slack)
	end := latest(c.stopAt, c.begin)
	if p.to.Before(end) {
		end = p.to
	}
	var state lifecycle.State
	var since time.Time
	judge := func(until time.Time) {
		switch {
		case state == lifecycle.Running && !until.Before(by):
			c.fail("%s: life %d did nothing, or failed its checks, from %s to %s, which was not noticed by %s", p.host, p.life, p.from.Sub(c.begin), p.to.Sub(c.begin), by.Sub(c.begin))
			by = until.Add(time.Hour) // once
		case state == lifecycle.Unresponsive && until.Sub(latest(since, p.from)) > rule.KillAfter+c.slack:
			c.fail("%s: life %d was unresponsive from %s, and was not killed by %s", p.host, p.life, since.Sub(c.begin), until.Sub(c.begin))
		}
	}
	for _, e := range all {
		if e.Host == nil || *e.Host != p.host || !e.Time.Before(end) {
			continue
		}
		if _, to, ok := e.Transition(); ok {
			judge(e.Time)
			state, since = to, e.Time
		}
	}
	judge(end)
}

// follows is what may come after what.
var follows = map[lifecycle.State]string{
	"":                     "stopped starting failed",
	lifecycle.Stopped:      "starting failed",
	lifecycle.Starting:     "running crashed stopping",
	lifecycle.Running:      "unresponsive crashed stopping stopped restarting",
	lifecycle.Unresponsive: "running crashed stopping",
	lifecycle.Crashed:      "restarting failed stopped",
	lifecycle.Restarting:   "starting stopping failed",
	lifecycle.Failed:       "starting stopped",
	lifecycle.Stopping:     "stopped failed",
}

func (c *checker) transition(e supervisor.Event, h *past, from, to lifecycle.State) {
	rule := c.hosts[*e.Host].Restart
	bad := func(format string, args ...any) {
		c.fail("event %d: %s: %s → %s (%s): %s", e.Seq, *e.Host, from, to, e.Reason, fmt.Sprintf(format, args...))
	}
	if from != h.state {
		bad("it was %s", h.state)
	}
	if !slices.Contains(strings.Fields(follows[from]), string(to)) {
		bad("expected one of %s", follows[from])
	}
	if lives(from) && !lives(to) {
		h.changed = e.Time
		h.ended(e.Time, from, rule.Backoff.Healthy)
	}
	switch to {
	case lifecycle.Running:
		if from == lifecycle.Starting && !h.resumed {
			h.ready = e.Time
		}
		h.resumed = false
	case lifecycle.Crashed:
		h.changed = e.Time
		h.crashes = append(h.crashes, e.Time)
		for len(h.crashes) > 0 && e.Time.Sub(h.crashes[0]) >= rule.Window {
			h.crashes = h.crashes[1:]
		}
	case lifecycle.Restarting, lifecycle.Failed:
		if to == lifecycle.Restarting {
			h.waits(rule.Backoff)
		}
		if from != lifecycle.Crashed || rule.Policy == lifecycle.Never {
			break
		}
		if spent := len(h.crashes) >= rule.MaxCrashes; !h.vague && spent != (to == lifecycle.Failed) {
			bad("%d crashes in %s, and at most %d", len(h.crashes), rule.Window, rule.MaxCrashes)
		}
	case lifecycle.Starting:
		if from == lifecycle.Restarting {
			c.waited(e, h, bad)
		}
		if h.resumed = h.resumed && h.life == *e.Life; !h.resumed {
			h.begun = e.Time
		}
		h.life = *e.Life
	}
	// A failed host that a person or retry_failed brings back has a new window. One that failed with what it
	// needs, and is stopped with that, has spent nothing.
	if from == lifecycle.Failed && !(to == lifecycle.Stopped && strings.HasPrefix(e.Reason, "needs ")) {
		h.crashes, h.streak, h.changed, h.vague = nil, 0, e.Time, false
	}
	if from.Up() {
		h.up = e.Time
	}
	h.state, h.since = to, e.Time
}

// ended is told of the end of a life that was not asked for. The count begins anew if
// the process has run for the time healthy; it was spawned between two events.
func (h *past) ended(at time.Time, from lifecycle.State, healthy time.Duration) {
	switch {
	case from != lifecycle.Starting && at.Sub(h.ready) >= healthy:
		h.streak = 0
	case at.Sub(h.begun) >= healthy:
		h.streak = -1
	}
}

// waits notes the back-off that begins.
func (h *past) waits(b lifecycle.Backoff) {
	h.least, h.most = 0, 0
	if h.streak != 0 {
		want := math.Min(float64(b.Initial)*math.Pow(b.Multiplier, math.Abs(float64(h.streak))-1), float64(b.Max))
		h.least, h.most = time.Duration(want*(1-b.Jitter)), time.Duration(want*(1+b.Jitter))
	}
	if h.streak < 0 {
		h.least, h.streak = 0, 0
		h.most = b.Max + b.Max
	}
	h.streak++
}

// waited looks at the back-off before a start.
func (c *checker) waited(e supervisor.Event, h *past, bad func(string, ...any)) {
	waited := e.Time.Sub(h.since)
	if e.Reason == "restart" && !h.vague && (waited < h.least || !c.gated[*e.Host] && waited > h.most+c.slack) {
		bad("after %s, the %d. in a row; expected %s to %s", waited, h.streak, h.least, h.most)
	}
}

// lives reports whether a host has a life in a state.
func lives(s lifecycle.State) bool { return s == lifecycle.Starting || s.Up() }
