package sys

import "errors"

// ErrUnsupported is returned by functions that this operating system, or this
// kernel, has no means for.
var ErrUnsupported = errors.New("not supported on this system")
