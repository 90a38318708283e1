package sys

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LockByte takes the exclusive lock of one byte of a file that is open for writing,
// without waiting. The byte need not exist. The lock belongs to the open file: it
// ends with UnlockBytes, or when the last descriptor of the open file is closed,
// even if its process is killed. The error is ErrLocked if another open file has the
// lock.
func LockByte(f *os.File, at int64) error {
	switch err := ofdLock(f, unix.F_WRLCK, at, 1); err {
	case nil:
		return nil
	case unix.EAGAIN, unix.EACCES:
		return ErrLocked
	default:
		return os.NewSyscallError("fcntl", err)
	}
}

// UnlockBytes ends the locks of all bytes of f, even if a copy of its descriptor is
// open.
func UnlockBytes(f *os.File) error {
	return os.NewSyscallError("fcntl", ofdLock(f, unix.F_UNLCK, 0, 0))
}

func ofdLock(f *os.File, kind int16, at, count int64) error {
	for {
		l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: count}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l); err != unix.EINTR {
			return err
		}
	}
}
