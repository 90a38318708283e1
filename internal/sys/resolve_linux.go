package sys

import (
	"os"
	pathpkg "path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OpenPlain opens path without following any symbolic link in it. A link as
// the last component is ELOOP, one before it ENOTDIR. The file is never waited
// for: flags are those of [os.OpenFile] with O_NONBLOCK added.
func OpenPlain(path string, flags int, mode uint32) (*os.File, error) {
	dir, base := pathpkg.Split(pathpkg.Clean(path))
	parent, err := pinPlain(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(parent)
	if base == "" {
		base = "."
	}
	fd, err := unix.Openat(parent, base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func pinPlain(path string) (int, error) {
	fd, err := openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY, 0, unix.RESOLVE_NO_SYMLINKS)
	if err == unix.ELOOP {
		err = unix.ENOTDIR
	}
	return fd, err
}

// OpenBeneath opens rel below the open folder dir; nothing in rel may be a
// symbolic link or lead out of dir. Like OpenPlain it waits for nothing.
func OpenBeneath(dir *os.File, rel string, flags int, mode uint32) (*os.File, error) {
	if rel == "" {
		rel = "."
	}
	fd, err := openat2(int(dir.Fd()), rel, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

func openat2(dir int, path string, flags int, mode uint32, resolve uint64) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode)
	}
	for {
		fd, err := unix.Openat2(dir, path, how)
		// EAGAIN: something was renamed meanwhile, and the kernel asks to try again.
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// PinFolder opens a folder, links followed, only to name it: what is reached
// through [PinnedPath] stays below that very folder whatever is renamed or
// replaced meanwhile.
func PinFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// PinPlain is PinFolder for a path that may have no link in it: one is ENOTDIR.
func PinPlain(path string) (*os.File, error) {
	fd, err := pinPlain(path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// PinnedPath is a path of this process to base in the folder dir.
func PinnedPath(dir *os.File, base string) string {
	return "/proc/self/fd/" + itoa(dir.Fd()) + "/" + base
}

// RealPath is where an open file or folder lies now. One that has been removed
// is ENOENT.
func RealPath(f *os.File) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + itoa(f.Fd()))
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, " (deleted)") {
		return "", unix.ENOENT
	}
	return path, nil
}

func itoa(n uintptr) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// RemoveAt removes name, a link or file, below the folder dir; with folder it
// removes an empty folder.
func RemoveAt(dir *os.File, name string, folder bool) error {
	flags := 0
	if folder {
		flags = unix.AT_REMOVEDIR
	}
	for {
		if err := unix.Unlinkat(int(dir.Fd()), name, flags); err != unix.EINTR {
			return err
		}
	}
}

// Born is when the file at path was made, with follow that a link leads to.
// The zero time: the file system does not tell.
func Born(path string, follow bool) time.Time {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_BTIME, &s) != nil || s.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(s.Btime.Sec, int64(s.Btime.Nsec))
}

// Discards reports whether a file is one of the devices that take any bytes at
// once: null, zero, full.
func Discards(info os.FileInfo) bool {
	s, ok := info.Sys().(*unixStat)
	if !ok || s.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(s.Rdev) != 1 {
		return false
	}
	switch unix.Minor(s.Rdev) {
	case 3, 5, 7:
		return true
	}
	return false
}
