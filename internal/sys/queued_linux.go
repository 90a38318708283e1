package sys

import "golang.org/x/sys/unix"

// Queued is how many bytes of a pipe or a terminal are there to be read.
func Queued(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }
