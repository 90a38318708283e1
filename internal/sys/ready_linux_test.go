//go:build !hostsup_posix

package sys

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bell is a Waiter that counts.
type bell struct {
	rings atomic.Int32
	rung  chan struct{}
}

func newBell() *bell { return &bell{rung: make(chan struct{}, 100)} }

func (b *bell) Ready() {
	b.rings.Add(1)
	b.rung <- struct{}{}
}

func (b *bell) wait(t *testing.T) {
	t.Helper()
	select {
	case <-b.rung:
	case <-time.After(time.Minute):
		t.Fatal("Ready was not called")
	}
}

// rawPipe is a pipe outside of the runtime's poller.
func rawPipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

func TestWatch(t *testing.T) {
	r, w := rawPipe(t)
	defer unix.Close(r)
	b := newBell()
	watch, err := NewWatch(r, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewWatch(r, b); err != unix.EEXIST {
		t.Errorf("a second watch of the same descriptor: %v", err)
	}
	for range 3 {
		if _, err := unix.Write(w, []byte("x")); err != nil {
			t.Fatal(err)
		}
		b.wait(t)
		if _, err := unix.Write(w, []byte("y")); err != nil { // not armed: no call
			t.Fatal(err)
		}
		var buf [8]byte
		if n, _ := unix.Read(r, buf[:]); n != 2 {
			t.Fatalf("%d bytes", n)
		}
		if err := watch.Arm(); err != nil {
			t.Fatal(err)
		}
	}
	// Input, or the end of the stream, is there before the watch is armed.
	if _, err := unix.Write(w, []byte("x")); err != nil {
		t.Fatal(err)
	}
	b.wait(t)
	if err := watch.Arm(); err != nil {
		t.Fatal(err)
	}
	b.wait(t)
	unix.Close(w)
	if err := watch.Arm(); err != nil {
		t.Fatal(err)
	}
	b.wait(t)
	watch.Close()
	watch.Close()
	if n := b.rings.Load(); n != 6 {
		t.Errorf("Ready was called %d times, want 6", n)
	}
}

// One goroutine serves all watches, and ends with the last of them.
func TestWatchGoroutine(t *testing.T) {
	const many = 300
	var watches []Watch
	var writers []int
	bells := make([]*bell, many)
	for i := range bells {
		r, w := rawPipe(t)
		defer unix.Close(r)
		writers = append(writers, w)
		bells[i] = newBell()
		watch, err := NewWatch(r, bells[i])
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, watch)
	}
	if n := pollers(); n != 1 {
		t.Errorf("%d goroutines for %d watches", n, many)
	}
	for _, w := range writers {
		unix.Close(w)
	}
	for i, b := range bells {
		b.wait(t)
		watches[i].Close()
	}
	for end := time.Now().Add(20 * time.Second); pollers() > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the goroutine outlives its watches")
		}
	}
}

func pollers() int {
	buf := make([]byte, 1<<20)
	return bytes.Count(buf[:runtime.Stack(buf, true)], []byte("sys.(*poller).run("))
}

// A reused descriptor number must get no calls that were meant for its former owner,
// while watches come and go on many goroutines.
func TestWatchChurn(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				r, w := rawPipe(t)
				b := newBell()
				watch, err := NewWatch(r, b)
				if err != nil {
					t.Error(err)
					return
				}
				if len(b.rung) > 0 {
					t.Error("called before there was anything to read")
				}
				_, _ = unix.Write(w, []byte("x"))
				unix.Close(w)
				b.wait(t)
				watch.Close()
				unix.Close(r)
				if n := b.rings.Load(); n != 1 {
					t.Errorf("called %d times, armed once", n)
				}
			}
		})
	}
	wg.Wait()
}

// The last watch ends while it is told, and takes the poller with it.
func TestLastWatchEndsWhileItIsTold(t *testing.T) {
	for range 2000 {
		r, w := rawPipe(t)
		watch, err := NewWatch(r, make(Told, 1))
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan struct{})
		go func() {
			defer close(told)
			unix.Close(w)
		}()
		runtime.Gosched()
		watch.Close()
		<-told
		unix.Close(r)
	}
}

func TestWatchErrors(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := NewWatch(int(f.Fd()), newBell()); err != unix.EPERM {
		t.Errorf("watch of a file: %v", err)
	}
	if _, err := NewWatch(-1, newBell()); err != unix.EBADF {
		t.Errorf("watch of nothing: %v", err)
	}
	Watch{}.Close()
}
