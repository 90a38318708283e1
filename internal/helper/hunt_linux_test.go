//go:build !hostsup_posix

package helper

import (
	"testing"
	"time"
)

// A hunt for processes that do not end, because they are frozen, is no busy loop.
func TestHuntWaitsForWhatDoesNotEnd(t *testing.T) {
	frozen, more := quarry{7: -1, 8: -1}, quarry{8: -1, 9: -1}
	before, delay := quarry{}, time.Duration(0)
	var got []time.Duration
	for _, q := range []quarry{frozen, frozen, frozen, more, more, {}, {}, {}, {}, {}, {}, {}, {}} {
		delay = q.pause(before, delay)
		before = q
		got = append(got, delay)
	}
	const us, ms = time.Microsecond, time.Millisecond
	want := []time.Duration{100 * us, 200 * us, 400 * us, 100 * us, 200 * us, 400 * us, 800 * us, 1600 * us, 3200 * us, 6400 * us, 10 * ms, 10 * ms, 10 * ms}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("round %d: %s, want %s", i, got[i], want[i])
		}
	}
}
