package integration

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A service manager that listens on the control socket is told what the supervisor does,
// and no host has what was meant for the supervisor.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	dir := place(t, os.Getuid())
	file := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(file, []byte(`
supervisor { state_dir = "`+dir+`/state" }
host "env" {
  command     = ["/bin/sh", "-c", "env; exec sleep 1000"]
  protocol    = "none"
  inherit_env = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "PATH"]
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: dir + "/notify"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		t.Helper()
		b := make([]byte, 4096)
		_ = manager.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	path := dir + "/control"
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetUnlinkOnClose(false)
	inherited, err := socket.File()
	if err := errors.Join(err, socket.Close()); err != nil {
		t.Fatal(err)
	}

	// LISTEN_PID is the process that is to have the sockets.
	cmd := exec.CommandContext(ctx(t), "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" run -c "$1"`, hostsupBinary(t), file)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "NOTIFY_SOCKET=" + dir + "/notify", "WATCHDOG_USEC=300000", "LISTEN_FDS=1", "LISTEN_FDNAMES=control"}
	cmd.ExtraFiles = []*os.File{inherited}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = inherited.Close()
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	if got := told(); !strings.HasPrefix(got, "READY=1\nSTATUS=ready (1 of 1 host running") || !strings.Contains(got, path) {
		t.Fatalf("%q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	var reload []string
	for len(reload) < 2 {
		if got := told(); got != "WATCHDOG=1" {
			reload = append(reload, got)
		}
	}
	if !strings.HasPrefix(reload[0], "RELOADING=1\nMONOTONIC_USEC=") || !strings.HasPrefix(reload[1], "READY=1\n") {
		t.Errorf("a reload was told as %q", reload)
	}
	for range 3 {
		if got := told(); got != "WATCHDOG=1" {
			t.Errorf("%q", got)
		}
	}
	verb := func(args ...string) string {
		t.Helper()
		b, err := exec.CommandContext(ctx(t), hostsupBinary(t), append([]string{"--socket", path}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		return string(b)
	}
	var printed string
	eventually(t, func() bool { printed = verb("logs", "env"); return strings.Contains(printed, "PATH=") })
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG", "LISTEN_"} {
		if strings.Contains(printed, name) {
			t.Errorf("the host has %s:\n%s", name, printed)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := told()
	for got == "WATCHDOG=1" {
		got = told()
	}
	if got != "STOPPING=1" {
		t.Errorf("%q", got)
	}
	if err := <-waited; err != nil {
		t.Errorf("%v: %s", err, &out)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the manager's socket: %v", err)
	}
}
