package link

import (
	"sync"
	"time"
)

// Deadlines keeps the pending requests that have the same time-out, which is
// nearly all of them, in the order in which they run out. One timer serves the
// list: a timer for each request would make the scheduler wake another thread at
// every call, to look after a deadline that hardly any request lives to see.
// Several connections may share it.
type Deadlines struct {
	env   Env
	after time.Duration

	mu         sync.Mutex
	head, tail *Pending
	timer      Timer // of the head, or of one that was the head
	armed      bool
}

// NewDeadlines returns the list for a time-out. Requests with another one have
// timers of their own.
func NewDeadlines(env Env, after time.Duration) *Deadlines { return &Deadlines{env: env, after: after} }

// add lets the deadline of a request run.
func (d *Deadlines) add(p *Pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.due, p.listed = d.env.Now()+int64(d.after), true
	if p.older = d.tail; p.older != nil {
		p.older.younger = p
	} else {
		d.head = p
	}
	d.tail = p
	if d.armed {
		return
	}
	d.armed = true
	if d.timer == nil {
		d.timer = d.env.AfterFunc(d.after, d.fire)
	} else {
		d.timer.Reset(d.after)
	}
}

// remove forgets a request that has its outcome.
func (d *Deadlines) remove(p *Pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlink(p)
}

func (d *Deadlines) unlink(p *Pending) {
	if !p.listed {
		return
	}
	p.listed = false
	if p.older != nil {
		p.older.younger = p.younger
	} else {
		d.head = p.younger
	}
	if p.younger != nil {
		p.younger.older = p.older
	} else {
		d.tail = p.older
	}
	p.older, p.younger = nil, nil
}

// fire ends what is due, and sees to what comes next.
func (d *Deadlines) fire() {
	d.mu.Lock()
	var due []*Pending
	now := d.env.Now()
	for d.head != nil && d.head.due <= now {
		due = append(due, d.head)
		d.unlink(d.head)
	}
	if d.head != nil {
		d.timer.Reset(time.Duration(d.head.due - now))
	} else {
		d.armed = false
	}
	d.mu.Unlock()
	for _, p := range due {
		p.expire()
	}
}

// Stop gives the timer back. Requests that are still in the list must be settled
// by whoever stops it.
func (d *Deadlines) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.armed = false
	}
}
