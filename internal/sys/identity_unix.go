//go:build unix

package sys

import (
	"io/fs"
	"syscall"
)

// IDOf returns the identity of the file that info describes, or the zero value.
func IDOf(info fs.FileInfo) FileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}
	}
	return FileID{Device: uint64(st.Dev), Inode: uint64(st.Ino)}
}

// OwnersOf returns the user and the group that own the file that info describes, and
// how many names the file has; -1 for what is unknown.
func OwnersOf(info fs.FileInfo) (uid, gid, names int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, -1
	}
	return int(st.Uid), int(st.Gid), int(st.Nlink)
}
