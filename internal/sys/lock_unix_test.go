//go:build unix

package sys

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestUnlockEndsTheLockOfACopy keeps a copy of the descriptor open, as a process
// that is being started does until it runs its program.
func TestUnlockEndsTheLockOfACopy(t *testing.T) {
	dir := t.TempDir()
	open := func() *os.File {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	mine, next := open(), open()
	defer next.Close()
	if err := Lock(mine); err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(mine.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(copied) }()
	if err := Lock(next); !errors.Is(err, ErrLocked) {
		t.Errorf("it is locked, and %v", err)
	}
	if err := Unlock(mine); err != nil {
		t.Error(err)
	}
	if err := Lock(next); err != nil {
		t.Error(err)
	}
}
