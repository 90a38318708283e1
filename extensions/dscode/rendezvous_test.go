//go:build unix

package dscode

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMeet(t *testing.T) {
	dir := socketDir(t)
	out, in := filepath.Join(dir, "host.sock"), filepath.Join(dir, "main.sock")
	// What a process left that is gone is in nobody's way.
	for _, path := range []string{out, in} {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		ln.Close()
	}
	m, err := New().Features().Rendezvous(func() (string, error) { return dir, nil })
	if err != nil {
		t.Fatal(err)
	}
	if env := strings.Join(m.Env(), " "); env != EnvURL+"=ipc://"+out+" "+EnvIncoming+"=ipc://"+in {
		t.Error(env)
	}
	if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the host's stale socket: %v", err)
	}
	c, err := net.Dial("unix", in)
	if err != nil {
		t.Fatal("ours is not there before Connect:", err)
	}
	c.Close()
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Connect(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Connect after Close: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestMeetRefuses(t *testing.T) {
	if _, err := newRendezvous(filepath.Join(socketDir(t), strings.Repeat("x", 100))); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a shorter one") {
		t.Errorf("%v", err)
	}
	dir := socketDir(t)
	if err := os.WriteFile(filepath.Join(dir, "main.sock"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newRendezvous(dir); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("%v", err)
	}
	if _, err := newRendezvous(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Ten attempts, with waits of 200 ms to 1.8 s between them.
func TestAttempts(t *testing.T) {
	dir := socketDir(t)
	synctest.Test(t, func(t *testing.T) {
		m := &rendezvous{out: filepath.Join(dir, "host.sock"), closed: make(chan struct{})}
		began := time.Now()
		_, err := m.Connect(t.Context())
		if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "attempt 10 of 10 to connect: ") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("after %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &rendezvous{out: filepath.Join(dir, "host.sock"), closed: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := m.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 300*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := m.Connect(ctx); err == nil {
			t.Error("connected twice")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "main.sock"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		m := &rendezvous{out: filepath.Join(dir, "host.sock"), ln: ln, closed: make(chan struct{})}
		done := make(chan error)
		go func() {
			_, err := m.Connect(t.Context())
			done <- err
		}()
		synctest.Wait()
		go m.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
	// A host whose process is gone is not waited for.
	synctest.Test(t, func(t *testing.T) {
		m := &rendezvous{out: filepath.Join(dir, "host.sock"), closed: make(chan struct{})}
		began := time.Now()
		if _, err := m.dial(t.Context(), nil, 1<<30, 0); !errors.Is(err, errHostGone) || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := m.dial(t.Context(), nil, os.Getpid(), 0); !errors.Is(err, os.ErrNotExist) || time.Since(began) != 9*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestProtocolsAreEqual(t *testing.T) {
	if New() != New() {
		t.Error("two protocols")
	}
}
