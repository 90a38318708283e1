package files

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// call calls a method of the service as a host does.
func call(t *testing.T, s *Service, method string, args ...any) (string, error) {
	t.Helper()
	method = "MainThreadFileSystem." + method
	m := s.Methods()[method]
	if m.Do == nil {
		t.Fatalf("no %s", method)
	}
	out, err := m.Do(t.Context(), workbench.NewCall(nil, 1, method, workbench.Params(args...)))
	raw, bad := json.Marshal(out)
	if bad != nil {
		t.Fatal(bad)
	}
	return string(raw), err
}

func TestFilesOfThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) workbench.URI { return workbench.File(filepath.Join(dir, name)) }
	s := New(Options{MaxRead: 3})
	for _, step := range []struct {
		method string
		args   []any
		want   string // the result
		error  string
	}{
		{"$writeFile", []any{at("d/a"), workbench.Bytes("abc")}, "null", ""},
		{"$readFile", []any{at("d/a")}, `{"$buffer":"YWJj"}`, ""},
		{"$readdir", []any{at("d")}, `[["a",1]]`, ""},
		{"$readdir", []any{at("d/a")}, `[]`, disk.NameNotDirectory},
		{"$copy", []any{at("d"), at("e"), map[string]bool{"overwrite": false}}, "null", ""},
		{"$copy", []any{at("d"), at("e"), map[string]bool{"overwrite": false}}, "null", disk.NameExists},
		{"$rename", []any{at("e/a"), at("e/b"), map[string]bool{"overwrite": false}}, "null", ""},
		{"$readdir", []any{at("e")}, `[["b",1]]`, ""},
		{"$delete", []any{at("e"), map[string]bool{"recursive": false}}, "null", disk.NameUnknown},
		{"$delete", []any{at("e"), map[string]bool{"recursive": true}}, "null", ""},
		{"$mkdir", []any{at("f/g")}, "null", ""},
		{"$writeFile", []any{at("f/g"), workbench.Bytes{}}, "null", disk.NameIsDirectory},
		{"$writeFile", []any{at("long"), workbench.Bytes("abcd")}, "null", ""},
		{"$readFile", []any{at("long")}, `{"$buffer":""}`, disk.NameTooLarge},
		{"$readFile", []any{workbench.URI{Scheme: "none", Path: "/a"}}, `{"$buffer":""}`, disk.NameUnavailable},
		{"$ensureActivation", []any{"none"}, "null", ""},
	} {
		got, err := call(t, s, step.method, step.args...)
		if step.error == "" && err != nil || step.error != "" && !disk.Named(err, step.error) || got != step.want {
			t.Errorf("%s %v: %s, %v; want %s, %q", step.method, step.args, got, err, step.want, step.error)
		}
	}
}

func TestSchemeIsActivatedOnce(t *testing.T) {
	t.Parallel()
	var asked []string
	s := New(Options{Activate: func(_ context.Context, event string) error { asked = append(asked, event); return nil }})
	for _, u := range []workbench.URI{{Scheme: "x", Path: "/a"}, workbench.File("/none")} {
		if _, err := call(t, s, "$stat", u); err == nil {
			t.Errorf("%s exists", u)
		}
	}
	if len(asked) != 1 || asked[0] != "onFileSystem:x" {
		t.Error(asked)
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	u := func(path string) workbench.URI { return workbench.URI{Scheme: "x", Path: path} }
	for _, c := range []struct {
		path, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/a", "/", true}} {
		if got := inside(u(c.path), u(c.dir)); got != c.want {
			t.Errorf("%s in %s: %v", c.path, c.dir, got)
		}
	}
	if inside(workbench.File("/a/b"), u("/a")) {
		t.Error("a file is in another scheme")
	}
}

// own has one file.
type own struct{}

func (own) ReadFile(u workbench.URI) ([]byte, error) {
	if u.Path != "/a" {
		return nil, disk.Fail(disk.NameNotFound, "%s is missing", u)
	}
	return []byte("abc"), nil
}

// Files of the editor are read and never changed, and extensions cannot take their scheme.
func TestFilesOfTheEditor(t *testing.T) {
	t.Parallel()
	s := New(Options{Own: map[string]FileSystem{"own": own{}}})
	u := func(path string) workbench.URI { return workbench.URI{Scheme: "own", Path: path} }
	for _, step := range []struct {
		method string
		args   []any
		want   string // the result
		error  string
	}{
		{"$readFile", []any{u("/a")}, `{"$buffer":"YWJj"}`, ""},
		{"$readFile", []any{u("/b")}, `{"$buffer":""}`, disk.NameNotFound},
		{"$readdir", []any{u("/a")}, `[]`, disk.NameNotDirectory},
		{"$writeFile", []any{u("/a"), workbench.Bytes("abc")}, "null", workbench.NameNoPermissions},
		{"$mkdir", []any{u("/c")}, "null", workbench.NameNoPermissions},
		{"$delete", []any{u("/a"), map[string]bool{}}, "null", workbench.NameNoPermissions},
		{"$rename", []any{u("/a"), u("/b"), map[string]bool{}}, "null", workbench.NameNoPermissions},
		{"$copy", []any{u("/a"), u("/b"), map[string]bool{}}, "null", workbench.NameNoPermissions},
		{"$copy", []any{u("/a"), workbench.File(filepath.Join(t.TempDir(), "a")), map[string]bool{}}, "null", ""},
		{"$ensureActivation", []any{"own"}, "null", ""},
	} {
		got, err := call(t, s, step.method, step.args...)
		if step.error == "" && err != nil || step.error != "" && !disk.Named(err, step.error) || got != step.want {
			t.Errorf("%s %v: %s, %v; want %s, %q", step.method, step.args, got, err, step.want, step.error)
		}
	}
	stat, err := s.For(nil).Stat(t.Context(), u("/a"))
	if err != nil || stat.Type != disk.TypeFile || stat.Size != 3 || stat.Permissions != disk.ReadOnly || stat.Modified == 0 {
		t.Errorf("%+v, %v", stat, err)
	}
	s.Watch("h", 1, u("/a"), nil)
	s.Unwatch("h", 1)
}
