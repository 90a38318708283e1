package simulation

import (
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// What is promised of hosts that outlive their supervisor.

// history is what the events say of the time of one supervisor.
type history struct {
	began  time.Time
	events []supervisor.Event
}

// survivor is a process that a supervisor has left.
type survivor struct {
	life, pid int
	greeted   bool // it had shaken hands
	must      bool // it is to be taken back, or its end is to be reported
	era       int  // of the supervisor that has taken it back; 0: it is not taken back
}

// takenWithin is how long a supervisor may take to take back a host that nothing holds up.
const takenWithin = 10 * time.Second

// killed: the supervisor is killed.
func (c *checker) killed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("the supervisor is killed")
	now := time.Now()
	c.killedAt = append(c.killedAt, now)
	for _, a := range c.calls {
		if !a.answered {
			a.answered, a.endedAt, a.outlived = true, now, true // crashed (supervisor)
		}
	}
	for i := range c.spells {
		if p := &c.spells[i]; p.to.IsZero() {
			p.to = now
		}
	}
	for host, spec := range c.hosts {
		s := c.latest[host]
		if !survives(&spec) {
			c.lives[host] = 0
			delete(c.heardNews, host)
			delete(c.latest, host)
			continue
		}
		c.repeats[host] = true
		if s == nil {
			continue
		}
		if was := c.survivors[host]; was == nil || was.life != s.life || was.era > 0 {
			c.survivors[host] = &survivor{
				life: s.life, pid: s.pid, greeted: !s.greeted.IsZero(),
				must: !c.gated[host] && !s.over && !s.disturbed && !s.greeted.IsZero() && now.Sub(s.greeted) > c.slack && !c.meddled[host].After(now.Add(-c.slack)),
			}
		}
		s.greeted, s.left = time.Time{}, true
	}
}

// meddles: a person orders something, or something is done to the process of a host.
func (c *checker) meddles(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meddled[host] = time.Now()
	if s := c.survivors[host]; s != nil {
		s.must = false
	}
}

// past keeps the events of a supervisor that was killed.
func (c *checker) past(e *era, killed time.Time) {
	var out []supervisor.Event
	for _, ev := range e.sup.History() {
		if !ev.Time.After(killed) {
			out = append(out, ev)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eras = append(c.eras, history{e.began, out})
}

// reopened: a supervisor reads from a process that may have outlived another one.
func (c *checker) reopened(supervisor int, host string, life int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.survivors[host]
	if s == nil || s.life != life || supervisor == 0 {
		return
	}
	s.era = supervisor
	p := c.latest[host]
	c.note("%s: life %d, process %d, is taken back", host, life, s.pid)
	p.left = false
	if s.greeted { // else it cannot go on
		p.greeted = time.Now()
	}
	if p.frozen {
		c.spells = append(c.spells, spell{host: host, life: life, from: time.Now()})
	}
}

// endsSurvivor: a supervisor orders the end of a process that may outlive it.
func (c *checker) endsSurvivor(host string, life int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.latest[host]
	if !c.stopAt.IsZero() || p == nil || p.life != life || p.over {
		return
	}
	s := c.survivors[host]
	taken := s != nil && s.life == life
	if taken && s.era == 0 {
		if s.must {
			c.fail("%s: process %d of life %d has outlived its supervisor, and is ended by the next one", host, s.pid, life)
		}
		return
	}
	// Its end may have been decided before it had shaken hands.
	late := !taken && time.Since(p.greeted) <= c.slack
	calm := !p.disturbed && !p.frozen && p.thawed.IsZero() && !p.greeted.IsZero() && !late && time.Since(c.meddled[host]) > takenWithin+c.slack
	if calm && !c.gated[host] {
		c.fail("%s: process %d of life %d has done nothing wrong, and is ended", host, p.pid, life)
	}
}

// mayRepeat reports whether a notification of a host may be one that a supervisor before has handed on. c.mu is held.
func (c *checker) mayRepeat(host string, life, at int, last place) bool {
	if !c.repeats[host] || life != last.life {
		return false
	}
	delete(c.repeats, host)
	return at >= 1 && at <= last.n
}

// reports looks at the crash reports of an era.
func (c *checker) reports(e *era) {
	for host, spec := range c.hosts {
		filed, err := e.sup.Crashes(host)
		if err != nil || !survives(&spec) {
			continue
		}
		c.mu.Lock()
		s, p := c.survivors[host], c.latest[host]
		// It was found by this supervisor, after its end, in time for the report.
		if s != nil && p != nil && s.must && s.era == e.number && p.life == s.life && p.over && p.overAt.Before(e.began) && p.failed && time.Since(e.began) > takenWithin+c.slack {
			found := false
			for _, r := range filed {
				found = found || int(r.Life) == s.life && r.PID == s.pid
			}
			if !found {
				c.fail("%s: process %d of life %d has ended without a supervisor; the next one has filed no report", host, s.pid, s.life)
			}
		}
		c.mu.Unlock()
	}
}

// checkSurvivors compares what was taken back with what the events say.
func (c *checker) checkSurvivors(eras []history) {
	for i, era := range eras {
		told := make(map[string]bool)
		for _, e := range era.events {
			if e.Kind != record.KindTakenBack {
				continue
			}
			host := *e.Host
			if told[host] || i == 0 {
				c.fail("event %d of supervisor %d: %s is taken back again", e.Seq, i, host)
			}
			told[host] = true
		}
	}
}

// begins has what events say go on with the next supervisor, which begins anew but for what it
// remembers of hosts that survive.
func (h *past) begins(began, killed time.Time, survives bool, slack time.Duration) {
	if !survives {
		*h = past{}
	} else if killed.Sub(h.changed) < slack {
		h.vague = true // what has just happened may not be written
	}
	// A life that was being stopped may be taken back as well.
	h.state, h.since, h.resumed = "", began, lives(h.state) || h.state == lifecycle.Stopping
}
