package sys

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// locked is a byte that no file has: on Windows a locked byte cannot be read by others.
var locked = windows.Overlapped{Offset: 0xffffffff, OffsetHigh: 0x7fffffff}

// Lock takes the exclusive lock of an open file without waiting; Windows has no locks of
// folders. The lock belongs to the open file: it ends with Unlock, or with the process, even
// if that is killed. The error is ErrLocked if another open file has it.
func Lock(f *os.File) error {
	at := locked
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}

// Unlock ends the lock of f and closes f. Closing alone would end it at a later time that
// Windows chooses.
func Unlock(f *os.File) error {
	at := locked
	return errors.Join(os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)), f.Close())
}
