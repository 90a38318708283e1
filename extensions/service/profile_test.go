package service

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
)

// The newest profiles are kept, and other files in the folder are not touched.
func TestKeepProfile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "profiles")
	for i := range keptFiles + 3 {
		if err := keepProfile(dir, fmt.Sprintf("20260101T000000.%03d-vs-1%s", i, suffixProfile), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.WriteFile(filepath.Join(dir, "0-note.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	if len(names) != keptFiles+1 || names[0] != "0-note.txt" || names[1] != "20260101T000000.003-vs-1.cpuprofile" {
		t.Errorf("%d: %q", len(names), names)
	}
	if info, err := os.Stat(filepath.Join(dir, names[1])); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := keepProfile(filepath.Join(dir, "0-note.txt"), "x"+suffixProfile, nil); err == nil {
		t.Error("it is not a folder")
	}
}

// A runtime names files by the targets of links.
func TestResolved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "store", "acme.words-1.0.0")
	if err := os.MkdirAll(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "words")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	list := []extensions.Extension{{ID: "acme.words", Folder: link}, {ID: "acme.none"}, {ID: "acme.gone", Folder: filepath.Join(dir, "gone")}}
	before := slices.Clone(list)
	index := blame.NewIndex(resolved(list))
	for _, at := range []string{real, link} {
		if id, ok := index.File("file://" + filepath.Join(at, "main.js")); !ok || id != "acme.words" {
			t.Errorf("%s: %q", at, id)
		}
	}
	for i := range list {
		if list[i].Folder != before[i].Folder {
			t.Errorf("%+v was changed", before[i])
		}
	}
}
