package simulation

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// dice is what one part of a simulation decides by. Each part has dice of its own, by a name: what it
// draws does not depend on what others draw, and so not on which of the goroutines of one step Go's
// scheduler lets go first.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// dice returns those of a part. The same name gets dice that fall alike.
func (k *kernel) dice(format string, args ...any) *dice {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, format, args...) // never fails
	return &dice{rng: rand.New(rand.NewPCG(k.seed, h.Sum64()))}
}

// chance reports true in a share p of the calls.
func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Float64() < p
}

// number returns one of 0 to n-1.
func (d *dice) number(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// within returns a duration of up to most.
func (d *dice) within(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rng.Int64N(int64(most) + 1))
}
