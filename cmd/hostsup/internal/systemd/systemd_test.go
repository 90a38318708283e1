package systemd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// manager returns where a service manager listens, and what it is told there.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	addr := &net.UnixAddr{Net: "unixgram", Name: filepath.Join(t.TempDir(), "notify")}
	c, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	t.Setenv(notifySocket, addr.Name)
	return c
}

func next(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 4096)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func from(t *testing.T) *Service {
	t.Helper()
	s, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTold(t *testing.T) {
	c := manager(t)
	s := from(t)
	if v, set := os.LookupEnv(notifySocket); set {
		t.Errorf("others would be given %s=%s", notifySocket, v)
	}
	for _, row := range []struct {
		tell func() error
		want string
	}{
		{func() error { return s.Ready("2 of 2\nhosts") }, "READY=1\nSTATUS=2 of 2 hosts"},
		{s.Reloading, "RELOADING=1\nMONOTONIC_USEC="},
		{s.Stopping, "STOPPING=1"},
		{func() error { return s.MainPID(42) }, "MAINPID=42"},
	} {
		if err := row.tell(); err != nil {
			t.Fatal(err)
		}
		if got := next(t, c); !strings.HasPrefix(got, row.want) {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
	_ = c.Close()
	if err := s.Stopping(); err == nil {
		t.Error("nobody was told")
	}
}

func TestNoManager(t *testing.T) {
	t.Setenv(notifySocket, "")
	t.Setenv("WATCHDOG_USEC", "1000000")
	s := from(t)
	if s.Socket != nil || s.Managed() || s.Environ() != nil {
		t.Error("a manager or a socket from nowhere")
	}
	if err := errors.Join(s.Ready("up"), s.Reloading(), s.Stopping(), s.Watch(t.Context(), nil)); err != nil {
		t.Error(err)
	}
}

func TestBadWatchdog(t *testing.T) {
	manager(t)
	t.Setenv("WATCHDOG_USEC", "soon")
	if _, err := FromEnvironment(); err == nil || !strings.Contains(err.Error(), "watchdog") {
		t.Errorf("%v", err)
	}
}

// A program that does not answer gives no sign of life until it answers again.
func TestWatch(t *testing.T) {
	c := manager(t)
	t.Setenv("WATCHDOG_USEC", strconv.Itoa(60_000))
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	s := from(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	alive := func(ctx context.Context) error {
		asked++
		switch {
		case asked == 3:
			_ = s.tell("stuck")
		case asked == 6:
			_ = s.tell("well")
			return nil
		case asked < 3 || asked > 6:
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(ctx, alive) }()
	for i, want := range []string{"WATCHDOG=1", "WATCHDOG=1", "stuck", "well", "WATCHDOG=1", "WATCHDOG=1"} {
		if got := next(t, c); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
