package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// nearest returns the candidate that given was probably meant to be, or "".
// Short words must be nearer than long ones: everything is two letters away
// from "fd".
func nearest(given string, candidates []string) string {
	limit := min(2, len(given)/2)
	best, at := "", limit+1
	for _, c := range candidates {
		if strings.EqualFold(given, c) {
			return c
		}
		d := levenshtein.Distance(given, c, nil)
		if d == 2 && sameLetters(given, c) {
			d = 1 // two letters were swapped
		}
		if d < at {
			best, at = c, d
		}
	}
	if best != "" || len(given) < 3 {
		return best
	}
	for _, c := range candidates { // "warning" for "warn"
		if len(c) >= 3 && (strings.HasPrefix(given, c) || strings.HasPrefix(c, given)) {
			return c
		}
	}
	return ""
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// didYouMean returns ` Did you mean "x"?`, or "" when nothing is near.
func didYouMean(given string, candidates []string) string {
	if s := nearest(given, candidates); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}

// quoted lists names for a sentence: `"a", "b" and "c"`, with word before the
// last one.
func quoted(names []string, word string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	if len(q) < 2 {
		return strings.Join(q, "")
	}
	return strings.Join(q[:len(q)-1], ", ") + " " + word + " " + q[len(q)-1]
}

// some lists what there is, cut after a few names.
func some(names []string) string {
	const most = 8
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) <= most {
		return quoted(names, "and")
	}
	return fmt.Sprintf("%s and %d more", strings.TrimSuffix(quoted(names[:most], ","), ","), len(names)-most)
}
