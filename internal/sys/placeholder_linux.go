package sys

import (
	"io/fs"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Placeholder reports whether what is at path, which info describes, is a
// placeholder that HoldPlaceholder has made, whoever holds it. One that has been
// removed meanwhile is one too: whoever took it for something that exists would
// not hold the name.
func Placeholder(path string, info fs.FileInfo) bool {
	if !info.IsDir() || info.Mode()&fs.ModeSticky == 0 || info.Mode().Perm()&0o722 != 0o700 {
		return false
	}
	fd, err := unix.Open(path, openPlaceholder, 0)
	switch err {
	case nil:
		defer unix.Close(fd)
		return vacant(fd)
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return true
	}
	return false
}

const openPlaceholder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// isPlaceholder reports whether what is open has the mode of a placeholder: a sticky
// bit means nothing where nobody but the owner may write.
func isPlaceholder(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&(unix.S_ISVTX|0o722) == unix.S_ISVTX|0o700
}

// vacant reports whether an open folder is a placeholder, which is empty.
func vacant(fd int) bool { return isPlaceholder(fd) && empty(fd) }

// empty reports whether there is nothing in an open folder.
func empty(fd int) bool {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return false
	}
	buf := make([]byte, 1024)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n == 0 {
			return err == nil || err == unix.ENOENT // it was removed, and could not have been with something in it
		}
		if _, count, _ := unix.ParseDirent(buf[:n], -1, nil); count > 0 {
			return false
		}
	}
}

// How often in a row, a millisecond apart, HoldPlaceholder finds one locked before
// it takes that for the lock of a stranger, and how long it tries at all.
const (
	placeholderLeaves = 500
	placeholderTries  = 5 * time.Second
)

// HoldPlaceholder sees to it that the folder parent, a descriptor, has an empty
// folder called name, and returns it, open with a shared lock: as long as one
// holds the lock, RemovePlaceholder leaves it there. One that is there already is
// shared, whoever has made it. Errors: EEXIST when something else has the name,
// ESTALE when parent is itself a placeholder, ENOTSUP when the file system keeps no
// mode to know a placeholder by, EBUSY when it did not succeed in 5 seconds.
func HoldPlaceholder(parent int, name string) (fd int, id FileID, err error) {
	if isPlaceholder(parent) {
		return -1, id, unix.ESTALE // it took the place of the folder that was meant
	}
	begun := time.Now()
	var locked FileID // what was locked the last time
	times := 0        // how often in a row
	for ; time.Since(begun) < placeholderTries; runtime.Gosched() {
		made := unix.Mkdirat(parent, name, unix.S_ISVTX|0o755)
		if made != nil && made != unix.EEXIST {
			return -1, id, made
		}
		fd, err := unix.Openat(parent, name, openPlaceholder, 0)
		if err == unix.ENOENT || err == unix.EINTR {
			continue // it was removed
		}
		if err != nil {
			return -1, id, unix.EEXIST
		}
		if made == nil {
			settle(parent, fd)
		}
		if !vacant(fd) {
			lost := made == nil && !isPlaceholder(fd) && empty(fd)
			unix.Close(fd)
			if !lost {
				return -1, id, unix.EEXIST
			}
			_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
			return -1, id, unix.ENOTSUP
		}
		err = unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK {
			id, ok := named(parent, name, fd)
			unix.Close(fd)
			if !ok || id != locked {
				locked, times = id, 0
			}
			// Nobody else holds it, or there would be no such lock. Who keeps that
			// lock must not keep others from starting.
			if times++; ok && times > placeholderLeaves {
				_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
				times = 0
			}
			time.Sleep(time.Millisecond)
			continue
		}
		// Where there are no locks, nobody removes it.
		if id, ok := named(parent, name, fd); ok {
			return fd, id, nil
		}
		unix.Close(fd) // it was removed before it was locked
	}
	return -1, id, unix.EBUSY
}

// settle gives a new placeholder to the owner of the folder around it, so that the
// owner can use it, and takes away the right to write that an access list of that
// folder has given to others. What is no placeholder any more is not changed.
func settle(parent, fd int) {
	var around, st unix.Stat_t
	if unix.Fstat(parent, &around) != nil || unix.Fstat(fd, &st) != nil || st.Mode&unix.S_ISVTX == 0 {
		return
	}
	if st.Mode&0o022 != 0 {
		_ = unix.Fchmod(fd, st.Mode&0o7777&^0o022) // if it fails, it is not vacant
	}
	if unix.Geteuid() == 0 && st.Uid == 0 && around.Uid != 0 && vacant(fd) {
		_ = unix.Fchown(fd, int(around.Uid), int(around.Gid)) // only a wish
	}
}

// named reports whether name in the folder parent is what is open at fd, and
// which file that is.
func named(parent int, name string, fd int) (FileID, bool) {
	var at, st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatat(parent, name, &at, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return FileID{}, false
	}
	return FileID{Device: uint64(st.Dev), Inode: st.Ino}, st.Dev == at.Dev && st.Ino == at.Ino
}

// RemovePlaceholder removes the placeholder name from the folder parent unless
// another holds it. fd is what HoldPlaceholder has returned; -1: it is looked for.
// One that somebody has put something in becomes an ordinary folder.
func RemovePlaceholder(parent int, name string, fd int) {
	if fd < 0 {
		var err error
		if fd, err = unix.Openat(parent, name, openPlaceholder, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if !vacant(fd) {
			return
		}
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	if _, ok := named(parent, name, fd); !ok {
		return
	}
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err == unix.ENOTEMPTY || err == unix.EEXIST {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			_ = unix.Fchmod(fd, st.Mode&0o7777&^unix.S_ISVTX)
		}
	}
}
