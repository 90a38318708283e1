package sys

import (
	"os"
	pathpkg "path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OpenPlain opens path without following any symbolic link in it. A link as the last
// component is ELOOP, an earlier one ENOTDIR. Opening never blocks: flags are those
// of [os.OpenFile] with O_NONBLOCK added.
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

// StatPlain describes the file at path, in which no component may be a symbolic
// link: one is ELOOP or ENOTDIR.
func StatPlain(path string) (os.FileInfo, error) {
	fd, err := openat2(unix.AT_FDCWD, path, unix.O_PATH|unix.O_NOFOLLOW, 0, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeSymlink != 0 { // opened step by step
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return info, err
}

// MakeBeneath makes the folder rel, and missing folders on the way to it, below the
// folder at path. No component of either may be a symbolic link.
func MakeBeneath(path, rel string, mode uint32) error {
	at, err := pinPlain(path)
	for _, name := range strings.FieldsFunc(rel, func(r rune) bool { return r == '/' }) {
		if err != nil {
			break
		}
		dir := at
		if err = unix.Mkdirat(dir, name, mode); err == nil || err == unix.EEXIST {
			at, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		} else {
			at = -1
		}
		unix.Close(dir)
	}
	if at >= 0 {
		unix.Close(at)
	}
	return err
}

// ExtendedAccess reports whether a file has an access list beyond its mode.
func ExtendedAccess(path string) bool {
	_, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil
}

// OutsiderID returns the number that the kernel shows as the owner of files whose
// user is not mapped in this user namespace, and whether such users exist. If they
// do, no mapped user has that number.
func OutsiderID() (uid int, ok bool) {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, false
	}
	const overflow = 65534
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return 0, false
		}
		first, err1 := strconv.ParseUint(f[0], 10, 64)
		count, err2 := strconv.ParseUint(f[2], 10, 64)
		if err1 != nil || err2 != nil || overflow >= first && overflow-first < count {
			return 0, false
		}
	}
	return overflow, true
}

// OpenBeneath opens rel below the open folder dir. No component of rel may be a
// symbolic link or lead out of dir. Like OpenPlain it never blocks.
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
		switch err {
		case unix.EINTR, unix.EAGAIN: // EAGAIN: the kernel asks to try again after a concurrent rename
			continue
		case unix.ENOSYS: // confined: the filter cannot examine the arguments of openat2
			return openPlainSteps(dir, path, flags, mode, resolve&unix.RESOLVE_BENEATH != 0)
		}
		return fd, err
	}
}

// openPlainSteps is openat2 without links, one component after the other. Each is
// opened in the folder opened before, so that renaming or replacing one meanwhile
// cannot redirect it.
func openPlainSteps(dir int, path string, flags int, mode uint32, beneath bool) (int, error) {
	at := dir
	step := func(name string, flags int) error {
		fd, err := unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		for err == unix.EINTR {
			fd, err = unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		}
		if at != dir {
			unix.Close(at)
		}
		at = fd
		return err
	}
	const folder = unix.O_PATH | unix.O_DIRECTORY
	if strings.HasPrefix(path, "/") {
		if beneath {
			return -1, unix.EXDEV
		}
		if err := step("/", folder); err != nil {
			return -1, err
		}
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(names) == 0 {
		names = []string{"."}
	}
	for i, name := range names {
		if name == ".." && beneath {
			if at != dir {
				unix.Close(at)
			}
			return -1, unix.EXDEV
		}
		how := folder
		if i == len(names)-1 {
			how = flags
		}
		if err := step(name, how); err != nil {
			return -1, err
		}
	}
	return at, nil
}

// PinFolder opens a folder as O_PATH, following links: paths from [PinnedPath] stay
// below that very folder whatever is renamed or replaced meanwhile.
func PinFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// PinPlain is PinFolder for a path without links: a link is ENOTDIR.
func PinPlain(path string) (*os.File, error) {
	fd, err := pinPlain(path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// PinnedPath returns a path for this process to base in the folder dir.
func PinnedPath(dir *os.File, base string) string {
	return "/proc/self/fd/" + itoa(dir.Fd()) + "/" + base
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

// Born returns when the file at path was made; with follow, that of a link's target.
// It returns the zero time if the file system does not record it.
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

// Discards reports whether a file is a device that takes any bytes at once: null,
// zero, full.
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
