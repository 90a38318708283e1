// Package startslots bounds how many hosts of a tree start at once. A host takes a slot
// before its start and gives it back when it has started or given up; those that wait get
// theirs in the order in which they asked. Rules about who may start, or in which
// order, belong to package lifecycle.
package startslots

import (
	"slices"
	"sync"
)

// Limiter has the slots. The zero value is ready to use, and safe for concurrent use.
type Limiter struct {
	mu    sync.Mutex
	taken int
	queue []*Slot // those that wait, the first in front
}

// Slot is one wish for a slot, from Take to Give. It is safe for concurrent use.
type Slot struct {
	of      *Limiter
	granted func()
	has     bool // under Limiter.mu
	gone    bool
}

// Take asks for one of limit slots. If waits is true, all slots are taken, and
// granted is called once when one becomes free, possibly before Take returns. It is not
// called after Give has returned, unless Give runs at the same time.
func (l *Limiter) Take(limit int, granted func()) (s *Slot, waits bool) {
	s = &Slot{of: l, granted: granted}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken < limit && len(l.queue) == 0 {
		l.taken++
		s.has = true
	} else {
		l.queue = append(l.queue, s)
	}
	return s, !s.has
}

// Taken returns how many slots are taken.
func (l *Limiter) Taken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

// Give returns the slot, which the next waiter gets, or stops waiting for one.
// Further calls, and those of a nil Slot, do nothing.
func (s *Slot) Give() {
	if s == nil {
		return
	}
	l := s.of
	l.mu.Lock()
	var next *Slot
	switch {
	case s.gone:
	case !s.has:
		l.queue = slices.DeleteFunc(l.queue, func(o *Slot) bool { return o == s })
	case len(l.queue) > 0: // the slot changes hands, and nobody can get between
		next = l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		next.has = true
	default:
		l.taken--
	}
	s.gone = true
	l.mu.Unlock()
	if next != nil {
		next.granted()
	}
}
