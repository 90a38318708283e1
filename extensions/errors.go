package extensions

import (
	"errors"
	"fmt"
	"strings"
)

// Causes of an [Error]; test with errors.Is.
var (
	ErrDuplicate = errors.New("extension is already known")
	ErrUnknown   = errors.New("no such extension")
	ErrStarted   = errors.New("activation has begun")
	ErrLoop      = errors.New("loop of dependencies")
	ErrMissing   = errors.New("unknown dependency")
	ErrBadID     = errors.New("not an extension id")
)

// Why an operation on the extensions of a host is refused, like [ErrUnknown].
var (
	ErrNoExtensions = errors.New("host has no extensions")
	ErrNoFolders    = errors.New("no folders with extensions")
	// ErrNoProvider means that no active extension provides a language feature for a document.
	ErrNoProvider = errors.New("no extension provides the language feature")
	ErrVerb       = errors.New("unknown verb; expected enable, disable, isolate or release")
)

// Error is a mistake in one extension, which may be why the registry refused it.
type Error struct {
	ID    ID
	Cause error // one of the sentinels
	// Path is the evidence. ErrLoop: the path from the extension into the loop and
	// once around it, so that it contains the last id twice. ErrMissing: the unknown
	// dependencies.
	Path []ID
}

func (e *Error) Error() string {
	switch {
	case errors.Is(e.Cause, ErrLoop):
		return fmt.Sprintf("%s: %v: %s", e.ID, e.Cause, join(e.Path, " → "))
	case len(e.Path) > 0:
		return fmt.Sprintf("%s: %v %s", e.ID, e.Cause, join(e.Path, ", "))
	}
	return fmt.Sprintf("%s: %v", e.ID, e.Cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func join(ids []ID, sep string) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, sep)
}
