//go:build linux

package integration

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// documentState is what an extension sees of a document.
type documentState struct {
	URI, Text, Language                 string
	Dirty, CRLF, Untitled, Closed, Done bool
	Version, Lines                      int
}

// editorState is what an extension sees of the editor.
type editorState struct {
	Documents []documentState
	Active    string
	Selection []int
	Visible   int
	Tabs      []string
	Events    []string
	Done      bool
}

func (s editorState) text(name string) string {
	for _, d := range s.Documents {
		if strings.HasSuffix(d.URI, "/"+name) {
			return d.Text
		}
	}
	return ""
}

// writers is a host with an extension that writes documents, and one beside it with an extension that
// reads them.
func writers(t testing.TB, version string) (*supervisor.Host, string) {
	t.Helper()
	_, h := alone(t, edited(t, version, "texts", func(s *plan.Spec, _ *vscode.Options) {
		s.Affinity = map[string]int{"hostsup.reader": 2}
	}))
	return h, t.TempDir()
}

// resultOf returns the result of a command of an extension.
func resultOf[T any](t testing.TB, h *supervisor.Host, command string, args ...any) (out T) {
	t.Helper()
	if err := h.Call(ctx(t), command, args, &out); err != nil {
		t.Errorf("%s: %v", command, err)
	}
	return out
}

// onDisk compares the content of a file.
func onDisk(t testing.TB, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

func TestDocumentsAreOpenedShownAndEdited(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := writers(t, version)
		path := written(t, dir, "a.txt", "one\r\ntwo 😀\r\n")
		if d := resultOf[documentState](t, h, "writer.open", path); d.Text != "one\r\ntwo 😀\r\n" || d.Dirty || !d.CRLF || d.Lines != 3 || d.Version != 1 || d.Language != "plaintext" {
			t.Errorf("%+v", d)
		}
		if err := h.Call(ctx(t), "writer.open", []any{dir + "/none.txt"}, nil); err == nil || !strings.Contains(err.Error(), "cannot open file://"+dir+"/none.txt") {
			t.Errorf("%v", err)
		}
		if d := resultOf[documentState](t, h, "writer.create", "text", "markdown"); d.URI != "untitled:Untitled-1" || d.Text != "text" || !d.Untitled || !d.Dirty || d.Language != "markdown" {
			t.Errorf("%+v", d)
		}
		if d := resultOf[documentState](t, h, "writer.edit", path, "x\ny", 1, 6); !d.Done || d.Text != "one\r\ntwo 😀x\r\ny\r\n" || !d.Dirty || d.Version != 2 {
			t.Errorf("%+v", d)
		}
		onDisk(t, path, "one\r\ntwo 😀\r\n")
		if s := resultOf[editorState](t, h, "writer.state"); s.Active != "file://"+path || s.Visible != 1 || !slices.Equal(s.Tabs, []string{"1 a.txt active dirty"}) {
			t.Errorf("%+v", s)
		}
		resultOf[any](t, h, "writer.command", "undo")
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.txt") != "one\r\ntwo 😀\r\n" || !slices.Equal(s.Tabs, []string{"1 a.txt active"}) || !slices.Contains(s.Events, "change a.txt 1 reason 1") {
			t.Errorf("%+v", s)
		}
		resultOf[any](t, h, "writer.command", "redo")
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.txt") != "one\r\ntwo 😀x\r\ny\r\n" || !slices.Contains(s.Events, "change a.txt 1 reason 2") {
			t.Errorf("%+v", s)
		}
		if id := resultOf[string](t, h, "writer.language", path, "json"); id != "json" {
			t.Error(id)
		}
		if err := h.Call(ctx(t), "writer.language", []any{path, "none"}, nil); err == nil || !strings.Contains(err.Error(), "unknown language id: none") {
			t.Errorf("%v", err)
		}
		if d := resultOf[documentState](t, h, "writer.open", written(t, dir, "c.json", "{}")); d.Language != "json" {
			t.Errorf("%+v", d)
		}
		b := written(t, dir, "b.txt", "")
		type snippet struct {
			Done      bool
			Text      string
			Selection []int
		}
		if s := resultOf[snippet](t, h, "writer.snippet", b, `f(${1:arg}) { $0 \$x }`); !s.Done || s.Text != "f(arg) {  $x }" || !slices.Equal(s.Selection, []int{2, 5}) {
			t.Errorf("%+v", s)
		}
	})
}

