package sys

import (
	"io/fs"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Placeholder reports whether the file at path, which info describes, is a
// placeholder that HoldPlaceholder has made, even if another process holds it. It
// returns true for a placeholder removed meanwhile: a caller that took it for an
// existing file would not hold the name.
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

// isPlaceholder reports whether the open file has the mode of a placeholder: a
// sticky bit has no effect if only the owner may write.
func isPlaceholder(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&(unix.S_ISVTX|0o722) == unix.S_ISVTX|0o700
}

// vacant reports whether an open folder is a placeholder, which is empty.
func vacant(fd int) bool { return isPlaceholder(fd) && empty(fd) }

// empty reports whether an open folder is empty.
func empty(fd int) bool {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return false
	}
	buf := make([]byte, 1024)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n == 0 {
			return err == nil || err == unix.ENOENT // a removed folder was empty
		}
		if _, count, _ := unix.ParseDirent(buf[:n], -1, nil); count > 0 {
			return false
		}
	}
}

// How often in a row, a millisecond apart, HoldPlaceholder must find a placeholder
// locked before it concludes that a stranger has the lock, and how long it tries in
// total.
const (
	placeholderLeaves = 500
	placeholderTries  = 5 * time.Second
)

// HoldPlaceholder ensures that the folder parent, a descriptor, has an empty folder
// called name, and returns it, open with a shared lock: while any process holds the
// lock, RemovePlaceholder leaves the folder. An existing placeholder is shared.
// Errors: EEXIST if another file has the name, ESTALE if parent is itself a
// placeholder, ENOTSUP if the file system keeps no mode to recognise a placeholder
// by, EBUSY if it did not succeed within 5 seconds.
func HoldPlaceholder(parent int, name string) (fd int, id FileID, err error) {
	if isPlaceholder(parent) {
		return -1, id, unix.ESTALE // it replaced the intended folder
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
			// No other process holds the placeholder, or the lock would be shared. A stranger's
			// lock must not keep others from starting.
			if times++; ok && times > placeholderLeaves {
				_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
				times = 0
			}
			time.Sleep(time.Millisecond)
			continue
		}
		// Without locks no process removes it.
		if id, ok := named(parent, name, fd); ok {
			return fd, id, nil
		}
		unix.Close(fd) // it was removed before it was locked
	}
	return -1, id, unix.EBUSY
}

// settle gives a new placeholder to the owner of the folder around it, so that the
// owner can use it, and removes the right to write that an access list of that
// folder gives to others. It changes only placeholders.
func settle(parent, fd int) {
	var around, st unix.Stat_t
	if unix.Fstat(parent, &around) != nil || unix.Fstat(fd, &st) != nil || st.Mode&unix.S_ISVTX == 0 {
		return
	}
	if st.Mode&0o022 != 0 {
		_ = unix.Fchmod(fd, st.Mode&0o7777&^0o022) // if it fails, it is not vacant
	}
	if unix.Geteuid() == 0 && st.Uid == 0 && around.Uid != 0 && vacant(fd) {
		_ = unix.Fchown(fd, int(around.Uid), int(around.Gid)) // a failure does no harm
	}
}

// named reports whether name in the folder parent is the file that is open at fd,
// and returns its identity.
func named(parent int, name string, fd int) (FileID, bool) {
	var at, st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || unix.Fstatat(parent, name, &at, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return FileID{}, false
	}
	return FileID{Device: uint64(st.Dev), Inode: st.Ino}, st.Dev == at.Dev && st.Ino == at.Ino
}

// RemovePlaceholder removes the placeholder name from the folder parent unless
// another process holds it. fd is the result of HoldPlaceholder, or -1 to open it. A
// placeholder with a file in it becomes an ordinary folder.
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
