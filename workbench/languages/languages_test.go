package languages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/workbench"
)

func describe(t testing.TB, dir, languages string) json.RawMessage {
	t.Helper()
	location, err := json.Marshal(workbench.File(dir))
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(fmt.Sprintf(`{"extensionLocation":%s,"contributes":{"languages":%s}}`, location, languages))
}

func TestOf(t *testing.T) {
	r := New([]json.RawMessage{
		describe(t, "/e/a", `[
			{"id":"json","aliases":["JSON"],"extensions":[".json",".code-workspace"],"filenames":["composer.lock"]},
			{"id":"jsonc","extensions":[".jsonc"],"filenames":["tsconfig.json"],"filenamePatterns":["**/.vscode/*.json","jsconfig-*.json"]},
			{"id":"python","extensions":[".PY"],"firstLine":"^#!\\s*/?.*\\bpython[0-9.-]*\\b"},
			{"id":"xml","firstLine":"(\\<\\?xml.*)|(\\<svg)"},
			{"id":"never","firstLine":"^(?!x)"}, {"id":"json"}, {"id":""}, 7, {"id":"dockerfile","filenames":["Dockerfile"],"extensions":[""]}]`),
		describe(t, "/e/b", `[{"id":"blade","extensions":[".blade.php"]},{"id":"php","extensions":[".php"]},{"id":"late","extensions":[".php"]}]`),
		json.RawMessage(`{"contributes":{"languages":{}}}`), json.RawMessage(`null`),
	})
	if ids := r.IDs(); !slices.Equal(ids, []string{"plaintext", "json", "jsonc", "python", "xml", "never", "dockerfile", "blade", "php", "late"}) {
		t.Error(ids)
	}
	mine := map[string]string{"*.inc": "php", "**/web/*.inc": "blade", "composer.lock": "python"}
	for _, c := range []struct {
		path, first, want string
		own               map[string]string
	}{
		{"/w/a.json", "", "json", nil}, {"/w/A.JSON", "", "json", nil}, {"/w/tsconfig.json", "", "jsonc", nil}, {"/w/.vscode/x.json", "", "jsonc", nil},
		{"/w/jsconfig-a.json", "", "jsonc", nil}, {"/w/composer.lock", "", "json", nil}, {"/w/composer.lock", "", "python", mine},
		{"/w/a.blade.php", "", "blade", nil}, {"/w/a.php", "", "late", nil}, {"/w/x.inc", "", "php", mine}, {"/w/web/x.inc", "", "blade", mine},
		{"/w/run", "#!/usr/bin/env python3\nx", "python", nil}, {"/w/run", "\ufeff<?xml version", "xml", nil}, {"/w/run", "", "plaintext", nil},
		{"/w/a.py", "<?xml", "python", nil}, {"/w/dockerFILE", "", "dockerfile", nil}, {"", "", "plaintext", nil},
	} {
		if got := r.Of(c.path, c.first, c.own); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.path, c.first, got, c.want)
		}
	}
	if !r.Known("plaintext") || !r.Known("xml") || r.Known("never?") || r.Label("json") != "JSON" || r.Label("php") != "php" {
		t.Error("names")
	}
	if got := (&Registry{}).Of("/a.json", "", nil); got != PlainText {
		t.Error(got)
	}
}

