package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/internal/nearest"
)

// didYouMean returns ` Did you mean "x"?`, or "" if no candidate is near.
func didYouMean(given string, candidates []string) string {
	if s := nearest.Question(given, candidates); s != "" {
		return " " + upperFirst(s)
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

// some lists names, cut after a few.
func some(names []string) string {
	const most = 8
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) <= most {
		return quoted(names, "and")
	}
	return fmt.Sprintf("%s and %d more", strings.TrimSuffix(quoted(names[:most], ","), ","), len(names)-most)
}
