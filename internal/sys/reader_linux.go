//go:build !hostsup_posix

package sys

import "os"

// OnReaderGone calls gone once, when no process has the other end of the pipe w open any
// more, also if what was written before is never read. gone runs on a goroutine that
// others share and must not block; it may run before OnReaderGone has returned. The watch
// must be closed before w is. A system without room for it, or without watches of this
// kind, does not call gone: the next write says the same.
func OnReaderGone(w *os.File, gone func()) (watch Watch) {
	if raw, err := w.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { watch, _ = shared.add(int(fd), 0, told(gone)) }) // errors are always told
	}
	return watch
}

// told is a Waiter that is a function.
type told func()

// Ready implements Waiter.
func (f told) Ready() { f() }
