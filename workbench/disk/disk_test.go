package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench"
)

// tree makes files and folders (names that end with a slash) in a new folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// list returns the names below a folder with the contents of the files.
func list(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			text, _ := os.Readlink(path)
			rel += "->" + text
		case info.Mode().IsRegular():
			text, _ := os.ReadFile(path)
			rel += "=" + string(text)
		}
		out = append(out, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestOperations(t *testing.T) {
	t.Parallel()
	var f FS
	for name, c := range map[string]struct {
		files []string
		do    func(ctx context.Context, dir string) error
		want  string // what there is afterwards
		error string // name of the error
	}{
		"write makes folders":            {nil, func(_ context.Context, d string) error { return f.WriteFile(d+"/a/b/c", []byte("x")) }, "a a/b a/b/c=x", ""},
		"write replaces":                 {[]string{"a"}, func(_ context.Context, d string) error { return f.WriteFile(d+"/a", nil) }, "a=", ""},
		"write on a folder":              {[]string{"a/"}, func(_ context.Context, d string) error { return f.WriteFile(d+"/a", nil) }, "a", NameIsDirectory},
		"write below a file":             {[]string{"a"}, func(_ context.Context, d string) error { return f.WriteFile(d+"/a/b", nil) }, "a=a", NameNotDirectory},
		"make folders":                   {nil, func(_ context.Context, d string) error { return f.Mkdir(d + "/a/b") }, "a a/b", ""},
		"make an existing folder":        {[]string{"a/"}, func(_ context.Context, d string) error { return f.Mkdir(d + "/a") }, "a", ""},
		"make a folder on a file":        {[]string{"a"}, func(_ context.Context, d string) error { return f.Mkdir(d + "/a") }, "a=a", NameExists},
		"rename":                         {[]string{"a"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b/c", false) }, "b b/c=a", ""},
		"rename over":                    {[]string{"a", "b"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", false) }, "a=a b=b", NameExists},
		"rename over, overwrite":         {[]string{"a", "b"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", true) }, "b=a", ""},
		"rename over a folder":           {[]string{"a", "b/c"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", true) }, "b=a", ""},
		"rename a folder over a file":    {[]string{"a/x", "b"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", true) }, "b b/x=a/x", ""},
		"rename a folder over another":   {[]string{"a/x", "b/y"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", true) }, "b b/x=a/x", ""},
		"rename to itself":               {[]string{"a"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/a", false) }, "a=a", ""},
		"rename into itself":             {[]string{"a/"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/a/b", true) }, "a", NameUnknown},
		"rename over what it is in":      {[]string{"a/b"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a/b", d+"/a", true) }, "a a/b=a/b", NameUnknown},
		"rename nothing":                 {[]string{"b"}, func(ctx context.Context, d string) error { return f.Rename(ctx, d+"/a", d+"/b", true) }, "b=b", NameNotFound},
		"copy":                           {[]string{"a/b", "a/c/d"}, func(ctx context.Context, d string) error { return f.Copy(ctx, d+"/a", d+"/z", false) }, "a a/b=a/b a/c a/c/d=a/c/d z z/b=a/b z/c z/c/d=a/c/d", ""},
		"copy over":                      {[]string{"a", "b"}, func(ctx context.Context, d string) error { return f.Copy(ctx, d+"/a", d+"/b", false) }, "a=a b=b", NameExists},
		"copy over, overwrite":           {[]string{"a/x", "b/y"}, func(ctx context.Context, d string) error { return f.Copy(ctx, d+"/a", d+"/b", true) }, "a a/x=a/x b b/x=a/x", ""},
		"copy into itself":               {[]string{"a/b"}, func(ctx context.Context, d string) error { return f.Copy(ctx, d+"/a", d+"/a/c", false) }, "a a/b=a/b", NameUnknown},
		"copy to itself":                 {[]string{"a"}, func(ctx context.Context, d string) error { return f.Copy(ctx, d+"/a", d+"/a", true) }, "a=a", NameUnknown},
		"remove":                         {[]string{"a", "b"}, func(_ context.Context, d string) error { return f.Remove(d+"/a", false) }, "b=b", ""},
		"remove nothing":                 {nil, func(_ context.Context, d string) error { return f.Remove(d+"/a", true) }, "", NameNotFound},
		"remove a folder with something": {[]string{"a/b"}, func(_ context.Context, d string) error { return f.Remove(d+"/a", false) }, "a a/b=a/b", NameUnknown},
		"remove all":                     {[]string{"a/b", "a/c/d"}, func(_ context.Context, d string) error { return f.Remove(d+"/a", true) }, "", ""},
		"a relative path":                {nil, func(context.Context, string) error { return f.Mkdir("a") }, "", NameUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, c.files...)
			err := c.do(t.Context(), dir)
			if c.error == "" && err != nil || c.error != "" && !Named(err, c.error) {
				t.Errorf("%v, want %q", err, c.error)
			}
			if got := list(t, dir); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	var f FS
	dir := tree(t, "real", "d/x")
	for to, link := range map[string]string{"real": "link", "missing": "dangling", "d": "folder"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "dangling"} {
		if err := f.WriteFile(filepath.Join(dir, name), []byte("new")); err != nil {
			t.Error(err)
		}
	}
	if err := f.Copy(t.Context(), dir+"/folder", dir+"/copied", false); err != nil {
		t.Error(err)
	}
	if err := f.Rename(t.Context(), dir+"/link", dir+"/moved", false); err != nil {
		t.Error(err)
	}
	if err := f.Remove(dir+"/folder", true); err != nil {
		t.Error(err)
	}
	if got, want := list(t, dir), "copied->d d d/x=d/x dangling->missing missing=new moved->real real=new"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := os.Remove(dir + "/missing"); err != nil {
		t.Fatal(err)
	}
	entries, err := f.ReadDir(dir)
	want := []Entry{{"copied", TypeDirectory | TypeSymbolicLink}, {"d", TypeDirectory}, {"dangling", TypeSymbolicLink}, {"moved", TypeFile | TypeSymbolicLink}, {"real", TypeFile}}
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%v, %v", entries, err)
	}
	for i, e := range entries {
		s, err := f.Stat(filepath.Join(dir, e.Name))
		if e != want[i] || s.Type != e.Type || err != nil {
			t.Errorf("%v, %v, %v; want %v", e, s, err, want[i])
		}
	}
}

func TestModesAreKept(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	var f FS
	dir := tree(t, "a", "d/x")
	if err := errors.Join(os.Chmod(dir+"/a", 0o4751), os.Chmod(dir+"/d", 0o710)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.WriteFile(dir+"/a", []byte("y")), f.Copy(t.Context(), dir+"/a", dir+"/b", false), f.Copy(t.Context(), dir+"/d", dir+"/e", false)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"a": 0o751, "b": 0o751, "e": 0o710 | os.ModeDir} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	var f FS
	dir := tree(t, "a", "d/")
	if data, err := f.ReadFile(dir+"/a", 1); string(data) != "a" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for path, want := range map[string]string{"/a": NameTooLarge, "/d": NameIsDirectory, "/b": NameNotFound, "/a/b": NameNotDirectory} {
		if _, err := f.ReadFile(dir+path, 0); !Named(err, want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if _, err := f.ReadDir(dir + "/a"); !Named(err, NameNotDirectory) {
		t.Error(err)
	}
	if err := workbench.Allowed(nil, dir, workbench.Write); err != nil {
		t.Error(err)
	}
}
