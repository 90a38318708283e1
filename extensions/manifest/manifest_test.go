package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

var here = Source{File: "/x/package.json", Folder: "/x", Origin: extensions.User, Product: "1.100.3"}

func parse(t *testing.T, text string) (*Manifest, []error) {
	t.Helper()
	return Parse([]byte(text), here, nil)
}

func TestManifest(t *testing.T) {
	m, problems := parse(t, "\xef\xbb\xbf"+`{
		"name": "Go", "publisher": "Golang", "version": "0.1.2-beta.1", "type": "module",
		"engines": {"vscode": "^1.74.0", "node": "*"},
		"main": "./out/main.js", "browser": "out/web.js", "Main": 17,
		"extensionKind": "ui",
		"extensionDependencies": ["Vscode.Git"], "extensionPack": ["a.b", 3],
		"activationEvents": ["onUri", "*", "onCommand:go.test"],
		"contributes": {
			"commands": [{"command": "go.test"}, {"command": "go.build", "title": "Build"}, null, 3],
			"languages": [{"id": "go", "configuration": "./go.json"}, {"id": "css"}],
			"views": {"explorer": [{"id": "go.tree"}, {}], "test": 3},
			"terminal": {"profiles": [{"id": "go.shell"}]},
			"taskDefinitions": {"type": "go"},
			"grammars": []
		},
		"unknown": {"a": [1.50, "\u00e9"]},
		"__metadata": {"id": "1234", "targetPlatform": "linux-x64", "isBuiltin": true, "preRelease": true, "publisherDisplayName": "Go Team"},
		"capabilities": {"untrustedWorkspaces": {"supported": true}}
	}`)
	if m == nil {
		t.Fatal(problems)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "extensionPack[1]: wrong field: a string expected, found a number") {
		t.Errorf("problems: %v", problems)
	}
	want := "onUri:golang.go * onCommand:go.test onCommand:go.build onLanguage:go onView:go.tree onTerminalProfile:go.shell onTaskType:go"
	if got := strings.Join(m.Events, " "); got != want {
		t.Errorf("events %s\nwant   %s", got, want)
	}
	if m.ID != "golang.go" || m.Name() != "Golang.Go" || m.Main != "./out/main.js" || m.Type != "module" ||
		!slices.Equal(m.Dependencies, []extensions.ID{"vscode.git"}) || !slices.Equal(m.Pack, []extensions.ID{"a.b"}) ||
		!slices.Equal(m.Kinds, []extensions.Kind{extensions.KindUI}) || m.Platform != "linux-x64" || m.Capabilities == nil {
		t.Errorf("%+v", m)
	}
	const head = `{"id":"Golang.Go","identifier":{"value":"Golang.Go","_lower":"golang.go"},"isBuiltin":false,"isUserBuiltin":true,"isUnderDevelopment":false,` +
		`"extensionLocation":{"$mid":1,"fsPath":"/x","path":"/x","scheme":"file"},"targetPlatform":"linux-x64","uuid":"1234","publisherDisplayName":"Go Team","preRelease":true,"publisher":"Golang","name":"Go",`
	if got := string(m.Description); !strings.HasPrefix(got, head) {
		t.Errorf("%s\nwant %s", got, head)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Description, &fields); err != nil {
		t.Fatal(err)
	}
	if string(fields["unknown"]) != `{"a": [1.50, "\u00e9"]}` || fields["__metadata"] != nil || string(fields["Main"]) != "17" {
		t.Errorf("%s", m.Description)
	}
}

// base returns a valid manifest with more fields.
func base(more string) string {
	return `{"name":"n","publisher":"p","version":"1.0.0","engines":{"vscode":"^1.50.0"},"main":"m"` + more + `}`
}

