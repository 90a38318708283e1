package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// Names of errors, from which the host makes those of vscode.FileSystemError.
const (
	NameNotFound     = "EntryNotFound"
	NameExists       = "EntryExists"
	NameNotDirectory = "EntryNotADirectory"
	NameIsDirectory  = "EntryIsADirectory"
	NameTooLarge     = "EntryTooLarge"
	NameUnavailable  = "Unavailable"
	NameUnknown      = "Unknown"
)

// Fail returns an error with one of the names.
func Fail(name, format string, args ...any) error {
	return &codec.Error{Name: name, Message: fmt.Sprintf(format, args...)}
}

// Named reports whether err has a name, such as [NameNotFound].
func Named(err error, name string) bool {
	var e *codec.Error
	return errors.As(err, &e) && e.Name == name
}

// failed returns the error of an operation with its name. Errors that have one are unchanged.
func failed(op, path string, err error) error {
	var named *codec.Error
	if err == nil || errors.As(err, &named) {
		return err
	}
	name := NameUnknown
	switch {
	case errors.Is(err, fs.ErrNotExist):
		name = NameNotFound
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		name = NameExists
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		name = workbench.NameNoPermissions
	case errors.Is(err, syscall.ENOTDIR):
		name = NameNotDirectory
	case errors.Is(err, syscall.EISDIR):
		name = NameIsDirectory
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // its path is only the last part
	}
	return Fail(name, "cannot %s %s: %v", op, path, err)
}