func TestWorkspaceEditIsAllOrNothing(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := writers(t, version)
		a, b := written(t, dir, "a.txt", "a\n"), written(t, dir, "b.txt", "b\n")
		if err := os.Chmod(b, 0o640); err != nil {
			t.Fatal(err)
		}
		resultOf[documentState](t, h, "writer.edit", b, "b")
		if resultOf[bool](t, h, "writer.wrong", dir) {
			t.Error("an edit with a file that is missing was made")
		}
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.txt") != "a\n" && s.text("a.txt") != "" {
			t.Errorf("%+v", s)
		}
		if _, err := os.Stat(filepath.Join(dir, "new.txt")); !errors.Is(err, os.ErrNotExist) {
			t.Error("the new file of the edit that was not made is there", err)
		}
		s := resultOf[editorState](t, h, "writer.many", dir)
		if !s.Done || s.text("a.txt") != "Aa\n" || s.text("c.txt") != "Cb\n" || s.text("d.txt") != "one\ntwo\n" || s.text("b.txt") != "" {
			t.Errorf("%+v", s)
		}
		if !slices.Equal(s.Tabs, []string{"1 c.txt active dirty"}) || s.Active != "file://"+dir+"/c.txt" {
			t.Errorf("%+v", s)
		}
		onDisk(t, a, "a\n") // it has changes to save
		onDisk(t, dir+"/c.txt", "b\n")
		onDisk(t, dir+"/d.txt", "one\n")
		if _, err := os.Stat(b); !errors.Is(err, os.ErrNotExist) {
			t.Error("the renamed file is still there", err)
		}
		resultOf[any](t, h, "writer.command", "undo") // one step for all
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.txt") != "a\n" || s.text("b.txt") != "bb\n" || s.text("c.txt") != "" || s.text("d.txt") != "" {
			t.Errorf("%+v", s)
		}
		onDisk(t, b, "b\n")
		isGone(t, dir+"/c.txt")
		isGone(t, dir+"/d.txt")
		resultOf[any](t, h, "writer.command", "redo")
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.txt") != "Aa\n" || s.text("c.txt") != "Cb\n" || s.text("d.txt") != "one\ntwo\n" || s.text("b.txt") != "" {
			t.Errorf("%+v", s)
		}
		if d := resultOf[documentState](t, h, "writer.save", dir+"/c.txt", ""); !d.Done || d.Dirty {
			t.Errorf("%+v", d)
		}
		onDisk(t, dir+"/c.txt", "Cb\n")
		if info, err := os.Stat(dir + "/c.txt"); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", info, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 3 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

