package procnet

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheMainThreadIsLeftAlone changes the network of no thread that stays.
func TestTheMainThreadIsLeftAlone(t *testing.T) {
	threads := make(chan int)
	seen := map[int]bool{}
	for range 1000 {
		go onThread(func() { threads <- unix.Gettid() })
		tid := <-threads
		if tid == os.Getpid() {
			t.Fatal("it runs on the main thread")
		}
		seen[tid] = true
	}
	if len(seen) < 500 {
		t.Errorf("1000 goroutines have run on %d threads, which did not end with them", len(seen))
	}
}
