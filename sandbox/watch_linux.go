//go:build !hostsup_posix

package sandbox

import (
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// watch is a process of ours, reached and reaped by its pidfd, which it owns.
type watch struct {
	pid int

	mu sync.RWMutex
	fd int // the pidfd; -1 once it is closed
}

func newWatch(pid, pidfd int) *watch { return &watch{pid: pid, fd: pidfd} }

// look finds out whether the process has ended. Without reap it stays a
// zombie. When somebody else has reaped it (stolen), nothing is known of its
// end.
func (w *watch) look(reap bool) (e sys.Exit, ended, stolen bool) {
	e, ended, err := sys.PidfdWait(w.fd, reap)
	if !ended {
		e = sys.Exit{Code: -1}
	}
	return e, ended || err != nil, err != nil
}

// wait returns when the process has ended; see look.
func (w *watch) wait(reap bool) (e sys.Exit, stolen bool) {
	for {
		e, ended, stolen := w.look(reap)
		if ended {
			return e, stolen
		}
		sys.AwaitReadable(w.fd)
	}
}

// gone waits for the end of a process that is somebody else's child.
func (w *watch) gone() { sys.AwaitReadable(w.fd) }

// signal fails with ESRCH once the process is reaped.
func (w *watch) signal(sig syscall.Signal) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.fd < 0 {
		return syscall.ESRCH
	}
	return sys.PidfdSignal(w.fd, sig)
}

// close gives the pidfd back. Nobody waits any more.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	sys.Close(w.fd)
	w.fd = -1
}
