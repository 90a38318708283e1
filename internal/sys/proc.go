package sys

import "time"

// Stat is a part of what /proc shows of one process.
type Stat struct {
	Parent int
	Group  int           // the process group
	State  byte          // of the first thread: R, S, D, T, Z …; see Ended
	RSS    int64         // bytes
	CPU    time.Duration // user and system
	Reaped time.Duration // CPU of its ended children and of theirs, so far as they were waited for
	Start  uint64        // clock ticks since boot; with the pid, it identifies the process

	Threads int // threads that have not ended, and the first one
}

// Ended reports whether the process has ended and only waits to be reaped. A process
// whose first thread has ended is shown as a zombie while other threads still run or
// hold its memory and its descriptors.
func (s Stat) Ended() bool { return (s.State == 'Z' || s.State == 'X') && s.Threads <= 1 }
