//go:build unix

package sys

import "syscall"

// ReadNow reads the available bytes without waiting; fd must be non-blocking. again
// means that there are none yet; at the end n is 0 without an error. A terminal
// whose last user has gone is at its end.
func ReadNow(fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		switch err {
		case nil:
			return n, false, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, true, nil
		case syscall.EIO:
			return 0, false, nil
		default:
			return 0, false, err
		}
	}
}
