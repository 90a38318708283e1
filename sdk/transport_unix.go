//go:build unix

package sdk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/link"
)

// socket is a stream socket in blocking mode. A host reads from one place
// only, and a thread that sleeps in read(2) is woken by the kernel itself: one
// system call for a request and one for its answer, where the runtime's poller
// takes about three more. Measured with a bare echo between two processes, the
// round trip takes two thirds of the time.
type socket struct {
	file *os.File
	fd   int
	raw  syscall.RawConn
	wait busypoll.State // of Read, which one goroutine calls
	once sync.Once
	err  error
	*sys.TryWriter
}

func (s *socket) Read(b []byte) (int, error) {
	return s.wait.Read(
		func() (n int, ok bool) {
			// Through raw, which keeps the descriptor from being closed, and its
			// number from being given to another, meanwhile. An end or an error is
			// met again by the read that waits.
			err := s.raw.Read(func(fd uintptr) bool {
				var rerr error
				n, _, rerr = syscall.Recvfrom(int(fd), b, syscall.MSG_DONTWAIT)
				ok = rerr == nil && n > 0
				return true
			})
			return n, ok && err == nil
		},
		func() (int, error) { return s.file.Read(b) })
}

func (s *socket) Write(b []byte) (int, error) { return s.file.Write(b) }

// CloseWrite implements [link.Wire].
func (s *socket) CloseWrite() error { return syscall.Shutdown(s.fd, syscall.SHUT_WR) }

// Close also ends a Read or Write that is under way. Closing the descriptor
// would not wake a thread that sleeps in the kernel; shutting the socket down
// does.
func (s *socket) Close() error {
	s.once.Do(func() {
		err := syscall.Shutdown(s.fd, syscall.SHUT_RDWR)
		if errors.Is(err, syscall.ENOTCONN) {
			err = nil // the peer was first
		}
		s.err = errors.Join(err, s.file.Close())
	})
	return s.err
}

func newSocket(fd int, name string) (*socket, error) {
	if err := syscall.SetNonblock(fd, false); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &socket{file: file, fd: fd, raw: raw, TryWriter: sys.NewTryWriter(file, true)}, nil
}

// inherited takes the socket that the supervisor left at descriptor fd, and
// keeps it from the host's own children.
func inherited(fd int) (io.ReadWriteCloser, error) {
	typ, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	switch {
	case errors.Is(err, syscall.EBADF):
		return nil, errors.New("it is not open")
	case errors.Is(err, syscall.ENOTSOCK):
		return nil, errors.New("it is not a socket")
	case err != nil:
		return nil, err
	case typ != syscall.SOCK_STREAM:
		return nil, errors.New("it is not a stream socket")
	}
	syscall.CloseOnExec(fd)
	return newSocket(fd, "supervisor")
}

// direct moves a connection out of the runtime's poller.
func direct(conn *net.UnixConn) (io.ReadWriteCloser, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, dupErr = dup(int(old)) })
	if err := errors.Join(err, dupErr, conn.Close()); err != nil {
		return nil, err
	}
	return newSocket(fd, "supervisor")
}

// stdio takes descriptors 0 and 1 for the protocol and puts harmless ones in
// their place.
func stdio() (io.ReadWriteCloser, error) {
	in, err := dup(0)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	out, err := dup(1)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", errors.Join(err, syscall.Close(in)))
	}
	p := link.NewPipeWire(pollable(in, "stdin"), pollable(out, "stdout"))
	if err := silence(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// pollable wraps fd so that closing the file ends a Read under way. Files that
// the poller does not know, such as regular ones, never wait for long.
func pollable(fd int, name string) *os.File {
	// NewFile takes the descriptor as it is: blocking where this failed.
	_ = syscall.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

// silence makes descriptor 0 empty and descriptor 1 a copy of descriptor 2.
func silence() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	if err := dupOnto(int(null.Fd()), 0); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if err := dupOnto(2, 1); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// dup copies fd to a number above the standard ones, not for children.
func dup(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, err := syscall.Dup(fd)
	if err != nil {
		return -1, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(n)
	return n, nil
}
