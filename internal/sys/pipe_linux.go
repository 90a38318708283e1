package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

func growPipe(f *os.File, size int) {
	if c, err := f.SyscallConn(); err == nil {
		// Over fs.pipe-max-size, or over the user's share of pipe memory, the kernel
		// refuses, and the pipe keeps its default size.
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, min(size, 1<<30)) })
	}
}

// GrowPipe asks the kernel to buffer size bytes of a pipe. A refusal is not an error.
func GrowPipe(fd, size int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size) }
