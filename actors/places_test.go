package actors

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func TestPlacesAreGivenInOrder(t *testing.T) {
	var p places
	var got []int
	tickets := map[int]*ticket{}
	take := func(n int, waits bool) {
		t.Helper()
		tk, waiting := p.take(2, func() { got = append(got, n) })
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
			t.Fatalf("places went to %v, want %v", got, want)
		}
	}
	take(1, false)
	take(2, false)
	take(3, true)
	take(4, true)
	take(5, true)
	has(1, 2)
	tickets[4].give() // gives up waiting
	has(1, 2)
	tickets[2].give()
	has(1, 2, 3)
	tickets[2].give() // twice is once
	tickets[4].give()
	has(1, 2, 3)
	tickets[1].give()
	has(1, 2, 3, 5)
	tickets[3].give()
	tickets[5].give()
	take(6, false)
	take(7, false)
	take(8, true)
	has(1, 2, 3, 5, 6, 7)
	(*ticket)(nil).give()
}

// Whatever comes in whatever order: never more than the limit at once, and in
// the end everybody who has not left has had a place.
func TestPlacesUnderLoad(t *testing.T) {
	const limit, workers, rounds = 3, 16, 300
	var (
		p       places
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
				tk, waits := p.take(limit, func() { close(granted) })
				if !waits {
					close(granted)
				}
				if rnd.IntN(3) == 0 {
					tk.give() // it may have a place already, or get one this moment
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
				tk.give()
			}
		})
	}
	work.Wait()
	if most > limit {
		t.Errorf("%d had a place at once, the limit is %d", most, limit)
	}
	if p.taken != 0 || len(p.queue) != 0 {
		t.Errorf("%d places are taken, %d wait", p.taken, len(p.queue))
	}
}
