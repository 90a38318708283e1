package link

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlinesRunOutInTheirOrder holds the shared list to what one timer for
// each request would do.
func TestDeadlinesRunOutInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := NewDeadlines(System{}, time.Minute)
		start := time.Now()
		make := func(d time.Duration) *call {
			q := new(call)
			q.Init(q, list, "echo", nil)
			q.Timeout = d
			q.Arm()
			return q
		}
		var qs []*call
		for range 5 {
			qs = append(qs, make(time.Minute))
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
		}
		own := make(3 * time.Second) // not the host's own time-out
		qs[0].Settle(nil, nil)
		qs[3].Settle(nil, nil)
		<-own.Done()
		if d := time.Since(start); d != 8*time.Second || !errors.As(own.err, new(*TimeoutError)) {
			t.Errorf("own time-out after %s: %v", d, own.err)
		}
		for i, q := range qs {
			<-q.Done()
			answered := i == 0 || i == 3
			if answered != (q.err == nil) {
				t.Errorf("request %d: %v", i, q.err)
			}
			if want := time.Minute + time.Duration(i)*time.Second; !answered && time.Since(start) != want {
				t.Errorf("request %d ran out after %s, want %s", i, time.Since(start), want)
			}
		}
		late := make(time.Minute) // the list was empty in between
		<-late.done
		if list.head != nil || list.tail != nil {
			t.Error("the list is not empty at the end")
		}
	})
}
