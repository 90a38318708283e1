//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
	bench "github.com/hostsup/hostsup/workbench"
)

// Extensions look at documents that are visible, and many at nothing else. A document whose problems are
// asked for has a tab, and so has one that a client of LSP has open.
func TestDocumentsThatAreAskedAboutAreVisible(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, edited(t, version, "visible", func(s *plan.Spec, o *vscode.Options) {
			s.LSP = &plan.LSP{}
			o.Workspace = &vscode.Workspace{Folders: []string{t.TempDir()}}
		}))
		dir := t.TempDir()
		one, two := written(t, dir, "one.acme", "a\n"), written(t, dir, "two.acme", "b\n")
		ask := func(feature, path, more string) (string, error) {
			t.Helper()
			raw, err := json.Marshal(bench.File(path))
			if err != nil {
				t.Fatal(err)
			}
			out, err := sup.AskLanguage(ctx(t), "", json.RawMessage(`{"feature":"`+feature+`","uri":`+string(raw)+more+`}`))
			return string(out), err
		}
		tabs := func(want string) {
			t.Helper()
			var out string
			if err := executes(t, h, &out, "watcher.tabs"); err != nil || out != want {
				t.Errorf("%q, %v, want %q", out, err, want)
			}
		}
		if out, err := ask("diagnostics", one, ""); err != nil || !strings.Contains(out, "the active one") {
			t.Errorf("%s, %v", out, err)
		}
		tabs("") // nothing has it open any more
		if out, err := ask("format", one, ""); err != nil || out != "[]" && out != "null" {
			t.Errorf("%s, %v: a formatter had nothing to change", out, err)
		}

		a := editorOf(t, sup, h.Name())
		told := func(file, problem string) {
			t.Helper()
			a.until(problem, noted("textDocument/publishDiagnostics", file, problem))
		}
		opensDoc(a, two, "b\n")
		opensDoc(a, one, "a\n")
		told("one.acme", "the active one")
		// The problem may be the one from before. An answer comes after what was told before the question.
		a.must("textDocument/formatting", docAt(dict{"uri": "file://" + one}, 0, 0, "options", dict{"tabSize": 2}))
		tabs("two.acme one.acme*")
		a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": "file://" + two, "version": 2}, "contentChanges": list{dict{"text": "bb\n"}}})
		told("two.acme", "the active one")
		if out, err := ask("diagnostics", one, ""); err != nil || !strings.Contains(out, "a visible one") {
			t.Errorf("%s, %v: who asks takes no focus", out, err)
		}
		a.tell("textDocument/didClose", dict{"textDocument": dict{"uri": "file://" + two}})
		a.must("textDocument/formatting", docAt(dict{"uri": "file://" + one}, 0, 0, "options", dict{"tabSize": 2}))
		tabs("one.acme*")

		// Problems that cannot be found are not "no problems".
		var failed *service.ActivationError
		if out, err := ask("diagnostics", written(t, dir, "a.broken", "x"), `,"waitSeconds":0.1`); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no such server") {
			t.Errorf("%s, %v", out, err)
		}
	})
}
