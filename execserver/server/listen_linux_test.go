package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A socket at which somebody listens who has no time to accept is not taken over.
func TestBusySocketIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fullSocket(t, path)
	before, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Listen: "unix://" + path})
	if err == nil {
		stopServer(t, s)
	}
	if err == nil || !strings.Contains(err.Error(), "another program is listening there already") {
		t.Error(err)
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another one: %v", err)
	}
}

// fullSocket listens at path, and as many wait to be accepted as there is room for.
func fullSocket(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.EAGAIN) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
}
