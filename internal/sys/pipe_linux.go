package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

func growPipe(f *os.File, size int) {
	if c, err := f.SyscallConn(); err == nil {
		// Over fs.pipe-max-size, or over the user's share of pipe memory, the
		// kernel refuses; the default is then what there is.
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, min(size, 1<<30)) })
	}
}

// PipeSize is what the kernel buffers in a pipe, in bytes.
func PipeSize(f *os.File) (size int, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if e := c.Control(func(fd uintptr) { size, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0) }); e != nil {
		return 0, e
	}
	return size, err
}

// GrowPipe asks the kernel to buffer size bytes of a pipe. That it does not is
// no error.
func GrowPipe(fd, size int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size) }
