//go:build unix

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// TryWrite writes to a non-blocking descriptor what the kernel takes at once;
// a full one is no error but a short count. The error is the kernel's.
func TryWrite(raw syscall.RawConn, p []byte) (n int, err error) {
	var werr error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, werr = unix.Write(int(fd), p)
			if werr != unix.EINTR {
				return true
			}
		}
	})
	if err == nil && werr != unix.EAGAIN {
		err = werr
	}
	return max(n, 0), err
}

// ShutdownWrite ends our half of a connected socket: the peer reads EOF.
func ShutdownWrite(raw syscall.RawConn) error {
	var serr error
	if err := raw.Control(func(fd uintptr) { serr = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		return err
	}
	return serr
}
