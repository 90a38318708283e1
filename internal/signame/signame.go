// Package signame has the names and numbers of signals. It asks no system, so that
// rules that are pure can say by which signal a process was killed.
package signame

import (
	"slices"
	"strconv"
	"strings"
)

// Of returns the name of a signal on this system, "SIGKILL" for 9. A number
// without a name gives "signal 70".
func Of(n int) string {
	if n > 0 && n < len(names) {
		return names[n]
	}
	return "signal " + strconv.Itoa(n)
}

// Number returns the number of the signal called "SIGTERM", "TERM" or "term". It
// returns 0 when there is none.
func Number(name string) int {
	s := strings.ToUpper(name)
	if !strings.HasPrefix(s, "SIG") {
		s = "SIG" + s
	}
	return max(0, slices.Index(names[:], s))
}
