package actors

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// TestDeadlinesRunOutInTheirOrder holds the shared list to what one timer for
// each request would do.
func TestDeadlinesRunOutInTheirOrder(t *testing.T) {
	w := &World{System: NewSystem(hclog.NewNullLogger()), Log: hclog.NewNullLogger(), Journal: NewJournal()}
	synctest.Test(t, func(t *testing.T) {
		ref := &Ref{world: w, spec: HostSpec{Name: "h"}}
		ref.deadlines.after = time.Minute
		ref.inbox.ended = true // nobody is there to be told of expired calls
		start := time.Now()
		make := func(d time.Duration) *Request {
			q := newRequest(ref, "echo", nil)
			q.deadline = d
			q.arm()
			return q
		}
		var qs []*Request
		for range 5 {
			qs = append(qs, make(time.Minute))
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
		}
		own := make(3 * time.Second) // not the host's own time-out
		qs[0].settle(nil, nil)
		qs[3].settle(nil, nil)
		<-own.done
		if d := time.Since(start); d != 8*time.Second || !errors.Is(own.err, ErrTimeout) {
			t.Errorf("own time-out after %s: %v", d, own.err)
		}
		for i, q := range qs {
			<-q.done
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
		if ref.deadlines.head != nil || ref.deadlines.tail != nil {
			t.Error("the list is not empty at the end")
		}
	})
}
