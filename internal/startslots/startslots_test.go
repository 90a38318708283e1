package startslots

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func TestSlotsAreGivenInOrder(t *testing.T) {
	var p Limiter
	var got []int
	tickets := map[int]*Slot{}
	take := func(n int, waits bool) {
		t.Helper()
		tk, waiting := p.Take(2, func() { got = append(got, n) })
		if tickets[n] = tk; waiting != waits {
			t.Errorf("number %d waits: %v", n, waiting)
		}
		if !waiting {
			got = append(got, n)
		}
	}
	has := func(want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("slots went to %v, want %v", got, want)
		}
	}
	take(1, false)
	take(2, false)
	take(3, true)
	take(4, true)
	take(5, true)
	has(1, 2)
	tickets[4].Give() // gives up waiting
	has(1, 2)
	tickets[2].Give()
	has(1, 2, 3)
	tickets[2].Give() // twice is once
	tickets[4].Give()
	has(1, 2, 3)
	tickets[1].Give()
	has(1, 2, 3, 5)
	tickets[3].Give()
	tickets[5].Give()
	take(6, false)
	take(7, false)
	take(8, true)
	has(1, 2, 3, 5, 6, 7)
	(*Slot)(nil).Give()
}

// Whatever comes in whatever order: never more than the limit at once, and in
// the end everybody who has not left has had a slot.
func TestSlotsUnderLoad(t *testing.T) {
	const limit, workers, rounds = 3, 16, 300
	var (
		p       Limiter
		mu      sync.Mutex
		holding int
		most    int
		work    sync.WaitGroup
	)
	for w := range workers {
		work.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				granted := make(chan struct{})
				tk, waits := p.Take(limit, func() { close(granted) })
				if !waits {
					close(granted)
				}
				if rnd.IntN(3) == 0 {
					tk.Give() // it may have a slot already, or get one this moment
					continue
				}
				<-granted
				mu.Lock()
				holding++
				most = max(most, holding)
				mu.Unlock()
				mu.Lock()
				holding--
				mu.Unlock()
				tk.Give()
			}
		})
	}
	work.Wait()
	if most > limit {
		t.Errorf("%d had a slot at once, the limit is %d", most, limit)
	}
	if p.taken != 0 || len(p.queue) != 0 {
		t.Errorf("%d slots are taken, %d wait", p.taken, len(p.queue))
	}
}
