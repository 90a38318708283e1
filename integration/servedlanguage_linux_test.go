//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	sandboxpolicy "github.com/hostsup/hostsup/sandbox/policy"
)

// Language features are tools of an MCP client, which get paths and positions as compilers print them.
func TestLanguageFeaturesAreToolsOfMCP(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work, secret := t.TempDir(), written(t, t.TempDir(), "secret.acme", "def one\n")
		file := written(t, work, "a.acme", "def one\none two\ndef two one\n")
		bad := written(t, work, "bad.acme", "def\n  bad\n")
		written(t, work, "plain.txt", "a")
		if err := os.Symlink(secret, filepath.Join(work, "link.acme")); err != nil {
			t.Fatal(err)
		}
		sup, h := alone(t, edited(t, version, "features", func(s *plan.Spec, o *vscode.Options) {
			s.MCP = &plan.MCP{Languages: true}
			o.Workspace = &vscode.Workspace{Folders: []string{work}}
		}))
		c := attachMCP(t, sup, h.Name())
		tools := c.names(t)
		if got := h.Status().State; got != lifecycle.Stopped || len(tools) != 25 {
			t.Errorf("%s %v", got, tools)
		}
		for name, tool := range tools {
			schema, _ := json.Marshal(tool.InputSchema)
			if a := tool.Annotations; a == nil || !a.ReadOnlyHint || tool.Description == "" || !strings.Contains(string(schema), `"required":["`) {
				t.Errorf("%s: %+v %s", name, tool, schema)
			}
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ tool, input, want string }{
			{"hover", `"file":"a.acme","line":2,"column":2`, "speaker: one\nlistener: 1 1"},
			{"definition", `"file":"a.acme","line":2,"column":2`, file + ":1:5"},
			{"type_definition", `"file":"` + file + `","line":2,"column":2`, file + ":1:5"},
			{"implementation", `"file":"a.acme","line":2,"column":2`, "/listener.acme:5:6"},
			{"references", `"file":"a.acme","line":2,"column":2`, file + ":1:5\n" + file + ":2:1\n" + file + ":3:9"},
			{"references", `"file":"a.acme","line":2,"column":2,"limit":2`, file + ":1:5\n" + file + ":2:1\n… and 1 more: set limit to get them"},
			{"incoming_calls", `"file":"a.acme","line":2,"column":2`, file + ":1:5 function caller of one a word"},
			{"outgoing_calls", `"file":"a.acme","line":2,"column":2`, file + ":1:5 function called by one a word"},
			{"symbols", `"file":"a.acme"`, file + ":1:5 variable one a word\n" + file + ":3:5 variable two a word"},
			{"workspace_symbols", `"query":"x"`, "/f.acme:2:3 class found x box"},
			{"diagnostics", `"file":"bad.acme"`, bad + ":2:3: warning: a bad word speaker 7"},
			{"diagnostics", `"file":"a.acme","waitSeconds":0.01`, "The extensions have reported no problem in the time to wait."},
			{"format", `"file":"a.acme","tabSize":2,"tabs":true`, file + `:1:1-1:4 "DEF2FALSE"`},
			{"rename", `"file":"a.acme","line":2,"column":2,"newName":"uno"`, file + `:1:5-1:8 "uno"` + "\n" + file + `:2:1-2:4 "uno"` + "\n" + file + `:3:9-3:12 "uno"`},
			{"definition", `"file":"a.acme","line":1,"column":1`, "The extensions have found nothing."},
			{"declaration", `"file":"a.acme","line":2,"column":2`, file + ":1:5"},
			{"highlights", `"file":"a.acme","line":2,"column":2`, file + ":1:5-1:8 write\n" + file + ":2:1-2:4 write\n" + file + ":3:9-3:12 write"},
			{"signature", `"file":"a.acme","line":2,"column":4`, "f(a, b) — parameter 2"},
			{"supertypes", `"file":"a.acme","line":2,"column":2`, file + ":1:5 class super one a type"},
			{"subtypes", `"file":"a.acme","line":2,"column":2`, file + ":1:5 class sub one a type"},
			{"hints", `"file":"a.acme"`, file + ":1:2 from 0 to 3\n" + file + ":3:2 bc"},
			{"hints", `"file":"a.acme","line":2,"column":1,"endLine":3,"endColumn":2`, file + ":3:2 bc"},
			{"lenses", `"file":"a.acme"`, file + ":1:5 resolved\n" + file + ":3:5 resolved"},
			{"tokens", `"file":"a.acme","limit":2`, file + ":1:1 3 keyword\n" + file + ":1:5 3 variable declaration\n… and 5 more: set limit to get them"},
			{"links", `"file":"a.acme"`, file + ":1:1-1:6 https://b.example/"},
			{"colors", `"file":"a.acme"`, file + ":1:1-1:4 1 0 0.5 1"},
			{"actions", `"file":"a.acme","kind":"refactor"`, "extract it (refactor.extract)"},
			{"actions", `"file":"a.acme","line":2,"column":1`, "fix it (quickfix)\nextract it (refactor.extract)"},
			{"action", `"file":"a.acme","title":"extract it","kind":"refactor"`, `/made.acme:1:1-1:1 "extract it"`},
			{"action", `"file":"a.acme","title":"extract it"`, `/made.acme:1:1-1:1 "extract it"`},
			// What cannot be answered is a text.
			{"action", `"file":"a.acme","title":"lose it"`, `error: InvalidParams: no code action of the range has the title "lose it": language_actions lists those that there are now`},
			{"action", `"file":"a.acme"`, "error: InvalidParams: title is missing"},
			{"references", `"file":"plain.txt","line":1,"column":1`, "error: references of " + work + "/plain.txt: no extension provides this"},
			{"hover", `"file":"` + secret + `","line":1,"column":1`, "error: InvalidParams: the file is not in a workspace folder: " + secret + " (the folders: " + work + ")"},
			{"hover", `"file":"link.acme","line":1,"column":1`, "error: InvalidParams: the file is not in a workspace folder: link.acme (the folders: " + work + ")"},
			{"hover", `"file":"none.acme","line":1,"column":1`, "error: InvalidParams: none.acme: file does not exist"},
			{"hover", `"file":"a.acme","line":0,"column":1`, "error: InvalidParams: line must be from 1 to 2147483647, and is 0"},
			{"hover", `"file":"a.acme","line":1`, "error: InvalidParams: column is missing"},
			{"symbols", `"file":"a.acme","line":1`, `error: InvalidParams: the input has no property "line"`},
		} {
			same(t, c.calls(t, "language_"+x.tool, json.RawMessage("{"+x.input+"}")), x.want)
		}
		if got := c.calls(t, "language_rename", json.RawMessage(`{"file":"a.acme","line":1,"column":1,"newName":"x"}`)); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "a keyword stays") {
			t.Errorf("%q", got)
		}
		if got := c.calls(t, "language_completion", json.RawMessage(`{"file":"a.acme","line":2,"column":4}`)); !strings.Contains(got, "zebra keyword") || !strings.Contains(got, "alpha()") {
			t.Errorf("%q", got)
		}
		if got := c.calls(t, "language_action", json.RawMessage(`{"file":"a.acme","title":"fix it"}`)); !strings.Contains(got, "The action then executes the command ") {
			t.Errorf("%q", got)
		}
		structured := func(tool, input, want string) {
			t.Helper()
			out, err := c.CallTool(ctx(t), &sdk.CallToolParams{Name: "language_" + tool, Arguments: json.RawMessage("{" + input + "}")})
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(out.StructuredContent)
			same(t, string(raw), want)
		}
		const one = `"range":{"end":{"column":8,"line":1},"start":{"column":5,"line":1}}`
		structured("definition", `"file":"a.acme","line":2,"column":2`, `{"results":[{"file":"`+file+`",`+one+`}],"total":1}`)
		structured("references", `"file":"a.acme","line":2,"column":2,"limit":1`, `{"results":[{"file":"`+file+`",`+one+`}],"total":3}`)
		structured("rename", `"file":"a.acme","line":3,"column":5,"newName":"due"`, `{"edits":[`+
			`{"file":"`+file+`","textEdit":{"range":{"end":{"column":8,"line":2},"start":{"column":5,"line":2}},"text":"due"}},`+
			`{"file":"`+file+`","textEdit":{"range":{"end":{"column":8,"line":3},"start":{"column":5,"line":3}},"text":"due"}}]}`)
		structured("diagnostics", `"file":"bad.acme"`, `{"results":[{"code":"7","host":"vs","message":"a bad word",`+
			`"range":{"end":{"column":6,"line":2},"start":{"column":3,"line":2}},"severity":"warning","source":"speaker"}],"total":1}`)
		structured("hints", `"file":"a.acme","line":1,"column":1,"endLine":1,"endColumn":4`, `{"results":[{"kind":2,"label":"from 0 to 0","position":{"column":2,"line":1}}],"total":1}`)
		structured("lenses", `"file":"a.acme","limit":1`, `{"results":[{`+one+`,"title":"resolved"}],"total":2}`)
		structured("highlights", `"file":"a.acme","line":2,"column":2,"limit":1`, `{"results":[{"kind":"write",`+one+`}],"total":3}`)
		structured("signature", `"file":"a.acme","line":2,"column":4`, `{"results":[{"activeParameter":1,"activeSignature":0,`+
			`"signatures":[{"documentation":"doc","label":"f(a, b)","parameters":[{"label":"a"},{"label":"b"}]}]}],"total":1}`)
		structured("action", `"file":"a.acme","title":"extract it"`, `{"edits":[{"file":"/made.acme","textEdit":{"range":{"end":{"column":1,"line":1},"start":{"column":1,"line":1}},"text":"extract it"}}]}`)
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("the file was changed: %q, %v", after, err)
		}
	})
}

