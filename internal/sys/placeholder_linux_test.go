package sys

import (
	"os"
	"path/filepath"
	"testing"
)

// A placeholder that is removed between two checks must still count as one, or its
// name would not be held.
func TestRemovedPlaceholderStillCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	plain, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if Placeholder(path, plain) || !Placeholder(path, info) {
		t.Error("an ordinary folder, or no placeholder")
	}
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !vacant(int(open.Fd())) {
		t.Error("one that is open and gone counts as something that exists")
	}
	if !Placeholder(path, info) {
		t.Error("one that is gone counts as something that exists")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !Placeholder(path, info) {
		t.Error("one with a file in its place counts as something that exists")
	}
}
