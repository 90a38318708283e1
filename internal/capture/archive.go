package capture

import (
	"sync"
	"time"
)

// lastTend is the shortest time after which files are looked at again, unless they
// changed: one that cannot be removed is tried that often.
const lastTend = time.Minute

// Archiver compresses old files of logs and removes those that are too old: one
// file at a time, in a goroutine that exists only while there is something to do.
// The zero value is ready. It is safe for concurrent use.
type Archiver struct {
	mu      sync.Mutex
	queue   []*sink
	current *sink               // being worked on
	due     map[*sink]time.Time // when a file is the next to be too old
	timer   *time.Timer         // for the earliest of due; nil without one
	running bool
	ended   *sync.Cond // current or running changed; nil without a waiter
}

// enqueue has the files of s looked at. It does not block.
func (a *Archiver) enqueue(s *sink) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(s)
}

// add is enqueue. The caller must hold mu.
func (a *Archiver) add(s *sink) {
	if s.queued || s.gone.Load() {
		return
	}
	s.queued = true
	a.queue = append(a.queue, s)
	if !a.running {
		a.running = true
		go a.run()
	}
}

// forget ends all work on s, and returns when there is none. The caller must not hold
// the lock of s.
func (a *Archiver) forget(s *sink) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.gone.Store(true)
	delete(a.due, s)
	for i, q := range a.queue {
		if q == s {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			break
		}
	}
	a.waitUntil(func() bool { return a.current != s })
	if len(a.due) == 0 && a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// Close returns when the goroutine of the Archiver has ended. All logs that use it must
// be closed.
func (a *Archiver) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waitUntil(func() bool { return !a.running })
}

// waitUntil blocks until cond, which is called with mu held, reports true. The caller
// must hold mu.
func (a *Archiver) waitUntil(cond func() bool) {
	for !cond() {
		if a.ended == nil {
			a.ended = sync.NewCond(&a.mu)
		}
		a.ended.Wait()
	}
}

func (a *Archiver) changed() {
	if a.ended != nil {
		a.ended.Broadcast()
	}
}

func (a *Archiver) run() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) > 0 {
		s := a.queue[0]
		a.queue = a.queue[1:]
		a.current, s.queued = s, false
		a.mu.Unlock()
		due := s.tend(time.Now())
		a.mu.Lock()
		a.current = nil
		delete(a.due, s)
		if !due.IsZero() && !s.gone.Load() {
			if a.due == nil {
				a.due = make(map[*sink]time.Time)
			}
			a.due[s] = due
		}
		a.changed()
	}
	a.queue, a.running = nil, false
	a.arm()
	a.changed()
}

// arm sets the timer. The caller must hold mu.
func (a *Archiver) arm() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	var next time.Time
	for _, t := range a.due {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if !next.IsZero() {
		a.timer = time.AfterFunc(time.Until(next), a.expire)
	}
}

// expire looks at the files of those whose time has come.
func (a *Archiver) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for s, t := range a.due {
		if !t.After(now) {
			a.add(s)
		}
	}
	if !a.running {
		a.arm()
	}
}
