package faults

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long one supervisor has one fault after another; the slopes are held from an hour on")

// sample is what the supervisor took at a time.
type sample struct {
	at time.Duration
	usage
}

// TestSoak has one fault after another, none of which ends the supervisor, and prints how its
// memory and its descriptors grow after the first sixth of the time.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says how long; make soak")
	}
	const (
		memory      = 1 << 20 // bytes an hour
		descriptors = 4       // an hour: how many are open at a time varies with the connections
	)
	w := newWorld(t, 20*time.Millisecond)
	r := rand.New(rand.NewPCG(*seed, 2))
	var lasting []fault
	for _, f := range all {
		if !f.ends {
			lasting = append(lasting, f)
		}
	}
	began := time.Now()
	var taken []sample
	for time.Since(began) < *soak {
		w.try(t, r, lasting[r.IntN(len(lasting))])
		time.Sleep(time.Second) //nolint:forbidigo // faults are a second apart
		if at := time.Since(began); at > *soak/6 {
			taken = append(taken, sample{at, w.usage()})
		}
	}
	w.given()
	bytes := slope(taken, func(u usage) float64 { return float64(u.memory) })
	open := slope(taken, func(u usage) float64 { return float64(u.descriptors) })
	t.Logf("%d faults in %s, %d calls answered, %d failed; from %s on memory grew by %.2f MiB an hour, and %.2f descriptors",
		len(taken), *soak, w.clients.answered.Load(), w.clients.failed.Load(), *soak/6, bytes/(1<<20), open)
	if *soak >= time.Hour && (bytes > memory || open > descriptors) {
		t.Errorf("expected at most %d bytes and %d descriptors an hour", memory, descriptors)
	}
}

// slope is how much a figure grows in an hour, by least squares.
func slope(taken []sample, of func(usage) float64) float64 {
	var x, y, xx, xy float64
	for _, s := range taken {
		h, v := s.at.Hours(), of(s.usage)
		x, y, xx, xy = x+h, y+v, xx+h*h, xy+h*v
	}
	n := float64(len(taken))
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}
