//go:build unix

package sys

import (
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// NoFollow is a flag of os.OpenFile that refuses a symbolic link at the end of a path; 0
// where the system has none.
const NoFollow = unix.O_NOFOLLOW

// Close closes a plain descriptor.
func Close(fd int) error { return unix.Close(fd) }

// Dup returns a copy of f's descriptor, close-on-exec, and outside of the runtime's
// poller.
func Dup(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	dup := -1
	if cerr := raw.Control(func(fd uintptr) { dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) }); cerr != nil {
		return -1, cerr
	}
	return dup, err
}

// DescriptorLimit returns how many descriptors this process may have open: their
// numbers are below it.
func DescriptorLimit() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || uint64(l.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}

// NewFile wraps a descriptor that can be polled (a pidfd, a socket, a pipe): it becomes
// non-blocking, and reading from the file parks the goroutine, not a thread. On an error
// NewFile closes it.
func NewFile(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	// A file that the runtime does not poll has no deadlines: a wait for it would last
	// for ever or not happen at all.
	if err := f.SetDeadline(time.Time{}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Inheritable lists the descriptors above 2 that a program started now would inherit
// because they are not close-on-exec: this process inherited them itself, or foreign
// code in it made them so.
func Inheritable() ([]int, error) {
	syscall.ForkLock.Lock() // no descriptor is made but not marked yet
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

// Executable returns nil if this process may search the folder path, or run the file
// path.
func Executable(path string) error { return unix.Access(path, unix.X_OK) }
