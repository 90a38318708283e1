package actors

import (
	"sync"
	"time"
)

// deadlines keeps the requests of one host that have the same time-out, which
// is nearly all of them, in the order in which they run out. One runtime timer
// serves the list: a timer for each request would make the scheduler wake
// another thread at every call, to look after a deadline that hardly any
// request lives to see.
type deadlines struct {
	after time.Duration

	mu         sync.Mutex
	head, tail *Request
	timer      *time.Timer // of the head, or of one that was the head
	armed      bool
}

// add lets the deadline of a request run.
func (d *deadlines) add(q *Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.due, q.listed = monotonic()+int64(d.after), true
	if q.older = d.tail; q.older != nil {
		q.older.younger = q
	} else {
		d.head = q
	}
	d.tail = q
	if d.armed {
		return
	}
	d.armed = true
	if d.timer == nil {
		d.timer = time.AfterFunc(d.after, d.fire)
	} else {
		d.timer.Reset(d.after)
	}
}

// remove forgets a request that has its outcome.
func (d *deadlines) remove(q *Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unlink(q)
}

func (d *deadlines) unlink(q *Request) {
	if !q.listed {
		return
	}
	q.listed = false
	if q.older != nil {
		q.older.younger = q.younger
	} else {
		d.head = q.younger
	}
	if q.younger != nil {
		q.younger.older = q.older
	} else {
		d.tail = q.older
	}
	q.older, q.younger = nil, nil
}

// fire ends what is due, and sees to what comes next.
func (d *deadlines) fire() {
	d.mu.Lock()
	var due []*Request
	now := monotonic()
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
	for _, q := range due {
		q.expire()
	}
}

// stop gives the timer back. Requests that are still listed are answered by
// whoever ends the host.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.armed = false
	}
}
