// Package poll waits in tests for conditions that no event announces, such as the
// end of a process that is not a child. Where there is an event, a test must wait
// for the event.
package poll

import "time"

// Within calls ok until it returns true or limit has passed, and reports which.
// It calls ok at once, soon again, and then less and less often, because some
// conditions read all of /proc.
func Within(limit time.Duration, ok func() bool) bool {
	end := time.Now().Add(limit)
	for pause := 100 * time.Microsecond; !ok(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		<-time.After(pause)
	}
	return true
}

// TB is the part of testing.TB that Until uses. Programs that import this
// package do not link package testing.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until fails the test unless ok returns true within limit.
func Until(t TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(limit, ok) {
		t.Fatalf("%s: not within %s", what, limit)
	}
}
