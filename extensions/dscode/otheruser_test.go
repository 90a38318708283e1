//go:build linux

package dscode

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/require"
)

// Another user is refused, even if the permissions of the folder allow the connection.
func TestOtherUserIsRefused(t *testing.T) {
	const python = "/usr/bin/python3"
	if os.Getuid() != 0 {
		require.Privilege(t, "the right to run a program as another user")
	}
	if _, err := os.Stat(python); err != nil {
		require.Missing(t, "%v", err)
	}
	h := newHarness(t)
	h.accept()
	for path, mode := range map[string]os.FileMode{filepath.Dir(h.m.in): 0o755, h.m.in: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(60)
try:
    s.sendall(b"\0\0\0\x1a" + b'{"id":"msg_1","type":"in"}')
    sys.exit(0 if s.recv(1) == b"" else 1)
except (BrokenPipeError, ConnectionResetError):
    pass
`, h.m.in)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.dial().say("msg_1", "ours", nil)
	if m := h.next(); m.Kind != codec.Notification || m.Method != "ours" {
		t.Errorf("%+v", m)
	}
}
