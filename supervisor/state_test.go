//go:build unix

package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hostsup/hostsup/supervisor"
)

// TestStateFolderHasOneOwner starts a second tree with the state folder of the
// first, by any of its names and with any of its files removed.
func TestStateFolderHasOneOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	begin := func(dir string) (*supervisor.Supervisor, error) {
		return supervisor.Start(context.Background(), supervisor.Spec{StateDir: dir})
	}
	first, err := begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range inside {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, link} {
		second, err := begin(dir)
		if err == nil {
			t.Errorf("two trees keep their state in %s", dir)
			_ = second.Stop(context.Background())
			continue
		}
		var used *supervisor.StateInUseError
		if !errors.As(err, &used) || used.Dir != dir || runtime.GOOS == "linux" && used.PID != os.Getpid() {
			t.Errorf("a second tree: %v", err)
		}
	}
	if err := first.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	again, err := begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
