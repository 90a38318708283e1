package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/text"
)

// service returns a service that ends with the test.
func service(t *testing.T, opt Options) *Service {
	t.Helper()
	s := New(opt)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// written makes a file and returns its URI.
func written(t *testing.T, dir, name, content string) workbench.URI {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return workbench.File(path)
}

func opened(t *testing.T, s *Service, uri workbench.URI) *Document {
	t.Helper()
	d, err := s.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func has(t *testing.T, d *Document, want string) {
	t.Helper()
	if now, _ := d.Text(); now.String() != want {
		t.Errorf("%s: %q, want %q", d.URI(), now, want)
	}
}

// call calls a method as an extension would. args are encoded as JSON.
func call(t *testing.T, s *Service, guard workbench.Guard, method string, args ...any) (any, error) {
	t.Helper()
	c := workbench.NewCall(nil, 1, method, workbench.Params(args...))
	c.Guard = guard
	m := s.Methods()[method]
	if m.Do != nil {
		return m.Do(t.Context(), c)
	}
	return m.Now(c)
}

func insert(content string) []text.Edit { return []text.Edit{{Range: text.At(1, 1), Text: content}} }

func TestDocumentOfAProgram(t *testing.T) {
	s := service(t, Options{})
	uri := written(t, t.TempDir(), "a.txt", "one")
	path, _ := uri.FilePath()
	d, again := opened(t, s, uri), opened(t, s, uri)
	if err := d.Change(insert("x")); err != nil {
		t.Fatal(err)
	}
	has(t, again, "xone")
	if !again.Dirty() || again.Language() != plain {
		t.Error(again.Dirty(), again.Language())
	}
	if err := d.Undo(t.Context()); err != nil || d.Dirty() {
		t.Error(err, "the text is saved")
	}
	if err := errors.Join(d.Redo(t.Context()), d.Save(t.Context())); err != nil || d.Dirty() {
		t.Error(err)
	}
	got, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(got) != "xone" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, %v", got, info, err)
	}
	written(t, filepath.Dir(path), "a.txt", "elsewhere")
	if err := errors.Join(d.Change(insert("y")), d.Save(t.Context())); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	var named *codec.Error
	if err := d.Save(t.Context()); !errors.As(err, &named) || named.Name != NameConflict {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); string(got) != "elsewhere" {
		t.Errorf("%q, %v", got, err)
	}
	overlap := []text.Edit{{Range: text.Range{StartLine: 1, StartColumn: 1, EndLine: 1, EndColumn: 3}}, {Range: text.At(1, 2), Text: "a"}}
	if err := d.Change(overlap); err == nil {
		t.Error("edits overlap")
	}
	d.Close()
	if err := d.Change(insert("z")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	s := service(t, Options{})
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := errors.Join(os.WriteFile(big, nil, 0o600), os.Truncate(big, maxSize+1)); err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[workbench.URI]error{
		workbench.File(big): ErrTooLarge, written(t, dir, "binary", "a\x00"): ErrBinary, workbench.File(dir): nil,
		workbench.File(dir + "/none"): nil, {Scheme: "made", Path: "/x"}: nil, {Scheme: "untitled", Path: big}: nil,
	} {
		d, err := s.Open(t.Context(), uri)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), "cannot open "+uri.String()) {
			t.Errorf("%s: %v, %v", uri, d, err)
		}
	}
	if len(s.Documents()) > 0 {
		t.Error(s.Documents())
	}
}

