package files

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	before := openFiles()
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	// The poller's own descriptors appear with the first watch.
	if after := openFiles(); after > before+3 {
		fmt.Fprintf(os.Stderr, "%d files open before the tests, %d after\n", before, after)
		code = 1
	}
	os.Exit(code)
}

func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// soon gets a value from c, or fails the test.
func soon[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case v := <-c:
		return v
	case <-timer.C:
		t.Fatalf("%s: not within 30 s", what)
		panic("unreachable")
	}
}
