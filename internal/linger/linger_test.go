package linger

import (
	"testing"
	"testing/synctest"
	"time"
)

// story plays a peer that answers after each of the waits in turn. It returns
// how many of the waits began with a look, and how much time the looks took.
func story(t *testing.T, s *State, waits ...time.Duration) (looked int, looking time.Duration) {
	for i, w := range waits {
		began := time.Now()
		did := false
		n, err := s.Read(
			func() (int, bool) {
				did = true
				if time.Since(began) >= w {
					return i + 1, true
				}
				time.Sleep(5 * time.Microsecond) //nolint:forbidigo // in a bubble
				return 0, false
			},
			func() (int, error) {
				looking += time.Since(began)
				time.Sleep(max(0, w-time.Since(began))) //nolint:forbidigo // in a bubble
				return i + 1, nil
			})
		if n != i+1 || err != nil {
			t.Fatalf("wait %d: %d, %v", i, n, err)
		}
		if did {
			looked++
		}
	}
	return looked, looking
}

func waits(n int, w time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = w
	}
	return out
}

func twoProcessors(t *testing.T) {
	was := alone
	alone = false
	t.Cleanup(func() { alone = was })
}

func TestQuickPeerIsAlwaysLookedFor(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		if n, _ := story(t, new(State), waits(1000, 20*time.Microsecond)...); n != 1000 {
			t.Errorf("looked %d times of 1000", n)
		}
	})
}

func TestSlowPeerCostsNextToNothing(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		n, took := story(t, new(State), waits(10_000, time.Millisecond)...)
		if share := float64(took) / float64(10*time.Second); n < 10_000/mostVain || share > 0.005 {
			t.Errorf("looked %d times, %v of 10s", n, took)
		}
	})
}

// A wait that looking shortens, but that is not quick all the same, is no reason
// to look for ever.
func TestPeerThatIsNeverQuick(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		n, _ := story(t, new(State), waits(10_000, 100*time.Microsecond)...)
		if n < mostSlow || n > 10_000/8 {
			t.Errorf("looked %d times of 10000", n)
		}
	})
}

func TestPeerThatBecomesQuickIsNoticed(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []time.Duration{100 * time.Microsecond, time.Second} {
			var s State
			story(t, &s, waits(5000, before)...)
			if n, _ := story(t, &s, waits(5000, 10*time.Microsecond)...); n < 5000-afterSlow {
				t.Errorf("after waits of %v it looked %d times of 5000", before, n)
			}
			story(t, &s, time.Second) // one slow answer between
			if n, _ := story(t, &s, waits(100, 10*time.Microsecond)...); n != 99 {
				t.Errorf("after one slow answer it looked %d times of 100", n)
			}
		}
	})
}

func TestOneProcessorNeverLooks(t *testing.T) {
	was := alone
	alone = true
	defer func() { alone = was }()
	synctest.Test(t, func(t *testing.T) {
		if n, _ := story(t, new(State), waits(100, time.Microsecond)...); n != 0 {
			t.Errorf("looked %d times", n)
		}
	})
}

// The clock of a synctest bubble stands still while its goroutines run.
func TestClockThatStandsStill(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		n, err := new(State).Read(func() (int, bool) { looks++; return 0, false }, func() (int, error) { return 7, nil })
		if n != 7 || err != nil || looks != mostLooks {
			t.Errorf("%d, %v after %d looks", n, err, looks)
		}
	})
}
