package meter_test

import (
	"testing"
	"time"

	"github.com/hostsup/hostsup/intercept/meter"
)

func TestBoundsAscend(t *testing.T) {
	b := meter.Bounds()
	for i := 1; i < len(b); i++ {
		if b[i] <= b[i-1] {
			t.Errorf("%v comes after %v", b[i], b[i-1])
		}
	}
	if len(meter.Histogram{}.Buckets) != len(b)+1 {
		t.Errorf("%d buckets for %d bounds", len(meter.Histogram{}.Buckets), len(b))
	}
	b[0] = time.Hour
	if meter.Bounds()[0] == time.Hour {
		t.Error("a caller can change the bounds")
	}
}

func TestQuantile(t *testing.T) {
	index := func(bound time.Duration) int {
		for i, b := range meter.Bounds() {
			if b == bound {
				return i
			}
		}
		t.Fatal(bound)
		return 0
	}
	of := func(counts map[time.Duration]uint64) (h meter.Histogram) {
		for bound, n := range counts {
			i := len(h.Buckets) - 1
			if bound > 0 { // 0: beyond all
				i = index(bound)
			}
			h.Buckets[i] += n
			h.Count += n
		}
		return h
	}
	for _, c := range []struct {
		name   string
		counts map[time.Duration]uint64
		q      float64
		want   time.Duration
	}{
		{"half of the first bucket", map[time.Duration]uint64{50 * time.Microsecond: 10}, 0.5, 25 * time.Microsecond},
		{"the end of a bucket", map[time.Duration]uint64{time.Second: 10}, 1, time.Second},
		{"the start of a bucket", map[time.Duration]uint64{time.Second: 10}, 0, 500 * time.Millisecond},
		{"in the second of two", map[time.Duration]uint64{time.Millisecond: 90, time.Second: 10}, 0.95, 750 * time.Millisecond},
		{"the edge of two", map[time.Duration]uint64{time.Millisecond: 90, time.Second: 10}, 0.9, time.Millisecond},
		{"beyond all bounds", map[time.Duration]uint64{time.Millisecond: 1, 0: 9}, 0.5, time.Minute},
		{"more than all", map[time.Duration]uint64{time.Millisecond: 1}, 7, time.Millisecond},
	} {
		if got, ok := of(c.counts).Quantile(c.q); !ok || got != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, got, ok, c.want)
		}
	}
	if _, ok := (meter.Histogram{}).Quantile(0.5); ok {
		t.Error("a quantile of no answers")
	}
}
