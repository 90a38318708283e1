package sys

import "golang.org/x/sys/unix"

// Queued returns how many bytes of a pipe or a terminal can be read now.
func Queued(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }
