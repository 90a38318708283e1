//go:build !linux || hostsup_posix

package sys

import "os"

// Watch is not supported on this system.
type Watch struct{}

// Close does nothing.
func (Watch) Close() {}

// OnReaderGone is not supported on this system: the next write says the same.
func OnReaderGone(*os.File, func()) (w Watch) { return w }
