package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestSnapshotIsRestored(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a/b/c", "a/b/skipped", "a/d/", "a/e")
	top, fs := filepath.Join(dir, "a"), FS{}
	for path, mode := range map[string]os.FileMode{"a/b/c": 0o750, "a/d": 0o500, "a": 0o711} {
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(path string) bool { return filepath.Base(path) == "skipped" }
	s, err := fs.Snapshot(top, 100, skip)
	if err != nil || s.Size() != int64(len("a/b/c")+len("a/e")) {
		t.Fatal(s, err)
	}
	if err := fs.Restore(top, s); !Named(err, NameExists) {
		t.Error(err)
	}
	if err := fs.Remove(filepath.Join(top, "b", "skipped"), false); err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	if err := fs.Remove(top, true); err != nil {
		t.Fatal(err)
	}
	if err := fs.Restore(top, s); err != nil || list(t, dir) != before {
		t.Errorf("%v: %s, want %s", err, list(t, dir), before)
	}
	for path, mode := range map[string]os.FileMode{"a/b/c": 0o750, "a/d": 0o500, "a": 0o711} {
		if info, err := os.Stat(filepath.Join(dir, path)); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != mode) {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	again, err := fs.Snapshot(top, 100, nil)
	if err != nil || again.Sum() != s.Sum() {
		t.Error("another tree was restored", err)
	}
	if err := os.WriteFile(filepath.Join(top, "e"), []byte("a-e"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := fs.Snapshot(top, 100, nil); err != nil || again.Sum() == s.Sum() {
		t.Error("a change is not seen", err)
	}
	if data, ok := s.Data(); ok {
		t.Errorf("a folder has the content %q", data)
	}
}

func TestSnapshotIsBounded(t *testing.T) {
	t.Parallel()
	dir, fs := tree(t, "a", "long"), FS{}
	if _, err := fs.Snapshot(dir, 4, nil); !Named(err, NameTooLarge) {
		t.Error(err)
	}
	if s, err := fs.Snapshot(filepath.Join(dir, "long"), 4, nil); err != nil || s.Size() != 4 {
		t.Error(s, err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if _, err := fs.Snapshot(dir, 100, nil); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	many := make([]string, maxEntries)
	for i := range many {
		many[i] = "many/" + strings.Repeat("x", i%100) + string(rune('a'+i/100)) + "/"
	}
	if _, err := fs.Snapshot(tree(t, many...), 100, nil); !Named(err, NameTooLarge) {
		t.Error(err)
	}
}

// What a restore has made before it failed is removed, and nothing else.
func TestRestoreThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, fs := tree(t, "a/b", "file"), FS{}
	s, err := fs.Snapshot(filepath.Join(dir, "a"), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	if err := fs.Restore(filepath.Join(dir, "file", "a"), s); err == nil || list(t, dir) != before {
		t.Errorf("%v: %s, want %s", err, list(t, dir), before)
	}
}