// An agent cannot show a confined host a file that its sandbox hides, before its first start and after.
func TestLanguageToolsOfAConfinedHost(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work, state := t.TempDir(), t.TempDir()
		shown := written(t, work, "shown.acme", "def one\n")
		hidden := written(t, work, "hidden.acme", "def one\n")
		opened(t, work, state)
		for _, path := range []string{shown, hidden} { // which only the policy distinguishes
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		spec := edited(t, version, "features", func(s *plan.Spec, o *vscode.Options) {
			s.MCP = &plan.MCP{Languages: true}
			o.State, o.Reconnect, o.Workspace = state, true, &vscode.Workspace{Folders: []string{work}}
		})
		confineHost(t, &spec, "features", sandboxpolicy.Policy{Read: []string{work}, Write: []string{state}, Deny: []string{hidden}})
		sup, h := alone(t, spec)
		c := attachMCP(t, sup, h.Name())
		refused := func() {
			t.Helper()
			same(t, c.calls(t, "language_symbols", map[string]any{"file": hidden}), "error: NoPermissions: "+hidden+": the sandbox of the host does not allow this")
		}
		refused()
		same(t, c.calls(t, "language_symbols", map[string]any{"file": shown}), shown+":1:5 variable one a word")
		refused()
	})
}

// Both public client SDKs of MCP use language features through hostsup attach and over HTTP, and the host
// is killed from outside while it answers.
func TestLanguageToolsWithBothSDKs(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		node, _, _ := secondSDK(t)
		modules, err := filepath.Abs(peerDir)
		if err != nil {
			t.Fatal(err)
		}
		from := url.URL{Scheme: "file", Path: modules + "/"}
		work := t.TempDir()
		written(t, work, "a.acme", "def one\none two\ndef two one\n")
		written(t, work, "hang.acme", "hang\n")
		host := configuredHost(t, version, "features", fmt.Sprintf("    workspace = [%q]\n    serve \"mcp\" {\n      languages = true\n    }\n", work))
		host = strings.Replace(host, "  start {", "  restart { max_crashes = 20 }\n  start {", 1) // it is killed four times
		overHTTP(t, host, `"code"`, false, func(socket, at, token string) []string {
			return []string{node, filepath.Join("testdata", "mcp_language.mjs"), from.String(), hostsupBinary(t), socket, at, token, work}
		})
	})
}
