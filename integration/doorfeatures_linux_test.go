//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// doorNames returns the name that a feature has in a door, "" if the door does not have it.
func doorNames(door string, f lang.Feature) string {
	switch {
	case absentFeatures[door][f] != "":
		return ""
	case door == doorMCP:
		return toolOf(f)
	case door == doorVerb:
		return string(f)
	}
	return lspMethodOf(f)
}

func toolOf(f lang.Feature) string {
	return "language_" + strings.ReplaceAll(string(f), "-", "_")
}

// lspMethodOf returns the request, or for problems the notification, of a feature.
func lspMethodOf(f lang.Feature) string {
	switch {
	case f == lang.FeatureWorkspaceSymbol:
		return "workspace/symbol"
	case f == lang.FeatureDiagnostics:
		return "textDocument/publishDiagnostics"
	case lspRelations[f] != "":
		return lspRelations[f]
	}
	return "textDocument/" + lspMethods[f]
}

// allFeatures are the features of all doors.
func allFeatures() []lang.Feature {
	return slices.Sorted(maps.Keys(maps.Collect(func(yield func(lang.Feature, bool) bool) {
		for _, f := range append(slices.Collect(maps.Keys(lspMethods)), lang.FeatureWorkspaceSymbol, lang.FeatureDiagnostics) {
			if !yield(f, true) {
				return
			}
		}
	})))
}

// doorTable returns the table of the page: which name each feature has in each door.
func doorTable() string {
	var out strings.Builder
	out.WriteString("| feature | `hostsup lang` | LSP | MCP |\n|---|---|---|---|\n")
	for _, f := range allFeatures() {
		fmt.Fprintf(&out, "| %s |", f)
		for _, door := range []string{doorVerb, doorLSP, doorMCP} {
			name := doorNames(door, f)
			if name == "" {
				name = "–"
			} else {
				name = "`" + name + "`"
			}
			fmt.Fprintf(&out, " %s |", name)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// Each feature of hostsup lang is a request of LSP and a tool of MCP, or the table of the page says why not.
// What the doors have is asked of the doors themselves.
func TestDoorsHaveTheSameFeatures(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		out, err := exec.CommandContext(ctx(t), hostsupBinary(t), "__complete", "lang", "").Output()
		if err != nil {
			t.Fatal(err)
		}
		verb := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, ":") {
				verb[name] = true
			}
		}
		work := t.TempDir()
		path := written(t, work, "a.acme", "def one\none two\n")
		sup, h := alone(t, edited(t, version, "features", func(s *plan.Spec, o *vscode.Options) {
			s.MCP, s.LSP = &plan.MCP{Languages: true}, &plan.LSP{}
			o.Workspace = &vscode.Workspace{Folders: []string{work}}
		}))
		tools := attachMCP(t, sup, h.Name()).names(t)
		delete(tools, "language_action") // the edits of one of the code actions
		editor := editorOf(t, sup, h.Name())
		doc := opensDoc(editor, path, "def one\none two\n")
		editor.until("the problems", noted("textDocument/publishDiagnostics", path))
		for _, f := range allFeatures() {
			if want := doorNames(doorVerb, f) != ""; verb[string(f)] != want {
				t.Errorf("hostsup lang: %s is %v", f, !want)
			}
			if _, has := tools[toolOf(f)]; has != (doorNames(doorMCP, f) != "") {
				t.Errorf("MCP: %s is %v", f, has)
			}
			delete(verb, string(f))
			delete(tools, toolOf(f))
			if f == lang.FeatureDiagnostics {
				continue
			}
			_, err := editor.call(lspMethodOf(f), docAt(doc, 1, 1, "range", span(0, 0, 1, 0), "positions", list{}, "newName", "x", "query", "x", "ch", ";",
				"item", dict{"uri": doc["uri"], "range": span(0, 4, 0, 7), "selectionRange": span(0, 4, 0, 7), "name": "one"}))
			if has := err == nil || !strings.Contains(err.Error(), "are not asked by the method"); has != (doorNames(doorLSP, f) != "") {
				t.Errorf("LSP: %s is %v", f, has)
			}
		}
		if len(verb) > 0 || len(tools) > 0 {
			t.Errorf("features that the table does not have: %v %v", verb, slices.Collect(maps.Keys(tools)))
		}
		if _, err := editor.call("textDocument/odd", dict{}); err == nil || !strings.Contains(err.Error(), "are not asked by the method") {
			t.Errorf("%v", err)
		}
	})
}

// asVerb returns structured results as hostsup lang prints those of features without lines of their own:
// JSON, with lines and characters that count from 0.
func asVerb(content any) (string, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	var all struct{ Results []any }
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", err
	}
	var lines []string
	for _, one := range all.Results {
		raw, err := json.Marshal(fromZero(one))
		if err != nil {
			return "", err
		}
		lines = append(lines, string(raw))
	}
	return strings.Join(lines, "\n"), nil
}

func fromZero(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = fromZero(v[i])
		}
	case map[string]any:
		line, isLine := v["line"].(float64)
		column, isColumn := v["column"].(float64)
		if isLine && isColumn {
			return map[string]any{"line": line - 1, "character": column - 1}
		}
		for key := range v {
			v[key] = fromZero(v[key])
		}
	}
	return value
}
