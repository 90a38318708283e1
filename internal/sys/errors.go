package sys

import "errors"

var (
	// ErrUnsupported means that this operating system, or this kernel, does not support
	// the function.
	ErrUnsupported = errors.New("not supported on this system")

	// ErrLocked means that another process has the lock.
	ErrLocked = errors.New("locked by another process")
)
