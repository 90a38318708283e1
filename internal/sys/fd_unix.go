//go:build unix

package sys

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Close closes a plain descriptor.
func Close(fd int) error { return unix.Close(fd) }

// NewFile wraps a descriptor that can be polled (a pidfd, a socket, a pipe):
// it is made non-blocking, and reading from the file parks the goroutine, not
// a thread.
func NewFile(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Inheritable lists the descriptors above 2 that a program started now would
// inherit because they are not close-on-exec: those that this process was
// itself started with, or that foreign code in it has made so.
func Inheritable() ([]int, error) {
	syscall.ForkLock.Lock() // nobody is between making a descriptor and marking it
	defer syscall.ForkLock.Unlock()
	names, err := openFDs()
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}

// Executable reports whether this process may search folder path, or run the
// file there.
func Executable(path string) error { return unix.Access(path, unix.X_OK) }
