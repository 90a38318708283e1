package meter

import (
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets, inclusive. The last bucket has none.
var bounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, 60 * time.Second,
}

// Bounds returns the upper bounds of the buckets of a [Histogram], inclusive and
// ascending. They are the same for all hosts.
func Bounds() []time.Duration { return append([]time.Duration(nil), bounds[:]...) }

// Histogram counts answers by how long they took. The counts of one that a meter returns
// only grow; Sub makes the histogram of the time between two of them.
type Histogram struct {
	// Buckets has the answers that took at most the bound of this index, see [Bounds], and
	// longer than the one before. The last has those that took longer than all bounds.
	Buckets [len(bounds) + 1]uint64
	Count   uint64        // all answers: the sum of Buckets
	Sum     time.Duration // the time that all answers took together
}

// Sub returns what h has more than before, which must be an earlier histogram of the
// same host.
func (h Histogram) Sub(before Histogram) Histogram {
	for i := range h.Buckets {
		h.Buckets[i] -= before.Buckets[i]
	}
	h.Count -= before.Count
	h.Sum -= before.Sum
	return h
}

// Quantile returns the time that the share q of the answers, from 0 to 1, took at most:
// Quantile(0.99) is the p99. Within a bucket it takes the times as evenly spread, as
// histogram_quantile of Prometheus does; for answers beyond all bounds it returns the
// last bound. ok is false if there are no answers.
func (h Histogram) Quantile(q float64) (took time.Duration, ok bool) {
	if h.Count == 0 {
		return 0, false
	}
	rank := max(0, min(q, 1)) * float64(h.Count)
	var below uint64
	var lower time.Duration
	for i, n := range h.Buckets[:len(bounds)] {
		if n > 0 && float64(below+n) >= rank {
			share := (rank - float64(below)) / float64(n)
			return lower + time.Duration(share*float64(bounds[i]-lower)), true
		}
		below += n
		lower = bounds[i]
	}
	return lower, true
}

// counts are those of a Histogram while they grow.
type counts struct {
	buckets [len(bounds) + 1]atomic.Uint64
	sum     atomic.Int64 // ns
}

func (c *counts) add(took time.Duration) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	c.buckets[i].Add(1)
	c.sum.Add(int64(took))
}

func (c *counts) read() (h Histogram) {
	for i := range c.buckets {
		h.Buckets[i] = c.buckets[i].Load()
		h.Count += h.Buckets[i]
	}
	h.Sum = time.Duration(c.sum.Load())
	return h
}
