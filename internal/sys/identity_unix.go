//go:build unix

package sys

import (
	"io/fs"
	"syscall"
)

// IDOf returns what identifies the file that info is about, or the zero value.
func IDOf(info fs.FileInfo) FileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}
	}
	return FileID{Device: uint64(st.Dev), Inode: uint64(st.Ino)}
}

// OwnersOf returns the user and the group that own the file that info is about,
// and how many names the file has; -1 where that is not known.
func OwnersOf(info fs.FileInfo) (uid, gid, names int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, -1
	}
	return int(st.Uid), int(st.Gid), int(st.Nlink)
}
