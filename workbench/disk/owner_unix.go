//go:build unix

package disk

import (
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// allows reports whether mode, of the bits read 4, write 2 and search 1, is allowed to the user
// of a policy; if the policy does not name one, to all users.
func allows(r *policy.Resolved, info fs.FileInfo, mode fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	bits := info.Mode().Perm()
	switch {
	case r.UID >= 0 && int(st.Uid) == r.UID:
		bits >>= 6
	case r.GID >= 0 && int(st.Gid) == r.GID, slices.Contains(r.Groups, int(st.Gid)):
		bits >>= 3
	}
	return bits&mode == mode
}

// owns reports whether the user of a policy owns a file.
func owns(r *policy.Resolved, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && r.UID >= 0 && int(st.Uid) == r.UID
}

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// give gives a new file the owner of another one.
func give(to *os.File, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := to.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == st.Uid && now.Gid == st.Gid {
		return nil
	}
	return to.Chown(int(st.Uid), int(st.Gid))
}
