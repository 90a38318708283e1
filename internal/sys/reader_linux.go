//go:build !hostsup_posix

package sys

import "os"

// OnReaderGone calls gone once, when no process has the other end of the pipe w open any
// more, also if what was written before is never read. gone runs on a goroutine that
// others share and must not block; it may run before OnReaderGone has returned. stop ends
// the watch, and must be called before w is closed. A system without room for a watch, or
// without watches of this kind, does not call gone: the next write says the same.
func OnReaderGone(w *os.File, gone func()) (stop func()) {
	var watch Watch
	raw, err := w.SyscallConn()
	if err != nil {
		return watch.Close
	}
	_ = raw.Control(func(fd uintptr) { watch, _ = shared.add(int(fd), 0, told(gone)) }) // errors are always told
	return watch.Close
}

// told is a Waiter that is a function.
type told func()

// Ready implements Waiter.
func (f told) Ready() { f() }
