package filewatch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A folder that was moved and removed before the library has looked at the move is an error for it.
// Who changes what is watched at that moment does not wait for ever.
func TestChangesBesideErrors(t *testing.T) {
	dir := t.TempDir()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sub, moved, other := filepath.Join(dir, "sub"), filepath.Join(dir, "moved"), t.TempDir()
	if err := errors.Join(os.Mkdir(sub, 0o700), w.Add(dir), w.Add(sub)); err != nil {
		t.Fatal(err)
	}
	// The library waits until this is read, and meanwhile all the rest happens.
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "first"), nil, 0o600), os.Rename(sub, moved), os.Remove(moved)); err != nil {
		t.Fatal(err)
	}
	for e := range w.Events {
		if err := errors.Join(w.Add(other), w.Remove(other)); err != nil {
			t.Fatal(err)
		}
		if e.Has(fsnotify.Remove) && e.Name == moved {
			break
		}
	}
	select {
	case err := <-w.Failed:
		t.Errorf("%v, of a folder that is gone", err)
	default:
	}
}

func TestOverflowIsKept(t *testing.T) {
	failed := make(chan error, 1)
	for _, err := range []error{os.ErrPermission, os.ErrClosed, fsnotify.ErrEventOverflow, os.ErrClosed} {
		keep(failed, err)
	}
	if err := <-failed; !errors.Is(err, fsnotify.ErrEventOverflow) {
		t.Error(err)
	}
}
