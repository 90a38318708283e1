package capture

import (
	"os"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// pipe returns both ends; the caller closes the write end.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return r, w
}

// wait fails the test when c is not closed soon.
func wait(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
		t.Fatalf("%s: not within 30 s", what)
	}
}

// until polls a condition with a deadline.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	poll.Until(t, 30*time.Second, what, ok)
}

func texts(lines []Line) []string {
	out := make([]string, len(lines))
	for i, ln := range lines {
		out[i] = ln.Text
	}
	return out
}

// say adds lines as a host would, without a pipe.
func say(l *Log, life uint64, text string) {
	l.take([]byte(text), 0, true, Stdout, life)
}
