package busypoll

import (
	"testing"
	"testing/synctest"
	"time"
)

// play runs reads of a peer that answers after each of the waits in turn. It
// returns how many of the reads polled, and how much time the polling took.
func play(t *testing.T, s *State, waits ...time.Duration) (polled int, polling time.Duration) {
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
				polling += time.Since(began)
				time.Sleep(max(0, w-time.Since(began))) //nolint:forbidigo // in a bubble
				return i + 1, nil
			})
		if n != i+1 || err != nil {
			t.Fatalf("wait %d: %d, %v", i, n, err)
		}
		if did {
			polled++
		}
	}
	return polled, polling
}

func waits(n int, w time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = w
	}
	return out
}

func twoProcessors(t *testing.T) {
	was := oneProcessor
	oneProcessor = false
	t.Cleanup(func() { oneProcessor = was })
}

func TestQuickPeerIsAlwaysPolled(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		if n, _ := play(t, new(State), waits(1000, 20*time.Microsecond)...); n != 1000 {
			t.Errorf("polled %d times of 1000", n)
		}
	})
}

func TestSlowPeerCostsAlmostNothing(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		n, took := play(t, new(State), waits(10_000, time.Millisecond)...)
		if share := float64(took) / float64(10*time.Second); n < 10_000/maxSkip || share > 0.005 {
			t.Errorf("polled %d times, %v of 10s", n, took)
		}
	})
}

// Polling must not go on for a peer whose answers it shortens without making them
// quick.
func TestPeerThatIsNeverQuickIsPolledRarely(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		n, _ := play(t, new(State), waits(10_000, 100*time.Microsecond)...)
		if n < maxSlow || n > 10_000/8 {
			t.Errorf("polled %d times of 10000", n)
		}
	})
}

func TestPeerThatBecomesQuickIsPolledAgain(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []time.Duration{100 * time.Microsecond, time.Second} {
			var s State
			play(t, &s, waits(5000, before)...)
			if n, _ := play(t, &s, waits(5000, 10*time.Microsecond)...); n < 5000-skipAfterSlow {
				t.Errorf("after waits of %v it polled %d times of 5000", before, n)
			}
			play(t, &s, time.Second) // one slow answer between
			if n, _ := play(t, &s, waits(100, 10*time.Microsecond)...); n != 99 {
				t.Errorf("after one slow answer it polled %d times of 100", n)
			}
		}
	})
}

func TestOneProcessorNeverPolls(t *testing.T) {
	was := oneProcessor
	oneProcessor = true
	defer func() { oneProcessor = was }()
	synctest.Test(t, func(t *testing.T) {
		if n, _ := play(t, new(State), waits(100, time.Microsecond)...); n != 0 {
			t.Errorf("polled %d times", n)
		}
	})
}

// The clock of a synctest bubble stands still while its goroutines run.
func TestPollsAreBoundedWhenTheClockStandsStill(t *testing.T) {
	twoProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		n, err := new(State).Read(func() (int, bool) { polls++; return 0, false }, func() (int, error) { return 7, nil })
		if n != 7 || err != nil || polls != maxPolls {
			t.Errorf("%d, %v after %d polls", n, err, polls)
		}
	})
}
