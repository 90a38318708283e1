//go:build unix

package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// Rest follows each time in which something happened, once, and not before it is over.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rested := 0
		q := newQuiet(time.Second, func() { rested++ })
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d) //nolint:forbidigo // in a bubble, whose clock moves by itself
			synctest.Wait()
			if rested != want {
				t.Fatalf("it has rested %d times, want %d", rested, want)
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
		q.rest = func() { rested++; q.touch() } // something happens during the rest
		q.touch()
		after(2*time.Second, 3)
		after(2*time.Second, 4)
		q.stop()
		q.touch()
		after(time.Hour, 4)
	})
}
