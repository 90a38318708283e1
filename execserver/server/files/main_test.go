package files

import (
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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
