//go:build unix

package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Rest follows each time in which something happened, once, and not before it is over.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rested atomic.Int64
		var during atomic.Pointer[quiet] // something happens to it during the next rest
		q := newQuiet(time.Second, func() {
			rested.Add(1)
			if q := during.Load(); q != nil {
				q.touch()
			}
		})
		after := func(d time.Duration, want int64) {
			t.Helper()
			time.Sleep(d) //nolint:forbidigo // in a bubble, whose clock moves by itself
			synctest.Wait()
			if n := rested.Load(); n != want {
				t.Fatalf("it has rested %d times, want %d", n, want)
			}
		}
		for range 50 { // something goes on
			q.touch()
			after(100*time.Millisecond, 0)
		}
		after(2*time.Second, 1)
		after(time.Hour, 1)
		q.touch()
		after(2*time.Second, 2)
		during.Store(q)
		q.touch()
		after(2*time.Second, 3)
		after(2*time.Second, 4)
		q.stop()
		q.touch()
		after(time.Hour, 4)
	})
}
