package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of CLOCK_MONOTONIC, which runs since the boot.
func Monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails for unknown clocks only
	return time.Duration(ts.Nano())
}
