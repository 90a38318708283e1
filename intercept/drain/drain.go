// Package drain keeps calls and notifications from a host until the calls under way are
// done, for a feature that ends the host's life without a loss. It is no interceptor by itself:
// the feature passes on to a [Gate] what its own is told.
package drain

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Gate is what calls and notifications pass on their way to a host. It is open at first.
type Gate struct {
	shut atomic.Pointer[chan struct{}] // closed when the gate opens again; nil: it is open
	held atomic.Int64                  // calls that were held since it was shut

	mu    sync.Mutex
	life  uint64
	open  int           // calls that the life was sent and has not answered
	quiet chan struct{} // closed when no call is open; nil: it is not waited for
}

// Outbound is an [actors.Interceptor] function: it holds what comes to a gate that is shut.
func (g *Gate) Outbound(_ uint64, m *codec.Message) actors.Verdict {
	if shut := g.shut.Load(); shut != nil {
		if m.Kind == codec.Request {
			g.held.Add(1)
		}
		return actors.Verdict{Hold: *shut}
	}
	return actors.Verdict{}
}

// Sent counts a call that is new to its life.
func (g *Gate) Sent(life uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if life > g.life {
		g.life, g.open = life, 0
	}
	if life == g.life {
		g.open++
	}
}

// Answered takes off a call that its life has answered.
func (g *Gate) Answered(life uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if life == g.life && g.open > 0 {
		g.open--
		g.still()
	}
}

// Ended forgets the calls to a life that has ended.
func (g *Gate) Ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = 0
	g.still()
}

// still tells the one who waits if no call is open. The caller must hold mu.
func (g *Gate) still() {
	if g.quiet != nil && g.open == 0 {
		close(g.quiet)
		g.quiet = nil
	}
}

// Shut shuts the gate and reports whether it was open.
func (g *Gate) Shut() bool {
	shut := make(chan struct{})
	if g.shut.Load() == nil {
		g.held.Store(0)
	}
	return g.shut.CompareAndSwap(nil, &shut)
}

// Open lets pass what was held.
func (g *Gate) Open() {
	if shut := g.shut.Swap(nil); shut != nil {
		close(*shut)
	}
}

// passing is the time between two looks for a call that has passed the gate and was not sent yet.
const passing = time.Millisecond

// Quiet waits until the life has answered all calls that have passed the gate, or has ended, and
// reports whether that was before ctx ended and within bound. pending returns how many calls have no
// outcome, those that are held included. The answer to a call that its caller has given up is
// waited for, too. One goroutine may wait at a time.
func (g *Gate) Quiet(ctx context.Context, pending func() int, bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		quiet := make(chan struct{})
		g.mu.Lock()
		g.quiet = quiet
		g.still()
		g.mu.Unlock()
		select {
		case <-quiet:
		case <-ctx.Done():
			return false
		}
		if int64(pending()) <= g.held.Load() {
			return true
		}
		select {
		case <-time.After(passing):
		case <-ctx.Done():
			return false
		}
	}
}