func TestProblemsNameFileKeyAndExpectation(t *testing.T) {
	for _, c := range []struct {
		text, want string
		cause      error
	}{
		{``, `/x/package.json: not JSON: offset 0: a value expected`, ErrJSON},
		{`{"name":"n",}`, `/x/package.json: not JSON: offset 12: a name in quotes expected`, ErrJSON},
		{`// {}`, `/x/package.json: not JSON: offset 0: a value expected`, ErrJSON},
		{`[]`, `/x/package.json: not JSON: an object expected, found an array`, ErrJSON},
		{`{}`, `/x/package.json: name: wrong field: a string expected, found nothing`, ErrField},
		{`{"publisher":3}`, `/x/package.json: publisher: wrong field: a string expected, found a number`, ErrField},
		{`{"name":""}`, `/x/package.json: version: wrong field: a string expected, found nothing`, ErrField},
		{`{"name":"n","version":"1.0.0"}`, `/x/package.json: engines: wrong field: an object expected, found nothing`, ErrField},
		{`{"name":"n","version":"1.0.0","engines":{"vscode":1}}`, `/x/package.json: engines.vscode: wrong field: a string expected, found a number`, ErrField},
		{base(`,"extensionDependencies":{}`), `/x/package.json: extensionDependencies: wrong field: an array of strings expected, found an object`, ErrField},
		{base(`,"activationEvents":["a",null]`), `/x/package.json: activationEvents[1]: wrong field: a string expected, found null`, ErrField},
		{base(`,"main":true`), `/x/package.json: main: wrong field: a string expected, found a boolean`, ErrField},
		{base(`,"version":"1.0"`), `/x/package.json: version: wrong field: a version like 1.2.3 expected, found "1.0"`, ErrField},
		{base(`,"engines":{"vscode":"newest"}`), `/x/package.json: engines.vscode: wrong field: a version like ^1.22.0 expected, found "newest"`, ErrField},
		{base(`,"engines":{"vscode":"^1.200.0"}`), `/x/package.json: engines.vscode: made for another editor version: 1.100.3 expected, found "^1.200.0"`, ErrIncompatible},
		{`{"name":"n","version":"1.0.0","engines":{"vscode":"*"},"activationEvents":[]}`, `/x/package.json: activationEvents: wrong field: nothing without a main or browser expected`, ErrField},
		{strings.Repeat(`{"a":`, 501) + "1" + strings.Repeat("}", 501), `/x/package.json: not JSON: offset 2500: nested too deep`, ErrJSON},
	} {
		m, problems := parse(t, c.text)
		if m != nil || len(problems) != 1 || problems[0].Error() != c.want || !errors.Is(problems[0], c.cause) {
			t.Errorf("%.60s\n  %v\n  want %s", c.text, problems, c.want)
		}
	}
	for more, want := range map[string]string{
		`,"main":"../other/m"`:       `main: wrong field: a path inside of the extension's folder expected, found "../other/m"`,
		`,"contributes":[]`:          `contributes: wrong field: an object expected, found an array`,
		`,"extensionKind":["x"]`:     `extensionKind: wrong field: "ui" or "workspace" expected, found "x"`,
		`,"isBuiltin":true`:          `isBuiltin: wrong field: nothing: the editor sets it expected`,
		`,"type":["module"]`:         `type: wrong field: a string expected, found an array`,
		`,"extensionPack":"a.b"`:     `extensionPack: wrong field: an array of strings expected, found a string`,
		`,"identifier":{"value":""}`: `identifier: wrong field: nothing: the editor sets it expected`,
	} {
		m, problems := parse(t, base(more))
		if m == nil || len(problems) != 1 || problems[0].Error() != "/x/package.json: "+want {
			t.Errorf("%s\n  %v\n  want %s", more, problems, want)
		}
		var p *Problem
		if !errors.As(problems[0], &p) || !p.Warning {
			t.Errorf("%s: no warning", more)
		}
		if m != nil && strings.Contains(string(m.Description), `"isBuiltin":true`) {
			t.Errorf("a manifest declares itself builtin: %s", m.Description)
		}
	}
}

func TestEngines(t *testing.T) {
	for _, c := range []struct {
		product, engine string
		want            bool
	}{
		{"1.100.3", "^1.100.0", true}, {"1.100.3", "^1.100.3", true}, {"1.100.3", "^1.100.4", false},
		{"1.100.3", "1.100.3", true}, {"1.100.3", "1.100.2", false}, {"1.100.3", "1.100.x", true}, {"1.100.3", "1.99.x", false},
		{"1.100.3", "1.x.x", true}, {"1.100.3", "^2.0.0", false}, {"2.0.0", "^1.0.0", false}, {"2.0.0", ">=1.50.0", true},
		{"1.100.3", ">=1.101.0", false}, {"1.100.3", "*", true}, {"1.100.3", "^0.10.0", true}, {"1.100.3", "0.10.x", true},
		{"1.100.3", "0.10.0", false}, {"0.10.1", "^0.10.0", true}, {"0.10.1", "0.11.x", false}, {"0.11.1", "^0.10.0", false},
		{"1.100.3-insider", "^1.100.3", true}, {"1.100.3", "x.x.x", false}, {"1.100.3", "0.x.x", false}, {"1.100.3", " ^1.2.3-20250101 ", true},
		{"", "^9.0.0", true}, {"", "bad", false},
	} {
		at := here
		at.Product = c.product
		m, problems := Parse([]byte(base(fmt.Sprintf(`,"engines":{"vscode":%q}`, c.engine))), at, nil)
		if (m != nil) != c.want {
			t.Errorf("%s for an editor %s: %v", c.engine, c.product, problems)
		}
		at.Origin = extensions.Builtin
		if m, problems := Parse([]byte(base(fmt.Sprintf(`,"engines":{"vscode":%q}`, c.engine))), at, nil); m == nil {
			t.Errorf("builtin, %s: %v", c.engine, problems)
		}
	}
}

