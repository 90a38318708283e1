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

// CloseOnExecFrom marks every descriptor from first on close-on-exec (of the
// whole process; for helper processes).
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

// TryLock takes the exclusive lock of an open file or folder, or says
// EWOULDBLOCK. The lock belongs to the open descriptor with all its copies
// and goes when the last of them is closed, however its owner ended.
func TryLock(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }

// AtCWD stands for the working folder, or for none with an absolute path,
// where a function takes an open folder.
const AtCWD = unix.AT_FDCWD

// CloseFrom closes every descriptor from first on (of the whole process; for
// helper processes) but those of the runtime: its poller and what wakes that
// are anonymous inodes, which have no file type, and are among the first that a
// process opens. Without them the runtime ends the process at its next wait.
func CloseFrom(first int) error {
	const among = 256
	from := first
	for fd := first; fd < first+among; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != 0 {
			continue
		}
		if fd > from {
			if err := unix.CloseRange(uint(from), uint(fd-1), 0); err != nil {
				return err
			}
		}
		from = fd + 1
	}
	return unix.CloseRange(uint(from), ^uint(0), 0)
}

// PlainPipe makes a pipe that the network poller is not told of; both ends are
// close-on-exec. For helper processes.
func PlainPipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// WriteByte writes a zero byte to a plain descriptor.
func WriteByte(fd int) error {
	_, err := unix.Write(fd, []byte{0})
	return err
}
