package simulation

import (
	"math"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// What is promised to interceptors, and of checks of health.

// What an interceptor is told of a life.
const (
	onStarting = "Starting"
	onUp       = "Up"
	onLeaving  = "Leaving"
	onDown     = "Down"
	onEnded    = "Ended"
	onGone     = "Gone"
	afterGone  = "the end of Gone"
	onOver     = "Over"
	onClosed   = "Closed"
)

// watched is what the interceptor of a host was told.
type watched struct {
	last    map[string]int // the last life that it was told a thing of
	up      int            // the life of the last Up without a Down; 0: no life is up
	closed  bool
	changes []lifecycle.Transition
}

// wireID is a request of the supervisor to a life.
type wireID struct {
	host string
	life int
	id   uint32
}

// response counts the answers to a request.
type response struct{ written, told int } // by the process; an interceptor

// watched: an interceptor is told something of a life.
func (c *checker) watched(host, what string, n uint64) {
	life := int(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[host]
	if what == onOver && n == math.MaxUint64 {
		w.last[onOver] = w.last[onEnded]
		return
	}
	c.note("%s: %s of life %d", host, what, life)
	bad := func(expected string) {
		c.fail("%s: %s of life %d: expected %s; told so far: %v", host, what, life, expected, w.last)
	}
	if w.closed && what != onOver {
		bad("nothing after Closed")
	}
	started, ended := w.last[onStarting], w.last[onEnded]
	if life <= w.last[what] && what != onClosed && what != onLeaving { // with calls that are drained, Leaving comes before and after
		bad("it once")
	}
	switch what {
	case onStarting:
		if started > ended || life <= ended || c.lives[host] == started && w.last[afterGone] < started {
			bad("the end of the life before")
		}
	case onUp:
		if life != started || ended == life || w.up != 0 {
			bad("Starting before, and the Down of each other life")
		}
		w.up = life
	case onLeaving:
		if life != started { // it may not have been up yet
			bad("the life that was started")
		}
	case onDown:
		if life != w.up {
			bad("the life that is up")
		}
		w.up = 0
	case onEnded:
		if life < started {
			bad("the life that was started")
		}
	case onGone:
		if life != ended || c.trees[host] == life {
			bad("Ended before, and the end of all processes")
		}
	case onOver:
		if life > ended {
			bad("Ended before")
		}
	case onClosed:
		w.closed = true
		if w.up != 0 || started > ended {
			bad("the end of the life")
		}
	}
	w.last[what] = max(w.last[what], life)
}

// changed: an interceptor is told of a change of state.
func (c *checker) changed(host string, t lifecycle.Transition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[host].changes = append(c.watches[host].changes, t)
}

func (c *checker) noteOf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(format, args...)
}

// callOf returns the call that a request belongs to, or nil. c.mu is held.
func (c *checker) callOf(m *codec.Message) *call {
	var id int
	if err := msgpack.Unmarshal(m.Params, &id); err != nil || id < 1 || id > len(c.calls) {
		return nil
	}
	return c.calls[id-1]
}

// holds reports whether a call may be held back, which is done once.
func (c *checker) holds(m *codec.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.callOf(m)
	if a == nil || a.held {
		return false
	}
	a.held = true
	c.note("call %d is held", a.id)
	return true
}

// refuses reports whether a call may be refused.
func (c *checker) refuses(m *codec.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.callOf(m)
	if a == nil {
		return false
	}
	a.refused = true
	c.note("call %d is refused", a.id)
	return true
}

// sent: an interceptor is told of a call that is written.
func (c *checker) sent(host string, life uint64, m *codec.Message, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.callOf(m)
	if a == nil {
		return
	}
	if a.sentTo == int(life) || again != (a.sentTo != 0) || a.refused {
		c.fail("%s: call %d is sent to life %d, after life %d; again: %v, refused: %v", host, a.id, life, a.sentTo, again, a.refused)
	}
	a.sentTo = int(life)
}

// responds: a process answers a request.
func (c *checker) responds(host string, life int, id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[host] != nil {
		r := c.responses[wireID{host, life, id}]
		r.written++
		c.responses[wireID{host, life, id}] = r
	}
}

// responded: an interceptor is told of an answer.
func (c *checker) responded(host string, life int, id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := wireID{host, life, id}
	r := c.responses[w]
	if r.told++; r.told > r.written {
		c.fail("%s: Answered of request %d of life %d: %+v", host, id, life, r)
	}
	c.responses[w] = r
}

// greetings: a life reads what an interceptor sends at its begin and its end.
func (c *checker) greetings(host string, life int, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.latest[host]
	c.note("%s: life %d reads %s", host, life, method)
	switch {
	case method == "bye": // it may not have been up yet
		s.bye = true
	case s.hello || s.bye:
		c.fail("%s: life %d reads hello; it has read hello: %v, bye: %v", host, life, s.hello, s.bye)
	default:
		s.hello = true
	}
}

// said looks whether a life has read what was to come before a message. c.mu is held.
func (c *checker) said(host string, life int, what string) {
	if s := c.latest[host]; c.watches[host] != nil && s.life == life && !s.hello {
		c.fail("%s: life %d reads %s before what its interceptor sent first", host, life, what)
	}
}

// leaves: a life is asked to end.
func (c *checker) leaves(host string, life int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.latest[host]; c.watches[host] != nil && s.life == life && !s.bye {
		c.fail("%s: life %d is asked to end before what its interceptor sent last", host, life)
	}
}

// checkWatches looks at all that interceptors were told. c.mu is held.
func (c *checker) checkWatches(all []supervisor.Event) {
	for host, w := range c.watches {
		if !w.closed {
			c.fail("%s: its interceptor was not closed", host)
		}
		if w.last[onOver] != w.last[onEnded] {
			c.fail("%s: the last Over did not come: %v", host, w.last)
		}
		changes := w.changes
		for _, e := range all {
			from, to, ok := e.Transition()
			if !ok || *e.Host != host {
				continue
			}
			if len(changes) == 0 || changes[0].From != from && from != "" || changes[0].To != to {
				c.fail("event %d: %s: %s → %s: the interceptor was told %v", e.Seq, host, from, to, changes[:min(1, len(changes))])
				break
			}
			changes = changes[1:]
		}
		if len(changes) > 0 {
			c.fail("%s: the interceptor was told of %v, which is no event", host, changes[0])
		}
	}
	for _, a := range c.calls {
		if w := (wireID{a.host, a.heardBy, a.wire}); c.watches[a.host] != nil && a.by == "" && a.succeeded && c.responses[w].told == 0 {
			c.fail("call %d of %s: Answered of request %d of life %d did not come", a.id, a.host, a.wire, a.heardBy)
		}
	}
}

// fallsIll: the checks of a host fail from now on, or succeed.
func (c *checker) fallsIll(host string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sick[host] == on {
		return
	}
	c.sick[host] = on
	if s := c.latest[host]; s != nil && !s.over && !s.greeted.IsZero() {
		c.illness(host, s.life, on)
	}
}

// illness begins or ends a spell in which the checks of a life fail. c.mu is held.
func (c *checker) illness(host string, life int, on bool) {
	c.note("%s: the checks of life %d fail: %v", host, life, on)
	if on {
		c.spells = append(c.spells, spell{host: host, life: life, from: time.Now(), sick: true})
		return
	}
	i := slices.IndexFunc(c.spells, func(p spell) bool { return p.host == host && p.sick && p.to.IsZero() })
	if i >= 0 {
		c.spells[i].to = time.Now()
	}
}

func (c *checker) isSick(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sick[host]
}
