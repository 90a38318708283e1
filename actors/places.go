package actors

import (
	"slices"
	"sync"
)

// places bounds how many hosts start at once. Places are handed out in the order
// in which they were asked for. The zero value is ready to use.
type places struct {
	mu    sync.Mutex
	taken int
	queue []*ticket // those that wait, the first in front
}

// ticket is one wish for a place, from take to give. It is safe for concurrent
// use.
type ticket struct {
	places  *places
	granted func()
	has     bool // under places.mu
	gone    bool
}

// take asks for one of limit places. If waits is true, all places are taken, and
// granted is called once when one becomes free, possibly before take returns. It is not
// called after give has returned, unless give runs at the same time.
func (p *places) take(limit int, granted func()) (t *ticket, waits bool) {
	t = &ticket{places: p, granted: granted}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken < limit && len(p.queue) == 0 {
		p.taken++
		t.has = true
	} else {
		p.queue = append(p.queue, t)
	}
	return t, !t.has
}

// give hands a place to who is next, or takes back the wish for one. Further
// calls, and those of no ticket at all, do nothing.
func (t *ticket) give() {
	if t == nil {
		return
	}
	p := t.places
	p.mu.Lock()
	var next *ticket
	switch {
	case t.gone:
	case !t.has:
		p.queue = slices.DeleteFunc(p.queue, func(o *ticket) bool { return o == t })
	case len(p.queue) > 0: // the place changes hands, and nobody can get between
		next = p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		next.has = true
	default:
		p.taken--
	}
	t.gone = true
	p.mu.Unlock()
	if next != nil {
		next.granted()
	}
}

// placed tells a host's actor that a life of its has a place.
type placed struct{ life uint64 }
