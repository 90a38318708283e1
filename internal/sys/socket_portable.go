//go:build unix && !linux

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const noSigpipe = 0

func socketpair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	return fds, err
}

func recvmsg(fd int, b, oob []byte) (n, oobn int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, oobn, _, _, err = unix.Recvmsg(fd, b, oob, 0)
	if err == nil && oobn > 0 {
		if got, e := rightsIn(oob[:oobn]); e == nil && got >= 0 {
			unix.CloseOnExec(got)
		}
	}
	return n, oobn, err
}
