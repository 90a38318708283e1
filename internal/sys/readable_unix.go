//go:build unix

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Readable waits in the network poller until c can be read, has an error or is at
// its end, and then calls read with its descriptor once. The error is that of read,
// of c's deadline, or of closing c meanwhile.
func Readable(c syscall.Conn, read func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var rerr error
	err = raw.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		switch {
		case err == unix.EINTR, err == nil && n == 0:
			return false
		case err != nil:
			rerr = err
		default:
			rerr = read(int(fd))
		}
		return true
	})
	if err == nil {
		err = rerr
	}
	return err
}

// WaitReadable waits like Readable.
func WaitReadable(c syscall.Conn) error { return Readable(c, func(int) error { return nil }) }
