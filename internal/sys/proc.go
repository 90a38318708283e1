package sys

import "time"

// Stat is what /proc tells about one process.
type Stat struct {
	Parent int
	State  byte          // R, S, D, T, Z …
	RSS    int64         // bytes
	CPU    time.Duration // user and system
	Start  uint64        // clock ticks since boot; with the pid, it names the process for good
}