func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.json": `{ // mine
			"comments": {"lineComment": "//", "blockComment": ["/*", "*/"]}, "brackets": [["{", "}"], ["(", ")"], 7], "wordPattern": "[a-z]+", }`,
		"b.json": `{"comments": {"lineComment": {"comment": "#"}}, "wordPattern": {"pattern": "(?!x)"}}`,
		"c.json": `[`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := New([]json.RawMessage{describe(t, dir, `[{"id":"a","configuration":"./a.json"},{"id":"a","configuration":"b.json"},
		{"id":"bad","configuration":"c.json"},{"id":"out","configuration":"../x.json"},{"id":"none"}]`)})
	c, err := r.Configuration("a")
	if err != nil || c.LineComment != "#" || c.BlockComment != [2]string{"/*", "*/"} || len(c.Brackets) != 2 || c.Words.String() != "[a-z]+" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := r.Configuration("bad"); err == nil {
		t.Error("a file that is no JSON was read")
	}
	for _, id := range []string{"out", "none", "unknown"} {
		if c, err := r.Configuration(id); err != nil || c.Words.FindString("a-größe.b") != "a" || c.LineComment != "" {
			t.Errorf("%s: %+v, %v", id, c, err)
		}
	}
}

func TestNothingIsKnownWithoutExtensions(t *testing.T) {
	var s Service
	if got := s.Registry().IDs(); !slices.Equal(got, []string{PlainText}) || s.Of("/a.py", "") != PlainText || len(s.Statuses()) != 0 {
		t.Error(got)
	}
	s.Describe([]json.RawMessage{describe(t, "/e", `[{"id":"python","extensions":[".py"]}]`)})
	s.Associations = func(string) map[string]string { return map[string]string{"*.x": "python"} }
	if s.Of("/a.py", "") != "python" || s.Of("/a.x", "") != "python" || !s.Known("python") {
		t.Error(s.Registry().IDs())
	}
	if _, err := s.setStatus(workbench.NewCall(nil, 1, "m", codec.Raw(`["x"]`))); err == nil {
		t.Error("a handle that is no number was taken")
	}
}

// A status has the command that it executes, and whoever is interested is told of each change.
func TestStatusesAreTold(t *testing.T) {
	var told []string
	s := Service{Changed: func(host string, handle int, status *Status) {
		if status == nil {
			told = append(told, fmt.Sprint(host, handle, " gone"))
		} else {
			told = append(told, fmt.Sprint(host, handle, " ", status.Label, " ", status.Command))
		}
	}}
	host := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "one"}})
	for _, params := range []string{`[1,{"label":"a","command":{"id":"x.y","title":""}}]`, `[2,{"label":"b"}]`} {
		if _, err := s.setStatus(workbench.NewCall(host, 1, "m", codec.Raw(params))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.removeStatus(workbench.NewCall(host, 1, "m", codec.Raw(`[1]`))); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one1 a x.y", "one2 b ", "one1 gone"}; !slices.Equal(told, want) || len(s.Statuses()) != 1 {
		t.Errorf("%q, %+v", told, s.Statuses())
	}
}

func FuzzLanguages(f *testing.F) {
	f.Add(`[{"id":"a","extensions":[".a"],"filenamePatterns":["**/{a,b}"],"firstLine":"^x|y"}]`, "/w/a.b", "x")
	f.Fuzz(func(t *testing.T, languages, path, first string) {
		d := json.RawMessage(`{"contributes":{"languages":` + languages + `}}`)
		r := New([]json.RawMessage{d})
		if got := r.Of(path, first, nil); !r.Known(got) {
			t.Errorf("%q is in %q, which is not known", path, got)
		}
	})
}

func TestFoldingOfALanguage(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "false  ", `{"folding":{"offSide":true}}`: "true  ", `{"folding":7}`: "false  ",
		`{"folding":{"markers":{"start":"^a","end":"^b"}}}`:        "false ^a ^b",
		`{"folding":{"markers":{"start":"^(?!a)","end":"^b"}}}`:    "false  ",
		`{"folding":{"offSide":true,"markers":{"start":"^only"}}}`: "true  ",
	} {
		c := Configuration{}
		var parts map[string]any
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			t.Fatal(err)
		}
		if err := c.add(parts); err != nil {
			t.Fatal(err)
		}
		pattern := func(re *regexp.Regexp) string {
			if re == nil {
				return ""
			}
			return re.String()
		}
		if got := fmt.Sprintf("%t %s %s", c.OffSide, pattern(c.FoldStart), pattern(c.FoldEnd)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if c, err := New(nil).Configuration(PlainText); err != nil || !c.OffSide || len(c.Brackets) != 3 {
		t.Errorf("%+v %v", c, err)
	}
}
