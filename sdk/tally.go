package sdk

import (
	"sync"
	"sync/atomic"
	"time"
)

// tally counts what goes on. It is a [link.Counter].
type tally struct {
	busy  atomic.Int64
	aside atomic.Int64 // of those, goodbyes that wait for the others; changed with the lock held

	mu       sync.Mutex
	recalled bool          // none is aside any more
	quiet    chan struct{} // closed when nothing goes on; nil while nobody waits
}

// Add implements [link.Counter].
func (t *tally) Add(n int) { t.busy.Add(int64(n)) }

// Done implements [link.Counter].
func (t *tally) Done() {
	if t.busy.Add(-1) > t.aside.Load() {
		return
	}
	t.mu.Lock()
	t.look()
	t.mu.Unlock()
}

// stepAside takes one thing out of what idle waits for, until recall.
func (t *tally) stepAside() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.recalled {
		t.aside.Add(1)
		t.look()
	}
}

// recall ends stepAside.
func (t *tally) recall() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aside.Store(0)
	t.recalled = true
}

// look wakes idle. The caller must hold the lock.
func (t *tally) look() {
	if t.quiet != nil && t.left() == 0 {
		close(t.quiet)
		t.quiet = nil
	}
}

// idle waits until nothing goes on. It gives up after d or when abort is closed, and
// returns how much goes on then.
func (t *tally) idle(d time.Duration, abort <-chan struct{}) int {
	t.mu.Lock()
	if t.quiet == nil {
		t.quiet = make(chan struct{})
	}
	if t.left() == 0 { // looked at behind quiet, which Done sees or this sees what it has done
		t.mu.Unlock()
		return 0
	}
	quiet := t.quiet
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-quiet:
		return 0
	case <-timer.C:
	case <-abort:
	}
	return t.left()
}

func (t *tally) left() int { return int(t.busy.Load() - t.aside.Load()) }
