//go:build unix

package sys

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unblocked returns f as a file that never blocks, and closes f. A blocking write to
// a terminal waits for the program to read, and so does everything that waits for
// the writer.
func Unblocked(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	f.Close()
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// ResizeTerminal sets the size of a terminal through this process's side of it.
func ResizeTerminal(ours *os.File, rows, cols uint16) error {
	raw, err := ours.SyscallConn() // Fd would make it blocking
	if err != nil {
		return err
	}
	var rerr error
	err = raw.Control(func(fd uintptr) {
		rerr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	return errors.Join(err, os.NewSyscallError("ioctl", rerr))
}
