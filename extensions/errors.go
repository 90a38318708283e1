package extensions

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with an extension in a registry; test with errors.Is. The
// typed errors below say more.
var (
	ErrDuplicate = errors.New("extension is known already")
	ErrUnknown   = errors.New("no such extension")
	ErrStarted   = errors.New("activation has begun")
	ErrLoop      = errors.New("loop of dependencies")
	ErrMissing   = errors.New("unknown dependency")
	ErrBadID     = errors.New("not an id of an extension")
)

// Error is one extension that was refused, or has something wrong with it.
type Error struct {
	ID    ID
	Cause error // one of the sentinels
	// Path is the evidence. ErrLoop: the way from the extension into the loop
	// and once round it, so that the last id stands in it twice. ErrMissing:
	// the dependencies that are unknown.
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