func TestUntitledDocumentIsSavedAtItsPath(t *testing.T) {
	s := service(t, Options{})
	path := filepath.Join(t.TempDir(), "new.txt")
	d := opened(t, s, workbench.URI{Scheme: "untitled", Path: path})
	if err := errors.Join(d.Change(insert("text")), d.Save(t.Context())); err != nil {
		t.Fatal(err)
	}
	if d.URI() != workbench.File(path) || d.Dirty() {
		t.Error(d.URI(), d.Dirty())
	}
	has(t, d, "text")
	if got, err := os.ReadFile(path); string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	uri, err := call(t, s, nil, "MainThreadDocuments.$tryCreateDocument", map[string]string{"content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := call(t, s, nil, "MainThreadDocuments.$trySaveDocument", uri); err == nil {
		t.Error("a document without a path was saved", out)
	}
}

// watched is a watcher that a test triggers.
type watched map[string]func()

func (w watched) Watch(path string, changed func()) func() {
	w[path] = changed
	return func() { delete(w, path) }
}

func TestDocumentsAreReadAgain(t *testing.T) {
	w := watched{}
	s := New(Options{Watcher: w})
	dir := t.TempDir()
	clean, dirty := opened(t, s, written(t, dir, "clean", "1")), opened(t, s, written(t, dir, "dirty", "1"))
	if err := dirty.Change(insert("x")); err != nil {
		t.Fatal(err)
	}
	written(t, dir, "clean", "2")
	written(t, dir, "dirty", "2")
	for _, changed := range w {
		changed()
	}
	s.work.Wait()
	has(t, clean, "2")
	has(t, dirty, "x1")
	if clean.Dirty() || !dirty.Dirty() {
		t.Error(clean.Dirty(), dirty.Dirty())
	}
	if err := s.Close(); err != nil || len(w) > 0 {
		t.Errorf("%v, %v is watched", err, w)
	}
}

func TestDocumentsThatNothingHoldsAreClosed(t *testing.T) {
	s := service(t, Options{})
	dir := t.TempDir()
	held := opened(t, s, written(t, dir, "held", ""))
	for i := range maxUnused + 5 {
		uri := written(t, dir, fmt.Sprintf("f%02d", i), "")
		if _, err := call(t, s, nil, "MainThreadDocuments.$tryOpenDocument", uri); err != nil {
			t.Fatal(err)
		}
	}
	all := s.Documents()
	if len(all) != maxUnused+1 || !slices.Contains(all, held.URI()) || slices.Contains(all, workbench.File(dir+"/f04")) || !slices.Contains(all, workbench.File(dir+"/f05")) {
		t.Errorf("%d: %v", len(all), all)
	}
}

// forbidding is a guard that forbids a use.
type forbidding workbench.Use

func (f forbidding) Check(path string, use workbench.Use) (string, error) {
	if use == workbench.Use(f) {
		return "", workbench.NoPermissions(path)
	}
	return path, nil
}

func (forbidding) Confines() bool { return true }

func TestConfinedHostsUseOnlyTheirFiles(t *testing.T) {
	s := service(t, Options{})
	uri := written(t, t.TempDir(), "a.txt", "one")
	if _, err := call(t, s, forbidding(workbench.Read), "MainThreadDocuments.$tryOpenDocument", uri); !disk.Named(err, workbench.NameNoPermissions) {
		t.Error(err)
	}
	d := opened(t, s, uri)
	edit := workspaceEdit(change{Resource: &uri}, "x")
	if done, err := call(t, s, forbidding(workbench.Write), "MainThreadBulkEdits.$tryApplyWorkspaceEdit", edit); done == true || err == nil {
		t.Error(done, err)
	}
	has(t, d, "one")
	if err := d.Change(insert("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, s, forbidding(workbench.Write), "MainThreadDocuments.$trySaveDocument", uri); !disk.Named(err, workbench.NameNoPermissions) {
		t.Error(err)
	}
}

// workspaceEdit is an edit that inserts at the start of a document.
func workspaceEdit(c change, content string) any {
	return map[string]any{"edits": []any{map[string]any{
		"resource": c.Resource, "textEdit": map[string]any{"range": text.At(1, 1), "text": content},
	}}}
}

func TestWorkspaceEditThatFailsChangesNothing(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	s := service(t, Options{})
	dir := t.TempDir()
	a, b, folder := written(t, dir, "a", "a"), written(t, dir, "b", "b"), filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	full := written(t, folder, "c", "c")
	d := opened(t, s, a)
	at := func(name string) workbench.URI { return workbench.File(filepath.Join(dir, name)) }
	edits := []any{
		map[string]any{"resource": a, "textEdit": map[string]any{"range": text.At(1, 1), "text": "x"}},
		map[string]any{"newResource": at("new")},
		map[string]any{"oldResource": a, "newResource": b, "options": map[string]bool{"overwrite": true}},
		map[string]any{"oldResource": full},
		map[string]any{"oldResource": workbench.File(folder)},
	}
	if done, err := call(t, s, nil, "MainThreadBulkEdits.$tryApplyWorkspaceEdit", map[string]any{"edits": edits}); done != true || err != nil {
		t.Error(done, err) // the folder is empty by then
	}
	has(t, d, "xa")
	if d.URI() != b {
		t.Error(d.URI())
	}
	edits = []any{
		map[string]any{"resource": b, "textEdit": map[string]any{"range": text.At(1, 1), "text": "y"}},
		map[string]any{"oldResource": b, "newResource": at("moved")},
		map[string]any{"newResource": at("second")},
		map[string]any{"oldResource": at("new"), "newResource": workbench.File(dir + "/moved/below")},
	}
	if done, err := call(t, s, nil, "MainThreadBulkEdits.$tryApplyWorkspaceEdit", map[string]any{"edits": edits}); done != false || err != nil {
		t.Error(done, err)
	}
	has(t, d, "xa")
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"b", "new"}) {
		t.Errorf("%v, %v", names, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "b")); string(got) != "a" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLanguageIsReportedOnce(t *testing.T) {
	seen := make(chan string, 10)
	s := New(Options{Opened: func(_ context.Context, language string) { seen <- language }})
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		opened(t, s, written(t, dir, name, ""))
	}
	uri := workbench.File(dir + "/a")
	if _, err := call(t, s, nil, "MainThreadLanguages.$changeLanguage", uri, "go"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(seen)
	var all []string
	for l := range seen {
		all = append(all, l)
	}
	slices.Sort(all)
	if !slices.Equal(all, []string{"go", plain}) {
		t.Error(all)
	}
}

func TestTabOperationsLeadToTheNewTabs(t *testing.T) {
	tab := func(id string) tabDTO { return tabDTO{ID: id} }
	lists := [][]string{{}, {"a"}, {"a", "b"}, {"b", "a"}, {"c", "a", "b"}, {"b", "c"}, {"c", "b", "a"}}
	for _, from := range lists {
		for _, to := range lists {
			var old, now []tabDTO
			for _, id := range from {
				old = append(old, tab(id))
			}
			for _, id := range to {
				t := tab(id)
				t.Dirty = true
				now = append(now, t)
			}
			got := slices.Clone(old)
			for _, op := range tabOperations(0, old, now) {
				switch op.Kind {
				case tabOpened:
					got = slices.Insert(got, op.Index, op.Tab)
				case tabClosed:
					got = slices.Delete(got, op.Index, op.Index+1)
				case tabUpdated:
					got[slices.IndexFunc(got, func(t tabDTO) bool { return t.ID == op.Tab.ID })] = op.Tab
				}
			}
			if !slices.Equal(got, now) {
				t.Errorf("%v to %v: %v", from, to, got)
			}
		}
	}
}

// A program that pins a document keeps a tab of it, beside the active one.
func TestPinnedDocumentHasATab(t *testing.T) {
	s := service(t, Options{})
	dir := t.TempDir()
	shown := func(want string) {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		var got []string
		for _, g := range s.tabModel(s.documents) {
			for _, tab := range g.Tabs {
				name := tab.Label
				if tab.Active {
					name += "*"
				}
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	a, b, c := opened(t, s, written(t, dir, "a", "")), opened(t, s, written(t, dir, "b", "")), opened(t, s, written(t, dir, "c", ""))
	again := opened(t, s, a.URI())
	pin := func(d *Document) {
		t.Helper()
		if err := d.Pin(); err != nil {
			t.Fatal(err)
		}
	}
	focus := func(d *Document) {
		t.Helper()
		if err := d.Focus(); err != nil {
			t.Fatal(err)
		}
	}
	pin(a)
	pin(a)
	pin(b)
	shown("a* b")
	focus(b)
	shown("a b*")
	pin(again)
	a.Close()
	shown("a b*") // the other program has it still
	again.Close()
	shown("b*")
	focus(c)
	shown("b c*")
	pin(c)
	c.Close()
	shown("b c*") // it was not the pin that has opened the tab
	focus(b)
	b.Close()
	shown("c*")
	if err := errors.Join(b.Pin(), b.Focus()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestActiveEditorInTheDelta(t *testing.T) {
	id := "e"
	var none *string
	one := &id
	for want, d := range map[string]delta{`{}`: {}, `{"newActiveEditor":null}`: {ActiveEditor: &none}, `{"newActiveEditor":"e"}`: {ActiveEditor: &one}} {
		if got, err := json.Marshal(d); string(got) != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestActiveEditor(t *testing.T) {
	s := service(t, Options{})
	if a, ok := s.Active(); ok {
		t.Errorf("%+v", a)
	}
	uri := written(t, t.TempDir(), "a.txt", "first\nsecond\n")
	d := opened(t, s, uri)
	if err := d.Show(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.active.active.editor.selections = []Selection{{AnchorLine: 2, AnchorColumn: 4, ActiveLine: 1, ActiveColumn: 3}}
	s.mu.Unlock()
	a, ok := s.Active()
	if !ok || a.URI.String() != uri.String() || a.Selected != "rst\nsec" || a.Selection.ActiveLine != 1 {
		t.Errorf("%+v, %v", a, ok)
	}
}
