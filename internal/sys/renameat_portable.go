//go:build unix && !linux

package sys

import "golang.org/x/sys/unix"

func renameAt(from int, old string, to int, name string, replace bool) error {
	if replace {
		return unix.Renameat(from, old, to, name)
	}
	return checkedRenameAt(from, old, to, name)
}
