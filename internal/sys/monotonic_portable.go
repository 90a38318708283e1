//go:build !linux

package sys

import "time"

var begin = time.Now()

// Monotonic returns the time since this program began: the clock that other processes
// have in common with it is Linux's.
func Monotonic() time.Duration { return time.Since(begin) }
