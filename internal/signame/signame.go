// Package signame maps names of signals to numbers and back. It does not touch the
// system, so that pure packages can name the signal that killed a process.
package signame

import (
	"slices"
	"strconv"
	"strings"
)

// Of returns the name of a signal on this system, "SIGKILL" for 9, or "signal 70" for
// a number without a name.
func Of(n int) string {
	if n > 0 && n < len(names) {
		return names[n]
	}
	return "signal " + strconv.Itoa(n)
}

// Number returns the number of the signal called "SIGTERM", "TERM" or "term", or 0 if
// there is no such signal.
func Number(name string) int {
	s := strings.ToUpper(name)
	if !strings.HasPrefix(s, "SIG") {
		s = "SIG" + s
	}
	return max(0, slices.Index(names[:], s))
}
