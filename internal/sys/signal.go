package sys

import (
	"strconv"
	"strings"
)

// SignalName is the name of a signal on this system, "SIGKILL" for 9. A
// number without a name is "signal 70".
func SignalName(n int) string {
	if s := nameOf(n); s != "" {
		return s
	}
	return "signal " + strconv.Itoa(n)
}

// SignalNumber is the number of the signal called "SIGTERM", "TERM" or
// "term"; 0 when there is none.
func SignalNumber(name string) int {
	s := strings.ToUpper(name)
	if !strings.HasPrefix(s, "SIG") {
		s = "SIG" + s
	}
	return numberOf(s)
}
