package sys

import "golang.org/x/sys/unix"

func renameAt(from int, old string, to int, name string, replace bool) error {
	if replace {
		return unix.Renameat(from, old, to, name)
	}
	err := unix.Renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return checkedRenameAt(from, old, to, name)
	}
	return err
}
