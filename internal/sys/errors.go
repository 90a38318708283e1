package sys

import "errors"

var (
	// ErrUnsupported is returned by functions that this operating system, or this
	// kernel, has no means for.
	ErrUnsupported = errors.New("not supported on this system")

	// ErrLocked is returned by Lock when somebody else has the lock.
	ErrLocked = errors.New("locked by another process")
)