func TestVersionsInOrder(t *testing.T) {
	list := []string{"nonsense", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.10", "1.9.0", "1.10.0", "10.0.0"}
	for i, a := range list {
		for j, b := range list {
			if got := compareVersions(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
	if compareVersions("1.0.0+1", "1.0.0+2") != 0 {
		t.Error("build metadata affects the order")
	}
}

func TestMessages(t *testing.T) {
	defaults, err := ParseMessages([]byte(`{"title":"Run \"it\"","about":{"message":"About","comment":[]},"bad":3,"only":"Only"}`), "nls")
	if err != nil {
		t.Fatal(err)
	}
	local, err := ParseMessages([]byte("\xef\xbb\xbf"+`{"title":"Los"}`), "nls.de")
	if err != nil {
		t.Fatal(err)
	}
	text := base(`,"displayName":"%title%","description":"%about%","x":["%only%","%bad%","100% sure %x%","%%","%"]`)
	for _, c := range []struct {
		m    *Messages
		want string
	}{
		{defaults, `"displayName":"Run \"it\"","description":"About","x":["Only","%bad%","100% sure %x%","%%","%"]`},
		{local.Over(defaults), `"displayName":"Los","description":"About","x":["Only","%bad%","100% sure %x%","%%","%"]`},
		{nil, `"displayName":"%title%","description":"%about%","x":["%only%","%bad%","100% sure %x%","%%","%"]`},
	} {
		m, problems := Parse([]byte(text), here, c.m)
		if m == nil {
			t.Fatal(problems)
		}
		if !strings.Contains(string(m.Description), c.want) {
			t.Errorf("%s\nwant %s", m.Description, c.want)
		}
		if c.m != nil && (len(problems) != 1 || !errors.Is(problems[0], ErrMessage)) {
			t.Errorf("problems %v", problems)
		}
	}
	if _, err := ParseMessages([]byte(`{`), "nls"); !errors.Is(err, ErrJSON) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(base(`,"contributes":{"views":{"a":[{"id":"x"}]},"commands":[{"command":"c"}]},"title":"%t%"`)), []byte(`{"t":"T"}`))
	f.Add([]byte(base(`,"__metadata":{"id":"u"},"identifier":1,"activationEvents":["onUri"]`)), []byte(`{}`))
	f.Add([]byte(base(`,"idEntifier":1,"isbuiltin":true`)), []byte(`{}`))
	f.Add([]byte("\xef\xbb\xbf{\"name\":\"\\ud800\"}"), []byte(`[]`))
	f.Fuzz(func(t *testing.T, data, nls []byte) {
		messages, err := ParseMessages(nls, "nls")
		if (messages == nil) != (err != nil) {
			t.Fatal("neither messages nor an error")
		}
		m, problems := Parse(data, here, messages)
		fatal := 0
		for _, p := range problems {
			var problem *Problem
			if !errors.As(p, &problem) || problem.Error() == "" {
				t.Fatalf("%T", p)
			}
			if !problem.Warning {
				fatal++
			}
		}
		if (m == nil) != (fatal > 0) {
			t.Fatalf("manifest %v, problems %v", m, problems)
		}
		if m == nil {
			return
		}
		// Names are compared exactly, as in JavaScript: a manifest may have other fields.
		var id extensions.ID
		if err := json.Unmarshal(jsonwalk.Find(m.Description, "identifier._lower"), &id); err != nil || id != m.ID || !json.Valid(m.Description) {
			t.Fatalf("%v: %s", err, m.Description)
		}
		if got := jsonwalk.Member(m.Description, "isBuiltin"); string(got) != "false" {
			t.Fatalf("%s: %s", got, m.Description)
		}
	})
}
