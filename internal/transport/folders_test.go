//go:build unix

package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFoldersOfTheDeadAreRemoved has a folder that a killed supervisor left
// beside that of one that lives, and things of others whose names begin alike.
func TestFoldersOfTheDeadAreRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var alive Folders
	first, err := alive.Make()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	left := filepath.Join(temp, foldersPrefix+"4711")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(left, "1"), 0o700),
		os.WriteFile(filepath.Join(left, "1", "host.sock"), nil, 0o600),
		os.WriteFile(filepath.Join(elsewhere, "precious"), nil, 0o600),
		os.Symlink(elsewhere, filepath.Join(temp, foldersPrefix+"4712")),
		os.Mkdir(filepath.Join(temp, foldersPrefix+"mine"), 0o700),
		os.Mkdir(filepath.Join(temp, "hostsup-0"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var next Folders
	second, err := next.Make()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed supervisor left: %v", err)
	}
	for _, path := range []string{first, second, filepath.Join(elsewhere, "precious"), filepath.Join(temp, foldersPrefix+"mine"), filepath.Join(temp, "hostsup-0")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}

	// Somebody cleans up below a supervisor that lives.
	if err := os.RemoveAll(filepath.Dir(first)); err != nil {
		t.Fatal(err)
	}
	again, err := alive.Make()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(again); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for _, f := range []*Folders{&alive, &next, {}} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	list, err := filepath.Glob(filepath.Join(temp, foldersPrefix+"[0-9]*"))
	if err != nil || len(list) != 1 || !strings.HasSuffix(list[0], "4712") {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
