package measure

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		q    float64
		want float64
	}{
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 3, 2, 1}, 0.5, 2},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.99, 10},
		{[]float64{7}, 0, 7},
		{[]float64{7}, 1, 7},
	} {
		if got := Quantile(c.xs, c.q); got != c.want {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.xs, c.q, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile of nothing = %v, want NaN", got)
	}
}

func TestMedianKeepsItsArgument(t *testing.T) {
	xs := []float64{9, 1, 5, 3}
	if got := Median(xs); got != 4 {
		t.Errorf("Median = %v, want 4", got)
	}
	if xs[0] != 9 || xs[3] != 3 {
		t.Errorf("Median sorted its argument: %v", xs)
	}
}

func TestRatioIsTakenWithinRounds(t *testing.T) {
	// The second round was twice as slow for both; the third has no peer.
	a := []float64{10, 20, 100}
	b := []float64{5, 10, math.NaN()}
	if got := Ratio(a, b); got != 2 {
		t.Errorf("Ratio = %v, want 2", got)
	}
	if got := Ratio(nil, b); !math.IsNaN(got) {
		t.Errorf("Ratio without rounds = %v, want NaN", got)
	}
}
