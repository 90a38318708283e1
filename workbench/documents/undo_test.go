package documents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/text"
)

// bench is a service with a folder whose files a test compares.
type bench struct {
	*testing.T
	s   *Service
	dir string
}

func newBench(t *testing.T) *bench {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	return &bench{t, service(t, Options{Setting: func(string, workbench.URI) any { return false }}), t.TempDir()}
}

func (b *bench) at(name string) workbench.URI { return workbench.File(filepath.Join(b.dir, name)) }

// apply makes an edit of words such as "insert a x", "make a content", "move a b", "delete a".
func (b *bench) apply(words ...string) {
	b.Helper()
	var edits []any
	for _, w := range words {
		f := append(strings.Fields(w), "", "")
		at := b.at(f[1])
		switch f[0] {
		case "insert":
			edits = append(edits, map[string]any{"resource": at, "textEdit": map[string]any{"range": text.At(1, 1), "text": f[2]}})
		case "make":
			content := map[string]any{"type": "base64", "value": f[2]}
			edits = append(edits, map[string]any{"newResource": at, "options": map[string]any{"overwrite": true, "contents": content}})
		case "folder":
			edits = append(edits, map[string]any{"newResource": at, "options": map[string]any{"folder": true}})
		case "move", "copy":
			edits = append(edits, map[string]any{"oldResource": at, "newResource": b.at(f[2]), "options": map[string]any{"overwrite": true, "copy": f[0] == "copy"}})
		case "delete":
			edits = append(edits, map[string]any{"oldResource": at, "options": map[string]any{"recursive": true}})
		}
	}
	if done, err := call(b.T, b.s, nil, "MainThreadBulkEdits.$tryApplyWorkspaceEdit", map[string]any{"edits": edits}); done != true || err != nil {
		b.Fatalf("%q: %v, %v", words, done, err)
	}
}

// files returns the files of the folder, with their contents.
func (b *bench) files() string {
	b.Helper()
	var out []string
	err := filepath.WalkDir(b.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == b.dir {
			return err
		}
		name, err := filepath.Rel(b.dir, path)
		if e.IsDir() {
			out = append(out, name+"/")
			return err
		}
		data, err := os.ReadFile(path)
		out = append(out, name+"="+string(data))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(out, " ")
}

func (b *bench) hasFiles(want string) {
	b.Helper()
	if got := b.files(); got != want {
		b.Errorf("%q, want %q", got, want)
	}
}

// Every kind of edit is undone and made again, twice, to what was there before and after.
func TestWorkspaceEditIsUndoneAsAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		edits []string
		after string
	}{
		"make":                      {[]string{"make new eA=="}, "a=1 b=2 d/ d/e=3 new=x"},
		"make a folder with files":  {[]string{"folder n", "make n/x eA==", "make n/y eQ==", "insert n/x t"}, "a=1 b=2 d/ d/e=3 n/ n/x=x n/y=y"},
		"overwrite":                 {[]string{"make a eA=="}, "a=x b=2 d/ d/e=3"},
		"delete":                    {[]string{"delete a", "delete d"}, "b=2"},
		"delete in a moved folder":  {[]string{"delete d/e", "move d f"}, "a=1 b=2 f/"},
		"delete what was emptied":   {[]string{"delete d/e", "delete d"}, "a=1 b=2"},
		"move":                      {[]string{"move a c", "move d f"}, "b=2 c=1 f/ f/e=3"},
		"move over a file":          {[]string{"move a b"}, "b=1 d/ d/e=3"},
		"move around":               {[]string{"move a c", "move b a", "move c b"}, "a=2 b=1 d/ d/e=3"},
		"copy":                      {[]string{"copy d f", "copy a b"}, "a=1 b=1 d/ d/e=3 f/ f/e=3"},
		"make, move and edit":       {[]string{"make n eA==", "move n m", "insert m y"}, "a=1 b=2 d/ d/e=3 m=x"},
		"edit, move, edit":          {[]string{"insert a x", "move a c", "insert c y", "insert b z"}, "b=2 c=1 d/ d/e=3"},
		"edit a file in a folder":   {[]string{"insert d/e x", "move d f"}, "a=1 b=2 f/ f/e=3"},
		"overwrite what is edited":  {[]string{"insert a x", "make b eA==", "insert b y"}, "a=1 b=x d/ d/e=3"},
		"delete and make the same":  {[]string{"delete a", "make a eA=="}, "a=x b=2 d/ d/e=3"},
		"move away and make it new": {[]string{"move a c", "make a eA=="}, "a=x b=2 c=1 d/ d/e=3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for name, content := range map[string]string{"a": "1", "b": "2", "d/e": "3"} {
				path := filepath.Join(b.dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o640)); err != nil {
					t.Fatal(err)
				}
			}
			const before = "a=1 b=2 d/ d/e=3"
			texts := func() map[string]string {
				out := map[string]string{}
				for _, uri := range b.s.Documents() {
					d := opened(t, b.s, uri)
					now, _ := d.Text()
					out[uri.Path] = now.String()
					d.Close()
				}
				return out
			}
			first := opened(t, b.s, b.at("b"))
			b.apply(c.edits...)
			b.hasFiles(c.after)
			edited := texts()
			for range 2 {
				if err := b.s.UndoEdit(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.hasFiles(before)
				for path, content := range texts() {
					if data, err := os.ReadFile(path); string(data) != content {
						t.Errorf("%s: %q, %v", path, content, err)
					}
				}
				if info, err := os.Stat(filepath.Join(b.dir, "a")); err != nil || info.Mode().Perm() != 0o640 {
					t.Error(info, err)
				}
				if name == "overwrite what is edited" {
					return // its document is read again, which ends what could be redone
				}
				if err := b.s.RedoEdit(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.hasFiles(c.after)
				for path, content := range edited {
					if now := texts(); now[path] != content && path != first.URI().Path {
						t.Errorf("%s: %q, want %q", path, now[path], content)
					}
				}
			}
			if err := errors.Join(b.s.UndoEdit(t.Context()), b.s.UndoEdit(t.Context())); !errors.Is(err, ErrNothing) {
				t.Error(err)
			}
			b.hasFiles(before)
		})
	}
}

