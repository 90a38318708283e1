package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

func openFDs() ([]string, error) { return readNames("/proc/self/fd") }

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// CloseOnExecFrom marks every descriptor from first on close-on-exec. It affects the
// whole process, and is meant for helper processes.
func CloseOnExecFrom(first int) error {
	return unix.CloseRange(uint(first), ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// OpenDir opens a folder to work below it.
func OpenDir(path string) (int, error) {
	return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// OpenDirAt opens the folder name below the open folder dir.
func OpenDirAt(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// TryLock takes the exclusive lock of an open file or folder, or returns
// EWOULDBLOCK. The lock belongs to the open file: it ends when the last copy of the
// descriptor is closed, even if its process is killed.
func TryLock(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }

// AtCWD stands for the working folder where a function takes an open folder. With an
// absolute path it has no effect.
const AtCWD = unix.AT_FDCWD

// IsFolder reports whether the descriptor fd is one of a folder.
func IsFolder(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
