//go:build unix

package leaktest

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Tether is a pipe that processes hold open, by which a test sees the end of the
// last of them. It needs no pids: in a pid namespace a process does not know the pid
// by which the test knows it.
type Tether struct {
	// Hold begins a shell script and makes it hold the pipe; the programs that the
	// script starts hold it too.
	Hold string

	fd int
}

// NewTether makes a pipe that is removed at the end of the test.
func NewTether(t testing.TB) *Tether {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tether")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return &Tether{Hold: "exec 9>'" + path + "'; ", fd: fd}
}

// IsHeld reports whether a process holds the pipe.
func (h *Tether) IsHeld() bool {
	_, err := syscall.Read(h.fd, make([]byte, 1))
	return errors.Is(err, syscall.EAGAIN)
}