func TestWorkspaceEditIsNotUndoneOverOtherChanges(t *testing.T) {
	for name, c := range map[string]struct {
		edits  []string
		change func(b *bench)
		after  string
	}{
		"a file that was made is written": {[]string{"make new eA==", "move a c"}, func(b *bench) { written(b.T, b.dir, "new", "mine") }, "b=2 c=1 new=mine"},
		"a file is made where one was":    {[]string{"delete b", "move a c"}, func(b *bench) { written(b.T, b.dir, "b", "mine") }, "b=mine c=1"},
		"a file is in a folder":           {[]string{"folder n", "make m eA=="}, func(b *bench) { written(b.T, b.dir, "n/x", "mine") }, "a=1 b=2 m=x n/ n/x=mine"},
		"a file was moved away":           {[]string{"make m eA==", "move a c"}, func(b *bench) { _ = os.Rename(b.dir+"/c", b.dir+"/d") }, "b=2 d=1 m=x"},
		"a document is edited": {[]string{"make m eA==", "insert a x"}, func(b *bench) {
			d := opened(b.T, b.s, b.at("a"))
			if err := errors.Join(d.Change(insert("y")), d.Undo(b.Context()), d.Change(insert("z"))); err != nil {
				b.Error(err)
			}
		}, "a=1 b=2 m=x"},
		"a new file has text that is not saved": {[]string{"make m eA=="}, func(b *bench) {
			if err := opened(b.T, b.s, b.at("m")).Change(insert("y")); err != nil {
				b.Error(err)
			}
		}, "a=1 b=2 m=x"},
		"a document was closed": {[]string{"make m eA==", "insert a x"}, func(b *bench) {
			if err := opened(b.T, b.s, b.at("a")).Discard(); err != nil {
				b.Error(err)
			}
		}, "a=1 b=2 m=x"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			written(t, b.dir, "a", "1")
			written(t, b.dir, "b", "2")
			b.apply(c.edits...)
			c.change(b)
			if err := b.s.UndoEdit(t.Context()); !errors.Is(err, ErrNotUndone) {
				t.Error(err)
			}
			b.hasFiles(c.after)
		})
	}
}

