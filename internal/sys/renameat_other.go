//go:build !unix

package sys

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RenameAt renames an entry of an open folder to a name in another one; on this system by paths.
// Without replace, an existing entry is an error that is [fs.ErrExist].
func RenameAt(from *os.Root, old string, to *os.Root, name string, replace bool) error {
	if _, err := to.Lstat(name); err == nil && !replace {
		return &fs.PathError{Op: "rename", Path: name, Err: fs.ErrExist}
	}
	return os.Rename(filepath.Join(from.Name(), old), filepath.Join(to.Name(), name))
}
