package sys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stream is one direction of a pipe or of a connected stream socket that other processes
// use as well. It waits in the runtime's poller, and leaves the flags that those processes
// see as they are. Read must be used by one goroutine at a time, and so must Write. Close
// ends a Read and a Write that wait.
type Stream struct {
	f     *os.File
	raw   syscall.RawConn
	sock  bool
	grown bool // it was asked to hold longPipe
}

// longPipe is what the kernel is asked to buffer of a pipe that long messages are written
// to: each time that it is full costs a change of processes.
const longPipe = 256 << 10

// isSocket reports whether fd is a socket. The error is ErrUnsupported unless fd is a
// connected stream socket or a pipe.
func isSocket(fd int) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return false, nil
	case unix.S_IFSOCK:
		kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
		if err != nil {
			return false, err
		}
		if _, err := unix.Getpeername(fd); err == nil && kind == unix.SOCK_STREAM {
			return true, nil
		}
	}
	return false, ErrUnsupported
}

// StreamOf returns a stream to read from f, or to write to it. The error is ErrUnsupported
// if f is neither a pipe nor a connected stream socket, EBADF for an end that was
// not opened that way, and EACCES for a pipe of another user.
func StreamOf(f *os.File, write bool) (*Stream, error) {
	fd, err := Dup(f)
	if err != nil {
		return nil, err
	}
	own, sock, err := openStream(fd, write)
	if err != nil {
		return nil, err
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return &Stream{f: own, raw: raw, sock: sock}, nil
}

// openStream returns a file of fd, which it takes.
func openStream(fd int, write bool) (f *os.File, sock bool, err error) {
	defer func() {
		if !sock || err != nil {
			_ = unix.Close(fd)
		}
	}()
	if sock, err = isSocket(fd); err != nil {
		return nil, false, err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, false, err
	}
	if !sock {
		// Opened anew, the pipe has flags of its own.
		mode := os.O_RDONLY
		if write {
			mode = os.O_WRONLY
		}
		if has := flags & unix.O_ACCMODE; has != mode && has != unix.O_RDWR {
			return nil, false, unix.EBADF
		}
		f, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), mode|unix.O_NONBLOCK, 0)
		return f, false, err
	}
	// The runtime polls only what is non-blocking when it gets it. The calls of a Stream
	// do not block either way.
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK); err != nil {
			return nil, true, err
		}
		defer func() { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags) }() // it has worked the other way round
	}
	return os.NewFile(uintptr(fd), "stream"), true, nil
}

// TryRead reads what there is without waiting. ok is false if there is nothing, at the
// end, and on an error, which Read returns.
func (s *Stream) TryRead(p []byte) (n int, ok bool) {
	err := s.raw.Read(func(fd uintptr) bool {
		n, _ = s.receive(int(fd), p)
		return true
	})
	return n, err == nil && n > 0
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (n int, err error) {
	var rerr error
	err = s.raw.Read(func(fd uintptr) bool {
		n, rerr = s.receive(int(fd), p)
		return rerr != unix.EAGAIN
	})
	switch {
	case err != nil:
		return 0, os.ErrClosed // without deadlines the poller has no other error
	case rerr != nil:
		return 0, os.NewSyscallError("read", rerr)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (s *Stream) receive(fd int, p []byte) (n int, err error) {
	for {
		if s.sock {
			n, _, err = unix.Recvfrom(fd, p, unix.MSG_DONTWAIT)
		} else {
			n, err = syscall.Read(fd, p) // the race detector knows its order behind writes
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// TryWrite writes what the kernel takes at once and never waits. If that is nothing the
// error is nil.
func (s *Stream) TryWrite(p []byte) (n int, err error) {
	var werr error
	err = s.raw.Write(func(fd uintptr) bool {
		n, werr = s.send(int(fd), p)
		return true
	})
	switch {
	case err != nil:
		return 0, os.ErrClosed
	case werr != nil && werr != unix.EAGAIN:
		return 0, os.NewSyscallError("write", werr)
	}
	return n, nil
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (n int, err error) {
	if !s.sock && !s.grown && len(p) >= longPipe/4 {
		s.grown = true
		growPipe(s.f, longPipe)
	}
	for n < len(p) {
		k, werr := 0, error(nil)
		err = s.raw.Write(func(fd uintptr) bool {
			k, werr = s.send(int(fd), p[n:])
			return werr != unix.EAGAIN
		})
		switch {
		case err != nil:
			return n, os.ErrClosed
		case werr != nil:
			return n, os.NewSyscallError("write", werr)
		}
		n += k
	}
	return n, nil
}

func (s *Stream) send(fd int, p []byte) (n int, err error) {
	for {
		if s.sock {
			n, err = unix.SendmsgN(fd, p, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		} else {
			n, err = syscall.Write(fd, p)
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Close closes the descriptor.
func (s *Stream) Close() error { return s.f.Close() }
