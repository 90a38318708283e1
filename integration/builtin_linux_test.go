//go:build linux

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	bench "github.com/hostsup/hostsup/workbench"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// What no extension knows of a document the editor itself finds, for the program, for clients of LSP and
// for the commands of extensions.
func TestEditorAnswersWithoutProviders(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		file := written(t, work, "plain.other", "def a(x):\n  call(x)\n\n# region tail\nb\n# endregion\ncallX call\n")
		sup, h := alone(t, edited(t, version, "builtin", func(s *plan.Spec, o *vscode.Options) {
			s.LSP = &plan.LSP{Commands: []string{"builtin.*"}}
			o.Workspace = &vscode.Workspace{Folders: []string{work}}
		}))
		s := serviceOf[*lang.Service](t, h)
		at := lang.Position{Line: 1, Character: 3}
		rng := func(l1, c1, l2, c2 int) string {
			return fmt.Sprintf(`{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}`, l1, c1, l2, c2)
		}
		list := func(items ...string) string { return "[" + strings.Join(items, ",") + "]" }
		highlights := list(`{"range":`+rng(1, 2, 1, 6)+`,"kind":0}`, `{"range":`+rng(6, 6, 6, 10)+`,"kind":0}`)
		chain := []string{rng(1, 2, 1, 6), rng(1, 2, 1, 9), rng(1, 0, 1, 9), rng(0, 0, 7, 0)}
		for _, c := range []struct {
			feature lang.Feature
			want    string
		}{
			{lang.FeatureHighlights, highlights},
			{lang.FeatureFolding, `[{"start":0,"end":1},{"start":3,"end":5}]`},
			{lang.FeatureSelections, list(list(chain...))},
		} {
			answered(t, s, c.want, lang.Query{Feature: c.feature, URI: bench.File(file), Position: at})
		}
		a := editorOf(t, sup, h.Name())
		doc := opensDoc(a, file, "x call\n\n  (call)\n")
		same(t, a.must("textDocument/documentHighlight", docAt(doc, 0, 3)), `[{"kind":1,"range":`+rng(0, 2, 0, 6)+`},{"kind":1,"range":`+rng(2, 3, 2, 7)+`}]`)
		same(t, a.must("textDocument/foldingRange", docAt(doc, 0, 0)), `[{"endLine":2,"startLine":0}]`)
		selected := a.must("textDocument/selectionRange", docAt(doc, 0, 0, "positions", []any{dict{"line": 2, "character": 4}}))
		for _, r := range []string{rng(2, 3, 2, 7), rng(2, 2, 2, 8), rng(2, 0, 2, 8), rng(0, 0, 3, 0)} {
			if !strings.Contains(selected, r) {
				t.Errorf("%s is not in %s", r, selected)
			}
		}
		// An extension that answers with no fold has none; one that does not answer leaves them to the editor.
		for _, c := range []struct{ how, want string }{{"none", "[]"}, {"silent", `[{"endLine":2,"startLine":0}]`}} {
			if out := a.must("workspace/executeCommand", dict{"command": "builtin.provide", "arguments": []any{c.how}}); out != "null" {
				t.Errorf("%s", out)
			}
			same(t, a.must("textDocument/foldingRange", docAt(doc, 0, 0)), c.want)
		}
		same(t, a.must("workspace/executeCommand", dict{"command": "builtin.ask", "arguments": []any{file}}), `["0-2","0:2 2:3","2:3-2:7 2:2-2:8 2:0-2:8 0:0-3:0"]`)
	})
}