func TestDocumentsAreSaved(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := writers(t, version)
		path := written(t, dir, "a.go", "\xEF\xBB\xBFpackage a\n")
		resultOf[documentState](t, h, "writer.edit", path, "// new\n")
		if d := resultOf[documentState](t, h, "writer.save", path, "edit"); !d.Done || d.Dirty || d.Text != "// saved\n// new\npackage a\n" {
			t.Errorf("%+v", d)
		}
		onDisk(t, path, "\xEF\xBB\xBF// saved\n// new\npackage a\n")
		if s := resultOf[editorState](t, h, "writer.state"); !slices.Contains(s.Events, "save a.go") {
			t.Errorf("%+v", s)
		}
		resultOf[documentState](t, h, "writer.edit", path, "x")
		written(t, dir, "a.go", "from elsewhere\n")
		var refused *codec.Error
		if err := h.Call(ctx(t), "writer.save", []any{path, ""}, nil); !errors.As(err, &refused) || !strings.Contains(refused.Message, "has changed on disk") {
			t.Errorf("%v", err)
		}
		onDisk(t, path, "from elsewhere\n")
		clean := written(t, dir, "clean.txt", "1")
		resultOf[documentState](t, h, "writer.open", clean)
		eventually(t, func() bool {
			written(t, dir, "clean.txt", "2") // again, because a watcher begins after the document is open
			return resultOf[editorState](t, h, "writer.state").text("clean.txt") == "2"
		}, "a document without changes is read again")
		if s := resultOf[editorState](t, h, "writer.state"); s.text("a.go") != "x// saved\n// new\npackage a\n" {
			t.Errorf("%+v", s)
		}
	})
}

func TestDocumentsOfAProviderAndTabs(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := writers(t, version)
		got := resultOf[[]string](t, h, "writer.virtual")
		if len(got) != 3 || got[0] != "first\n/x" || got[1] != "second\n/x" || !strings.Contains(got[2], "cannot open made:/none") {
			t.Errorf("%q", got)
		}
		one, two := written(t, dir, "one.txt", "1"), written(t, dir, "two.txt", "2")
		tabs := resultOf[[]any](t, h, "writer.tabs", one, two)
		want := []any{2.0, []any{"1 one.txt active", "2 two.txt active"}, true, []any{"1 one.txt active"}}
		sees(t, tabs, want)
		resultOf[any](t, h, "writer.command", "vscode.open", map[string]any{"$mid": 1, "scheme": "file", "path": two})
		if s := resultOf[editorState](t, h, "writer.state"); s.Active != "file://"+two {
			t.Errorf("%+v", s)
		}
		for _, command := range []string{"workbench.action.openSettings", "editor.action.formatDocument"} {
			var refused *codec.Error
			if err := h.Call(ctx(t), "writer.command", []any{command}, nil); !errors.As(err, &refused) || refused.Message != "the command "+command+" is not supported: there is no window" {
				t.Errorf("%s: %v", command, err)
			}
		}
	})
}

// All hosts have the same documents, and a new life has them again.
func TestDocumentsOfAllHostsAndLives(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		h, dir := writers(t, version)
		path := written(t, dir, "a.txt", "text")
		resultOf[documentState](t, h, "writer.edit", path, "new ")
		sees(t, resultOf[map[string]string](t, h, "reader.documents"), map[string]string{"a.txt": "new text"})
		if !resultOf[bool](t, h, "reader.append", path, "very ") {
			t.Error("the reader cannot edit")
		}
		resultOf[any](t, h, "writer.diagnose", path, "bad")
		eventually(t, func() bool { return resultOf[editorState](t, h, "writer.state").text("a.txt") == "very new text" }, "the writer has it")
		eventually(t, func() bool {
			return slices.Equal(resultOf[[]string](t, h, "reader.diagnostics", path), []string{"bad"})
		}, "the reader has the diagnostic")

		if err := syscall.Kill(*h.Status().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		runs(t, h, 2)
		eventually(t, func() bool {
			var s editorState
			if err := h.Call(ctx(t), "writer.state", nil, &s); err != nil {
				t.Log(err)
				return false
			}
			return s.text("a.txt") == "very new text" && s.Active == "file://"+path && slices.Equal(s.Tabs, []string{"1 a.txt active dirty"})
		}, "the new life has the document")
		sees(t, resultOf[[]string](t, h, "reader.diagnostics", path), []string{})
		if d := resultOf[documentState](t, h, "writer.save", path, ""); !d.Done {
			t.Errorf("%+v", d)
		}
		onDisk(t, path, "very new text")
	})
}

// sees compares what an extension has seen.
func sees(t testing.TB, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
