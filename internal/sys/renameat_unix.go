//go:build unix

package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// RenameAt renames an entry of an open folder to a name in another one. Neither name may have a
// separator; no link is followed. Without replace, an existing entry is an error that is
// [fs.ErrExist]. A file system without such a rename gets the check and the rename one after the
// other.
func RenameAt(from *os.Root, old string, to *os.Root, name string, replace bool) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	return os.NewSyscallError("renameat", renameAt(int(a.Fd()), old, int(b.Fd()), name, replace))
}

func checkedRenameAt(from int, old string, to int, name string) error {
	var st unix.Stat_t
	switch err := unix.Fstatat(to, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(from, old, to, name)
	default:
		return err
	}
}
