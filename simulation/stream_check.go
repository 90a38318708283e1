package simulation

import "time"

// What is promised about streamed results.

// allowed: a process has read credit. It never has more than the caller's loop has taken and ahead.
func (c *checker) allowed(a *call, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.allowed += n; a.allowed > a.taken+ahead {
		c.fail("call %d of %s: %d items are allowed, and %d are taken", a.id, a.host, a.allowed, a.taken)
	}
}

// breaks: a process sends an item without credit, or out of sequence, which ends its connection.
// The supervisor ignores items that its caller does not wait for, and may have sent credit that the
// process has not read: one without credit may be allowed all the same.
func (c *checker) breaks(p *process, a *call, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, began := c.latest[p.host], time.Now()
	if s.life != p.life {
		return
	}
	s.broke = true
	if a.answered || !sure {
		return
	}
	c.after(c.hosts[p.host].Stop.Grace+2*c.slack, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !a.tookBack && !s.over && !s.frozen && !s.thawed.After(began) && c.stopAt.IsZero() {
			c.fail("%s: life %d has sent an item that is not allowed, and goes on", p.host, p.life)
		}
	})
}

// item: the caller of a stream has an item.
func (c *checker) item(a *call, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n != a.taken {
		c.fail("call %d of %s: item %d follows %d others", a.id, a.host, n, a.taken)
	}
	a.taken++
	a.last = time.Now()
}

// ready: the caller of a stream asks for the next item.
func (c *checker) ready(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.last = time.Now()
}

// left: the caller of a stream has left its loop. The process is to be told.
func (c *checker) left(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.answered, a.tookBack, a.endedAt = true, true, time.Now()
	c.stops(a)
	c.note("call %d: the caller leaves after %d items", a.id, a.taken)
}

// finished: a process sends no more items.
func (c *checker) finished(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.finished = true
}

// stops: a call has its outcome, so that the process is to send no more items soon. c.mu is held.
func (c *checker) stops(a *call) {
	if a.method != items || c.heardOf[a.id] == 0 || a.finished {
		return
	}
	c.later(a.host, a.heardBy, 0, func() {
		if !a.finished {
			c.fail("call %d of %s: life %d goes on with a result that is not asked for any more", a.id, a.host, a.heardBy)
		}
	})
}

// sends: a process sends an item.
func (c *checker) sends(a *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.sent++
	a.sentAt = append(a.sentAt, time.Now())
}

// moved returns when a call began, or the last item that its caller has was sent.
func (a *call) moved() time.Time {
	if a.taken == 0 || len(a.sentAt) < a.taken {
		return a.began
	}
	return a.sentAt[a.taken-1]
}
