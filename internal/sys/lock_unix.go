//go:build unix

package sys

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the exclusive lock of an open file or folder without waiting. The lock
// belongs to the open file: it ends with Unlock, or with the process, even if that
// is killed. The error is ErrLocked if another open file has it.
func Lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrLocked
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// Unlock ends the lock of f and closes f. Closing alone would not end the lock while
// a process that is being started, which has a copy of every descriptor until it
// runs its program, holds the open file too.
func Unlock(f *os.File) error {
	return errors.Join(os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN)), f.Close())
}
