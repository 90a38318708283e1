//go:build !linux || hostsup_posix

package sys

import "os"

// OnReaderGone is not supported on this system: the next write says the same.
func OnReaderGone(*os.File, func()) (stop func()) { return func() {} }
