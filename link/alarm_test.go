package link

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAlarmGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Alarm
		var mu sync.Mutex
		var fired []uint64
		ring := func(gen uint64) {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, gen)
		}
		a.Set(System{}, time.Second, ring)
		first := a.gen
		a.Set(System{}, 2*time.Second, ring) // takes the place of the first
		second := a.gen
		time.Sleep(3 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		if len(fired) != 1 || fired[0] != second || first == second {
			t.Errorf("fired %v, generations %d and %d", fired, first, second)
		}
		a.Set(System{}, time.Second, ring)
		a.Cancel()
		a.Cancel()
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		if len(fired) != 1 {
			t.Errorf("a cancelled alarm rang: %v", fired)
		}
		// One that was on its way when it was cancelled is told by its number.
		a.Set(System{}, time.Second, ring)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		a.Cancel()
		if last := fired[len(fired)-1]; a.Counts(last) {
			t.Errorf("alarm %d still counts", last)
		}
	})
}
