//go:build !hostsup_posix

package sandbox

import (
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// watch signals and reaps a process through its pidfd, which it owns.
type watch struct {
	pid int

	mu sync.RWMutex
	fd int // the pidfd; -1 after close
}

func newWatch(pid, pidfd int) *watch { return &watch{pid: pid, fd: pidfd} }

// look reports whether the process has ended. Without reap the process stays a zombie.
// If other code has reaped it (stolen), e is unknown.
func (w *watch) look(reap bool) (e sys.Exit, ended, stolen bool) {
	e, ended, err := sys.PidfdWait(w.fd, reap)
	if !ended {
		e = sys.Exit{Code: -1}
	}
	return e, ended || err != nil, err != nil
}

// wait waits until the process has ended; see look.
func (w *watch) wait(reap bool) (e sys.Exit, stolen bool) {
	for {
		e, ended, stolen := w.look(reap)
		if ended {
			return e, stolen
		}
		sys.AwaitReadable(w.fd)
	}
}

// gone waits for the end of a process that is not our child.
func (w *watch) gone() { sys.AwaitReadable(w.fd) }

// signal fails with ESRCH after the process is reaped.
func (w *watch) signal(sig syscall.Signal) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.fd < 0 {
		return syscall.ESRCH
	}
	return sys.PidfdSignal(w.fd, sig)
}

// close closes the pidfd. No goroutine may be waiting.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	sys.Close(w.fd)
	w.fd = -1
}
