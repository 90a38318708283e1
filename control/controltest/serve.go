package controltest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/sys"
)

// Serve serves sup on a control socket of its own until the test ends, and returns the
// socket's path. Where there are no control sockets Serve skips the test.
func Serve(t testing.TB, sup control.Supervisor, opt control.Options) string {
	t.Helper()
	// Not below the test's name: a socket's path must be short.
	path := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(path)
	if errors.Is(err, sys.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(sup, opt)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("close the control server: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return path
}
