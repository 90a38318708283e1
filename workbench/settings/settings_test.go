package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const described = `{"contributes":{"configuration":{"properties":{
	"a.text":{"type":"string","default":"x"},"a.app":{"scope":"application"},"a.shell":{"scope":"resource"}}},
	"configurationDefaults":{"editor.tabSize":2}},
	"capabilities":{"untrustedWorkspaces":{"restrictedConfigurations":["a.shell"]}}}`

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, s *Service, host string) {
	t.Helper()
	if _, err := s.Opening(host, 1, []json.RawMessage{json.RawMessage(described)}); err != nil {
		t.Fatal(err)
	}
}

func TestScopesWinOverEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	put(t, filepath.Join(dir, "settings.json"), `{"a.text": "user", "a.app": 1, "search.exclude": {"**/out": true}, "[go]": {"a.text": "go"}}`)
	put(t, filepath.Join(work, ".vscode", "settings.json"), `{"a.text": "work", "a.app": 2, "a.shell": "sh", "unregistered": 1}`)
	s := New(Options{Home: dir, Folders: []string{work}, Fixed: map[string]any{"a.fixed": 1}})
	opened(t, s, "h")
	inside, outside := workbench.File(filepath.Join(work, "x")), workbench.File(dir)
	for _, c := range []struct {
		name     string
		resource *workbench.URI
		language string
		want     string
	}{
		{"a.text", nil, "", `"work"`},
		{"a.text", &inside, "go", `"go"`},
		{"a.text", &outside, "", `"work"`}, // that of the only folder is that of the workspace
		{"a.app", &inside, "", `1`},        // a workspace cannot set it
		{"a.shell", &inside, "", `"sh"`},
		{"a.fixed", nil, "", `1`},
		{"unregistered", &inside, "", `1`},
		{"editor.tabSize", nil, "", `2`},
		{"files.eol", nil, "", `"auto"`},
		{"search.exclude", nil, "", `{"**/*.code-search":true,"**/bower_components":true,"**/node_modules":true,"**/out":true}`},
		{"none", nil, "", `null`},
	} {
		if got, _ := json.Marshal(s.Get(c.name, c.resource, c.language)); string(got) != c.want {
			t.Errorf("%s in %v for %q: %s, want %s", c.name, c.resource, c.language, got, c.want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestUntrustedWorkspacesHaveNoRestrictedSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".vscode", "settings.json"), `{"a.text": "work", "a.shell": "sh"}`)
	s := New(Options{Home: filepath.Join(dir, "home"), Folders: []string{dir}, Untrusted: true})
	opened(t, s, "h")
	if text, shell := s.Get("a.text", nil, ""), s.Get("a.shell", nil, ""); text != "work" || shell != nil {
		t.Errorf("%v, %v", text, shell)
	}
}

// A life gets the changes since its start, also those that came before it was up.
func TestDescribedLivesGetChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := New(Options{Home: dir})
	opened(t, s, "h")
	put(t, filepath.Join(dir, "settings.json"), `{"a.text": "now"}`)
	s.Reload()
	var told []string
	tell := func(params codec.Raw) error {
		told = append(told, string(params[strings.Index(string(params), `,{"keys"`):]))
		return nil
	}
	for _, has := range []string{described, described, `{}`} {
		if err := s.Described("h", 1, []json.RawMessage{json.RawMessage(has)}, tell); err != nil {
			t.Fatal(err)
		}
	}
	want := `,{"keys":["a.text"],"overrides":[]}],{"keys":["a.app","a.shell","a.text","editor.tabSize"],"overrides":[]}]`
	if got := strings.Join(told, ""); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := s.Described("h", 2, nil, func(codec.Raw) error { t.Error("another life was told"); return nil }); err != nil {
		t.Error(err)
	}
}

// The last good settings stay when a file is broken, and it is reported once.
func TestBrokenFilesAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	put(t, path, `{"a.text": "good"}`)
	var reports []string
	s := New(Options{Home: dir, Report: func(reason string) { reports = append(reports, reason) }})
	put(t, path, "{\n  \"a.text\": oops}")
	s.Reload()
	s.Reload()
	if v := s.Get("a.text", nil, ""); v != "good" || len(reports) != 1 || !strings.Contains(reports[0], path+":2: ") {
		t.Errorf("%v, %q", v, reports)
	}
	put(t, path, `{}`)
	s.Reload()
	if len(reports) != 2 || !strings.Contains(reports[1], "can be read again") {
		t.Errorf("%q", reports)
	}
}

// The file that a host cannot start without, and options that are no JSON.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing.json")
	if _, err := New(Options{UserFile: path}).Opening("h", 1, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if _, err := New(Options{Home: filepath.Dir(path), Fixed: map[string]any{"a": func() {}}}).Opening("h", 1, nil); err == nil {
		t.Error("a function was taken for a setting")
	}
}

// A link in the workspace does not lead a change to a file elsewhere.
func TestLinksOutOfTheWorkspaceAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work, other := filepath.Join(dir, "work"), filepath.Join(dir, "other")
	put(t, filepath.Join(other, "settings.json"), `{"a.text": "other"}`)
	put(t, filepath.Join(work, "file"), "")
	if err := os.Symlink(other, filepath.Join(work, ".vscode")); err != nil {
		t.Skip(err)
	}
	var reports []string
	s := New(Options{Home: filepath.Join(dir, "home"), Folders: []string{work}, Report: func(r string) { reports = append(reports, r) }})
	f := &file{path: filepath.Join(work, ".vscode", "settings.json"), folder: work}
	err := f.write([]byte("{}"), 0o600)
	if v := s.Get("a.text", nil, ""); err == nil || v != nil || len(reports) != 1 {
		t.Errorf("%v, %v, %q", err, v, reports)
	}
	if text, err := os.ReadFile(filepath.Join(other, "settings.json")); err != nil || string(text) != `{"a.text": "other"}` {
		t.Errorf("%s, %v", text, err)
	}
}
