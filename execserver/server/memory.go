package server

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// giveBackBytes is how much must be released before it is returned to the system.
	// A server with small requests never releases so much.
	giveBackBytes = 8 << 20
	// giveBackAfter is how long after that it does.
	giveBackAfter = 2 * time.Second
)

// memory returns to the system what large messages and retained output have
// taken. The runtime by itself keeps it until the next collection, which in a
// server that has nothing to do comes after minutes. The zero value is ready.
type memory struct {
	free  atomic.Int64 // bytes let go of since the last time
	due   atomic.Bool
	again atomic.Bool // the server had nothing left to do after due was set
	rests atomic.Bool // it had nothing left to do since rest was called
	rest  func()      // nil, or what is to be done when it has nothing to do, see Options.Idle
}

// released records that n bytes are released, now or very soon.
func (m *memory) released(n int) {
	if m.free.Add(int64(n)) >= giveBackBytes {
		m.soon()
	}
}

// idle follows the end of the last session: what it has taken in small pieces, and what
// was released after the last time, is returned too.
func (m *memory) idle() {
	m.rests.Store(true)
	m.again.Store(true)
	m.soon()
}

func (m *memory) soon() {
	if !m.due.CompareAndSwap(false, true) {
		return
	}
	m.again.Store(false)
	time.AfterFunc(giveBackAfter, func() {
		m.due.Store(false)
		m.free.Store(0)
		runtime.GC() // memory in pools is freed by the second collection without a use
		debug.FreeOSMemory()
		if m.again.Load() {
			m.soon()
		} else if m.rests.Swap(false) && m.rest != nil {
			m.rest()
		}
	})
}
