package server

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// giveBackBytes is how much has to be let go of before the system gets it back.
	// A server that does small things never gets so far.
	giveBackBytes = 8 << 20
	// giveBackAfter is how long after that it does.
	giveBackAfter = 2 * time.Second
)

// memory returns to the system what large messages and retained output have
// taken. The runtime by itself keeps it until the next collection, which in a
// server that has nothing to do comes after minutes. The zero value is ready.
type memory struct {
	free atomic.Int64 // bytes let go of since the last time
	due  atomic.Bool
}

// released notes that n bytes are let go of, now or within a moment.
func (m *memory) released(n int) {
	if m.free.Add(int64(n)) < giveBackBytes || !m.due.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(giveBackAfter, func() {
		m.due.Store(false)
		m.free.Store(0)
		runtime.GC() // what is in pools ends with the second collection without a use
		debug.FreeOSMemory()
	})
}
