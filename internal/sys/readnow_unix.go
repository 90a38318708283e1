//go:build unix

package sys

import "syscall"

// ReadNow reads what is there without waiting; fd must be non-blocking. again
// says that nothing is there yet; n is 0 without an error at the end. The end of
// a terminal, whose last user has gone, is an end like any other.
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
