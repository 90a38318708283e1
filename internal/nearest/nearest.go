// Package nearest finds the name that a user probably meant.
package nearest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// longest bounds the bytes of a name that is compared: comparing takes quadratic
// time, and users do not type more.
const longest = 128

// Name returns the candidate that given was probably meant to be, or "" if no
// candidate is near enough. It ignores letter case, and counts two swapped letters
// as one mistake. Short words must be nearer than long ones, because every word is
// two letters away from "fd". Of equally near candidates Name returns the first.
func Name(given string, candidates []string) string {
	if len(given) > longest {
		return ""
	}
	lower := strings.ToLower(given)
	best, least := "", max(min(2, len(given)/2), len(given)/4)+1
	for _, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); d < least {
			best, least = c, d
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

// Question returns `did you mean "x"?` for the name that [Name] finds, else "".
func Question(given string, candidates []string) string {
	if name := Name(given, candidates); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}

// distance returns the number of mistakes between two words.
func distance(a, b string) int {
	d := levenshtein.Distance(a, b, nil)
	if d == 2 && sameLetters(a, b) {
		return 1 // two letters were swapped
	}
	return d
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
