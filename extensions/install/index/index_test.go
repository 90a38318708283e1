package index_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestWrittenListIsRead(t *testing.T) {
	dir := t.TempDir()
	if x, err := index.Read(dir); err != nil || len(x.Extensions) != 0 {
		t.Errorf("a folder without a list has %+v, %v", x, err)
	}
	if err := os.Mkdir(filepath.Join(dir, index.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, index.Folder))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	x := &index.Index{Extensions: []index.Extension{
		{ID: "b.b", Use: "b-2", Versions: []index.Version{{Version: "1.0.0", Folder: "b-1"}, {Version: "2.0.0", Folder: "b-2", Installed: at}}},
		{ID: "A.a", Use: "a-1", Versions: []index.Version{{Version: "1.0.0", Folder: "a-1"}}},
	}}
	if err := index.Write(root, x); err != nil {
		t.Fatal(err)
	}
	got, err := index.Read(dir)
	if err != nil || !reflect.DeepEqual(got, x) || got.Extensions[0].ID != "A.a" {
		t.Errorf("read %+v, %v; want %+v", got, err, x)
	}
	if v := got.Find("B.B").InUse(); v.Version != "2.0.0" || !v.Installed.Equal(at) {
		t.Errorf("in use is %+v", v)
	}
	if use := strings.Join(got.InUse(), " "); use != "a-1 b-2" || len(got.Folders()) != 3 || got.Find("c.c") != nil {
		t.Errorf("in use are %s of %v", use, got.Folders())
	}
	entries, err := os.ReadDir(root.Name())
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the list are %v, %v", entries, err)
	}
}

func TestBrokenListsAreErrors(t *testing.T) {
	for name, text := range map[string]string{
		"half":         `{"format": 1, "exten`,
		"newer":        `{"format": 2}`,
		"not a list":   `[]`,
		"nothing used": `{"format": 1, "extensions": [{"id": "a.a", "use": "", "versions": []}]}`,
		"path":         `{"format": 1, "extensions": [{"id": "a.a", "use": "../x", "versions": [{"folder": "../x"}]}]}`,
		"hidden":       `{"format": 1, "extensions": [{"id": "a.a", "use": "..", "versions": [{"folder": ".."}]}]}`,
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, index.Folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(index.Path(dir), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if x, err := index.Read(dir); !errors.Is(err, index.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(index.Path(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := index.Read(dir); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("a folder instead of the list: %v", err)
	}
}
