//go:build unix

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// TryWrite writes to a non-blocking descriptor what the kernel takes at once. If
// the descriptor is full, n is short and err is nil.
func TryWrite(raw syscall.RawConn, p []byte) (n int, err error) {
	var werr error
	err = raw.Write(func(fd uintptr) bool {
		for {
			n, werr = unix.Write(int(fd), p)
			if werr != unix.EINTR {
				return true
			}
		}
	})
	if err == nil && werr != unix.EAGAIN {
		err = werr
	}
	return max(n, 0), err
}

// TryWriter writes as [TryWrite] does, also to a socket in blocking mode, without
// allocating. It must be used by one goroutine at a time.
type TryWriter struct {
	raw syscall.RawConn // nil: writes nothing
	try func(fd uintptr) bool
	p   []byte
	n   int
	err error
}

// NewTryWriter returns a writer to c. blocking means that c is a socket in blocking mode.
func NewTryWriter(c syscall.Conn, blocking bool) *TryWriter {
	raw, err := c.SyscallConn()
	if err != nil {
		return new(TryWriter) // c is closed: its Write returns the error
	}
	w := &TryWriter{raw: raw}
	w.try = func(fd uintptr) bool {
		for {
			if blocking {
				w.n, w.err = unix.SendmsgN(int(fd), w.p, nil, nil, unix.MSG_DONTWAIT)
			} else {
				w.n, w.err = syscall.Write(int(fd), w.p) // the race detector knows its order before reads
			}
			if w.err != unix.EINTR {
				return true
			}
		}
	}
	return w
}

// TryWrite writes what the kernel takes at once. If the descriptor is full, the count is
// short and the error nil.
func (w *TryWriter) TryWrite(p []byte) (int, error) {
	if w.raw == nil {
		return 0, nil
	}
	w.p, w.n = p, 0
	err := w.raw.Write(w.try)
	w.p = nil
	if err == nil && w.err != unix.EAGAIN {
		err = w.err
	}
	return max(w.n, 0), err
}

// pipeBuf is the size that a pipe takes whole, or not at all, on every system.
const pipeBuf = 512

// TryWriteBlocking writes to a blocking pipe or socket what the kernel takes at once:
// if a pipe has room, all of a short write, else nothing. There must be no other
// writer. To other files it writes nothing.
func TryWriteBlocking(raw syscall.RawConn, p []byte) (n int, err error) {
	var werr error
	err = raw.Write(func(fd uintptr) bool {
		n, werr = tryBlocking(int(fd), p)
		return true
	})
	if err == nil && werr != unix.EAGAIN {
		err = werr
	}
	return max(n, 0), err
}

func tryBlocking(fd int, p []byte) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return unix.SendmsgN(fd, p, nil, nil, unix.MSG_DONTWAIT)
	case unix.S_IFIFO:
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if n, err := unix.Poll(poll, 0); len(p) > pipeBuf || n < 1 || err != nil || poll[0].Revents != unix.POLLOUT {
			return 0, nil //nolint:nilerr // the blocking write returns it again
		}
		return unix.Write(fd, p)
	}
	return 0, nil
}

// ShutdownWrite closes a connected socket for writing: the peer reads EOF.
func ShutdownWrite(raw syscall.RawConn) error {
	var serr error
	if err := raw.Control(func(fd uintptr) { serr = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		return err
	}
	return serr
}
