//go:build (amd64 || arm64) && !cgo

package sys

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that took itself for the only thread would release memory that another one
// uses, so no thread is missed, also while others end.
func TestThreadsAreCounted(t *testing.T) {
	fd, err := unix.Open("/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s := &shedding{tasks: uintptr(fd)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const ends = 32
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * ends)) // a thread that ends does not wait for this one
	var all sync.WaitGroup
	defer all.Wait()
	var pipes [ends][2]int
	for i := range ends {
		if err := unix.Pipe2(pipes[i][:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pipes[i][0])
		begun := make(chan struct{})
		all.Go(func() {
			runtime.LockOSThread() // and not unlocked, so that the thread ends with this function
			close(begun)
			var b [1]byte
			_, _ = unix.Read(pipes[i][0], b[:])
		})
		<-begun
	}
	for i := range ends {
		unix.Close(pipes[i][1])
		for range 50 {
			if n, left := s.threads(), ends-i; n < left { // those that wait, and this one
				t.Errorf("%d threads, of which %d have not ended", n, left)
			}
		}
	}
}
