package install

import (
	"errors"
	"fmt"
)

// Errors of this package; test with errors.Is.
var (
	// ErrPackage means that a file is no readable package.
	ErrPackage = errors.New("not a package of an extension")
	// ErrEntry is the cause of an [EntryError].
	ErrEntry = errors.New("entry refused")
	// ErrLimit means that a package exceeds one of the [Limits].
	ErrLimit = errors.New("package too large")
	// ErrManifest means that a manifest is missing or wrong, or that the two of a package
	// differ. It may wrap errors of package manifest, such as manifest.ErrIncompatible.
	ErrManifest = errors.New("manifest refused")
	// ErrDigest means that a package has another digest than expected.
	ErrDigest = errors.New("another digest")
	// ErrTarget means that a package is made for another platform.
	ErrTarget = errors.New("made for another platform")
	// ErrBusy means that another process kept the folder locked for [Installer].Wait.
	ErrBusy = errors.New("another process is changing the folder")
	// ErrNotInstalled means that an extension is not in the list of a folder.
	ErrNotInstalled = errors.New("not installed here")
	// ErrNoVersion means that no version before the one in use is kept.
	ErrNoVersion = errors.New("no version before is kept")
	// ErrFolder means that extensions cannot be installed into a folder.
	ErrFolder = errors.New("not a folder of extensions")
)

// EntryError is a file or folder of a package that is refused.
type EntryError struct {
	Package string // path of the package
	Entry   string // name in the package
	Rule    string // what was expected of it
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("%s: %v: %q: %s", e.Package, ErrEntry, e.Entry, e.Rule)
}

// Unwrap returns ErrEntry.
func (e *EntryError) Unwrap() error { return ErrEntry }
