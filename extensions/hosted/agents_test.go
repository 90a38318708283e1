package hosted

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench/language"
)

// Only files in workspace folders are found, by whatever name.
func TestFilesOfAgentsAreInWorkspaceFolders(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"one/a/f", "two/g", "outside/secret", "one-more/h"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"one/out": "outside", "one/in": "one/a", "one/file": "outside/secret", "folder": "one", "one/gone": "nothing"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Skip(err) // not everybody may make links on Windows
		}
	}
	folders := []string{at("one"), at("two")}
	for _, c := range []struct{ name, want string }{
		{"a/f", "one/a/f"}, {at("one/a/f"), "one/a/f"}, {"g", "two/g"}, {"in/f", "one/in/f"}, {"./a/../a/f", "one/a/f"}, {"../two/g", "two/g"},
	} {
		if got, err := fileIn(folders, c.name); err != nil || got != at(c.want) {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, at(c.want))
		}
	}
	for _, c := range []struct {
		name string
		want error
	}{
		{"../outside/secret", errOutside},
		{at("outside/secret"), errOutside},
		{at("outside/none"), errOutside},
		{at("one-more/h"), errOutside},
		{at("one") + "/../outside/secret", errOutside},
		{"out/secret", errOutside},
		{"file", errOutside},
		{"gone", fs.ErrNotExist},
		{"none", fs.ErrNotExist},
	} {
		got, err := fileIn(folders[:1], c.name)
		if !errors.Is(err, c.want) || got != "" {
			t.Errorf("%s: %q, %v; want %v", c.name, got, err, c.want)
		}
	}
	if got, err := fileIn([]string{at("folder")}, at("one/a/f")); err != nil || got != at("one/a/f") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := fileIn(nil, "a"); !errors.Is(err, errOutside) {
		t.Errorf("%v", err)
	}
}

// The schemas are JSON, and what they do not allow is refused.
func TestInputsOfLanguageTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	byFeature := map[language.Feature]languageTool{}
	for _, tool := range allLanguageTools {
		byFeature[tool.feature] = tool
		if !json.Valid(tool.schema()) {
			t.Errorf("%s: %s", tool.feature, tool.schema())
		}
	}
	for _, c := range []struct {
		feature language.Feature
		input   string
		want    string
	}{
		{"hover", `[]`, "an object expected"},
		{"hover", `{"file":"f","line":1}`, "column is missing"},
		{"hover", `{"file":"f","line":1,"column":null}`, "column is missing"},
		{"hover", `{"file":"f","line":1.5,"column":1}`, "1.5"},
		{"hover", `{"file":"f","line":1,"column":0}`, "column must be from 1"},
		{"hover", `{"file":"f","line":1,"column":1,"Line":2}`, `no property "Line"`},
		{"hover", `{"file":"","line":1,"column":1}`, "file is missing"},
		{"hover", `{"file":"x","line":1,"column":1}`, "does not exist"},
		{"references", `{"file":"f","line":1,"column":1,"limit":10001}`, "limit must be from 1 to 10000"},
		{"diagnostics", `{"file":"f","waitSeconds":61}`, "waitSeconds must be over 0 and up to 60"},
		{"diagnostics", `{"file":"f","waitSeconds":0}`, "waitSeconds must be over 0"},
		{"format", `{"file":"f","tabSize":101}`, "tabSize must be from 1 to 100"},
		{"rename", `{"file":"f","line":1,"column":1,"newName":""}`, "newName is missing"},
		{"workspace-symbols", `{}`, "query is missing"},
		{"hints", `{"file":"f","line":1}`, "line and column are needed together"},
		{"hints", `{"file":"f","endLine":1,"endColumn":1}`, "endLine and endColumn need line and column"},
		{"actions", `{"file":"f","line":1,"column":1,"endColumn":1}`, "endLine and endColumn are needed together"},
		{"actions", `{"file":"f","line":2,"column":3,"endLine":2,"endColumn":2}`, "the range ends before it begins"},
		{"action", `{"file":"f","title":""}`, "title is missing"},
	} {
		_, _, err := byFeature[c.feature].read(json.RawMessage(c.input), []string{dir})
		var wrong *codec.Error
		if !errors.As(err, &wrong) || wrong.Name != codec.NameInvalidParams || !strings.Contains(wrong.Message, c.want) {
			t.Errorf("%s %s: %v, want %q", c.feature, c.input, err, c.want)
		}
	}
	q, limit, err := byFeature["references"].read(json.RawMessage(`{"file":"f","line":3,"column":7,"limit":5}`), []string{dir})
	if err != nil || limit != 5 || q.Position != (language.Position{Line: 2, Character: 6}) {
		t.Errorf("%+v %d %v", q, limit, err)
	}
	if q, _, err = byFeature["actions"].read(json.RawMessage(`{"file":"f","line":3,"column":7,"endLine":4,"endColumn":1,"kind":"quickfix"}`), []string{dir}); err != nil || q.Kind != "quickfix" ||
		q.Range == nil || *q.Range != (language.Range{Start: language.Position{Line: 2, Character: 6}, End: language.Position{Line: 3}}) {
		t.Errorf("%+v %v", q, err)
	}
	if q, _, err = byFeature["hints"].read(json.RawMessage(`{"file":"f"}`), []string{dir}); err != nil || q.Range != nil {
		t.Errorf("%+v %v", q, err)
	}
	if q, _, err = byFeature["workspace-symbols"].read(json.RawMessage(`{"query":""}`), nil); err != nil || q.Text != "" {
		t.Errorf("%+v %v", q, err)
	}
}