func TestUndoOfDocumentsOfAnEdit(t *testing.T) {
	b := newBench(t)
	a, other := opened(t, b.s, written(t, b.dir, "a", "1")), opened(t, b.s, written(t, b.dir, "b", "2"))
	b.apply("insert a x", "insert b y")
	if err := other.Change(insert("z")); err != nil {
		t.Fatal(err)
	}
	if err := a.Undo(t.Context()); err != nil { // the other has changed since
		t.Error(err)
	}
	has(t, a, "1")
	has(t, other, "zy2")
	if err := errors.Join(other.Undo(t.Context()), other.Undo(t.Context())); err != nil {
		t.Error(err)
	}
	has(t, other, "2")

	// What was saved meanwhile is undone, too; what a person typed is undone first.
	b.apply("insert a x", "move b c", "make new eA==", "insert new y")
	made := opened(t, b.s, b.at("new"))
	if err := errors.Join(made.Save(t.Context()), a.Save(t.Context()), a.Change(insert("typed")), a.Undo(t.Context())); err != nil {
		t.Fatal(err)
	}
	b.hasFiles("a=x1 c=2 new=yx")
	if err := made.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	has(t, a, "1")
	b.hasFiles("a=x1 b=2")
	if other.URI() != b.at("b") || !a.Dirty() {
		t.Error(other.URI(), a.Dirty())
	}

	// The last step of a document that was opened later is the edit.
	b.apply("move b d")
	late := opened(t, b.s, b.at("d"))
	if err := late.Undo(t.Context()); err != nil || late.URI() != b.at("b") {
		t.Error(err, late.URI())
	}
	if err := late.Redo(t.Context()); err != nil || late.URI() != b.at("d") {
		t.Error(err, late.URI())
	}
}

func TestConfinedHostsUndoOnlyTheirFiles(t *testing.T) {
	b := newBench(t)
	a := opened(t, b.s, written(t, b.dir, "a", "1"))
	written(t, b.dir, "b", "2")
	if err := a.Show(); err != nil {
		t.Fatal(err)
	}
	undo := func(guard workbench.Guard) error {
		c := workbench.NewCall(nil, 1, "undo", nil)
		c.Guard = guard
		_, err := b.s.Commands()["undo"].Do(context.Background(), c)
		return err
	}
	b.apply("insert a x", "delete b")
	for _, use := range []workbench.Use{workbench.Write, workbench.Replace} {
		if err := undo(forbidding(use)); !disk.Named(err, workbench.NameNoPermissions) {
			t.Error(use, err)
		}
		b.hasFiles("a=1")
		has(t, a, "x1")
	}
	if err := undo(nil); err != nil {
		t.Error(err)
	}
	b.hasFiles("a=1 b=2")
	has(t, a, "1")
}

func TestWhatIsKeptForUndoIsBounded(t *testing.T) {
	b := newBench(t)
	d := opened(t, b.s, written(t, b.dir, "a", "1"))
	written(t, b.dir, "large", strings.Repeat("x", maxKeptOfEdit+1))
	b.apply("insert a x", "delete large")
	if err := d.Undo(t.Context()); !errors.Is(err, ErrNotUndone) || !strings.Contains(err.Error(), "large") {
		t.Error(err)
	}
	has(t, d, "x1")
	b.apply("insert a y", "make b eA==")
	for range maxKept/maxKeptOfEdit + 1 {
		written(t, b.dir, "large", strings.Repeat("x", maxKeptOfEdit-1))
		b.apply("delete large")
	}
	b.s.mu.Lock()
	kept, first := b.s.keptBytes(), b.s.past[0]
	b.s.mu.Unlock()
	if kept > maxKept || len(first.docs) > 0 {
		t.Error(kept, first.docs)
	}
	if err := d.Undo(t.Context()); !errors.Is(err, ErrNotUndone) { // it is forgotten, and not made in a part
		t.Error(err)
	}
	has(t, d, "yx1")
	for range maxPast + 1 {
		b.apply("make b eA==")
	}
	if n := len(b.s.past); n != maxPast {
		t.Error(n)
	}
}
