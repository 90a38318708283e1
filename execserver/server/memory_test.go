package server

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What is let go of after the memory was to be returned, and before it is, is returned too
// when the last session has ended.
func TestMemoryOfTheLastSession(t *testing.T) {
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	synctest.Test(t, func(t *testing.T) {
		var rested atomic.Int32
		m := memory{rest: func() { rested.Add(1) }}
		before := collections()
		m.released(giveBackBytes)
		time.Sleep(giveBackAfter - time.Millisecond) //nolint:forbidigo // in a bubble, whose clock moves by itself
		m.released(1)                                // too little for a time of its own
		m.idle()
		time.Sleep(2 * time.Millisecond) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		first := collections()
		if first == before {
			t.Error("nothing was returned for what was large")
		}
		if rested.Load() > 0 {
			t.Error("the server rests before everything was returned")
		}
		time.Sleep(giveBackAfter) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		last := collections()
		if last == first {
			t.Error("nothing was returned for the end of the session")
		}
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		if collections() != last {
			t.Error("a server without sessions goes on with it")
		}
		m.released(giveBackBytes)
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble, whose clock moves by itself
		synctest.Wait()
		if n := rested.Load(); n != 1 {
			t.Errorf("it has rested %d times after one last session", n)
		}
	})
}
