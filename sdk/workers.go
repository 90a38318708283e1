package sdk

import (
	"sync"

	"github.com/hostsup/hostsup/link"
)

// maxIdle is how many goroutines are kept for later requests.
const maxIdle = 64

// workers is the [link.Env] of a host. A goroutine that has ended its work is kept for
// the next, as it has its stack already: with 64 requests in flight an echo takes half
// of the processor time (BenchmarkEcho).
type workers struct {
	link.System
	all     sync.WaitGroup
	mu      sync.Mutex
	idle    []chan func()
	retired bool // none is kept any more
}

// Go implements [link.Env]. It takes the goroutine that became idle last.
func (w *workers) Go(f func()) {
	w.mu.Lock()
	n := len(w.idle)
	if n == 0 {
		w.mu.Unlock()
		w.all.Go(func() { w.work(f) })
		return
	}
	worker := w.idle[n-1]
	w.idle = w.idle[:n-1]
	w.mu.Unlock()
	worker <- f
}

func (w *workers) work(f func()) {
	mine := make(chan func(), 1)
	for f != nil {
		f()
		w.mu.Lock()
		if w.retired || len(w.idle) >= maxIdle {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, mine)
		w.mu.Unlock()
		f = <-mine // nil at the end
	}
}

// retire ends the idle goroutines, and from now on those that become idle.
func (w *workers) retire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retired = true
	for _, worker := range w.idle {
		close(worker)
	}
	w.idle = nil
}
