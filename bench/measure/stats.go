package measure

import (
	"math"
	"slices"
)

// Quantile returns the value below which the share q (0 … 1) of xs lies, by
// the nearest rank. It sorts xs. NaN when xs is empty.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	rank := int(math.Ceil(q*float64(len(xs)))) - 1
	return xs[min(max(rank, 0), len(xs)-1)]
}

// Median returns the middle of xs, which it leaves as it is; the mean of the
// two middle ones when their number is even. NaN when xs is empty.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Ratio returns the median over the rounds of a's figure divided by b's of the
// same round. Rounds that either lacks are left out. NaN when none is left.
func Ratio(a, b []float64) float64 {
	var rs []float64
	for i := range min(len(a), len(b)) {
		if r := a[i] / b[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			rs = append(rs, r)
		}
	}
	return Median(rs)
}
