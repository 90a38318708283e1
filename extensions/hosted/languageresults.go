package hosted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/folders"
	"github.com/hostsup/hostsup/workbench/language"
)

// invoke asks the extensions.
func (t languageTool) invoke(ctx context.Context, h *supervisor.Host, e *editor, input json.RawMessage, report func(mcp.Progress)) (*mcp.Result, error) {
	q, limit, err := t.read(input, workbench.Find[*folders.Service](e.bench).Folders())
	if err != nil {
		return nil, err
	}
	if h.State() != lifecycle.Running {
		report(mcp.Progress{Message: fmt.Sprintf("waiting for the extension host %q to start", h.Name()), Done: -1})
	}
	file, isFile := q.URI.FilePath()
	if isFile && e.guards.readable(file) != nil {
		// What a confined host must not read is known when it has been started, as the question does.
		if err := h.Raise(ctx); err != nil {
			return nil, err
		}
		if err := e.guards.readable(file); err != nil {
			return nil, err
		}
	}
	if t.picks {
		return t.action(ctx, e, q, file)
	}
	if t.completes {
		q.Resolve = limit
	}
	out, err := askBench(ctx, e.bench, q)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	items, lines, err := t.shown(file, raw)
	if err != nil {
		return nil, err
	}
	content := map[string]any{"results": items, "total": len(items)}
	if t.edits {
		content = map[string]any{"edits": items}
	} else {
		if len(items) > limit {
			content["results"] = items[:limit]
		}
		if left := len(lines) - limit; left > 0 && q.Feature != language.FeatureHover {
			lines = append(lines[:limit], fmt.Sprintf("… and %d more: set limit to get them", left))
		}
	}
	if len(lines) == 0 {
		lines = []string{t.nothing()}
	}
	return result(lines, content), nil
}

func result(lines []string, content map[string]any) *mcp.Result {
	return &mcp.Result{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(lines, "\n")}}, StructuredContent: content}
}

// shown returns a result as items and as lines for agents.
func (t languageTool) shown(file string, raw json.RawMessage) (items []any, lines []string, err error) {
	if items, err = itemsOf(t.feature, raw); err != nil {
		return nil, nil, err
	}
	if line := agentLines[t.feature]; line != nil {
		lines, err = line(file, raw)
	} else {
		lines, err = language.Lines(t.feature, file, raw)
	}
	return items, lines, err
}

// action returns the edits of one code action, which is found again by its title. So it does not depend on
// what a host keeps of earlier answers, which end with its life.
func (t languageTool) action(ctx context.Context, e *editor, q languageQuery, file string) (*mcp.Result, error) {
	title := q.Text
	q.Feature, q.Text = language.FeatureActions, ""
	all := workbench.Find[*language.Service](e.bench)
	out, err := actions(ctx, e.bench, q.Query)
	if err != nil {
		return nil, err
	}
	list, _ := out.([]language.Action)
	found := slices.DeleteFunc(list, func(a language.Action) bool { return a.Title != title })
	switch {
	case len(found) == 0:
		return nil, workbench.Invalid("no code action of the range has the title %q: language_actions lists those that there are now", title)
	case len(found) > 1:
		kinds := ""
		for _, a := range found {
			kinds += fmt.Sprintf(" (%s)", a.Kind)
		}
		return nil, workbench.Invalid("%d code actions have the title %q: name one of their kinds, or a smaller range:%s", len(found), title, kinds)
	}
	a := found[0]
	if a.Edit == nil && a.Ref != "" {
		if err := all.Resolve(ctx, language.FeatureActions, a.Ref, &a); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(a.Edit)
	if err != nil {
		return nil, err
	}
	items, err := itemsOf(language.FeatureRename, raw)
	if err != nil {
		return nil, err
	}
	lines, err := language.Lines(language.FeatureRename, file, raw)
	if err != nil {
		return nil, err
	}
	content := map[string]any{"edits": items}
	if a.Command != nil && a.Command.ID != "" {
		arguments := a.Command.Arguments
		if arguments == nil {
			arguments = []json.RawMessage{}
		}
		content["command"] = map[string]any{"id": a.Command.ID, "title": a.Command.Title, "arguments": arguments}
		lines = append(lines, fmt.Sprintf("The action then executes the command %s, which was not executed.", a.Command.ID))
	}
	if len(lines) == 0 {
		lines = []string{t.nothing()}
	}
	return result(lines, content), nil
}

// nothing returns the text of a result without items.
func (t languageTool) nothing() string {
	switch {
	case t.feature == language.FeatureDiagnostics:
		return "The extensions have reported no problem in the time to wait."
	case t.edits:
		return "The extensions have no edit to make."
	}
	return "The extensions have found nothing."
}

// agentLines have the lines of features for which [language.Lines] has no form of its own.
var agentLines = map[language.Feature]func(file string, raw json.RawMessage) ([]string, error){
	language.FeatureHighlights: linesOf(func(file string, h language.Highlight) string {
		return language.Span(file, h.Range) + " " + highlightKind(h.Kind)
	}),
	language.FeatureHints: linesOf(func(file string, h language.Hint) string {
		return language.Place(file, h.Position) + " " + string(h.Label)
	}),
	language.FeatureLenses: linesOf(func(file string, l language.Lens) string {
		if l.Command == nil {
			return language.Place(file, l.Range.Start)
		}
		return language.Place(file, l.Range.Start) + " " + l.Command.Title
	}),
	language.FeatureLinks: linesOf(func(file string, l language.Link) string {
		_, fragment, has := strings.Cut(string(l.Target), "#")
		target := l.Target.Path()
		if has && !strings.HasSuffix(target, "#"+fragment) {
			target += "#" + fragment
		}
		return strings.TrimSuffix(language.Span(file, l.Range)+" "+target, " ")
	}),
	language.FeatureColors: linesOf(func(file string, c language.Color) string {
		return fmt.Sprintf("%s %v %v %v %v", language.Span(file, c.Range), c.Color[0], c.Color[1], c.Color[2], c.Color[3])
	}),
	language.FeatureSignature: signatureLines,
}

// linesOf returns a function that writes each item of a list.
func linesOf[T any](line func(file string, item T) string) func(string, json.RawMessage) ([]string, error) {
	return func(file string, raw json.RawMessage) (out []string, err error) {
		var all []T
		err = json.Unmarshal(raw, &all)
		for _, one := range all {
			out = append(out, line(file, one))
		}
		return out, err
	}
}

// highlightKind returns the name of a kind of occurrences.
func highlightKind(kind int) string {
	if names := []string{"text", "read", "write"}; kind >= 0 && kind < len(names) {
		return names[kind]
	}
	return "text"
}

// signatureLines returns the signatures, the active one first.
func signatureLines(_ string, raw json.RawMessage) (out []string, err error) {
	var help *language.SignatureHelp
	if err := json.Unmarshal(raw, &help); err != nil || help == nil {
		return nil, err
	}
	for i, s := range help.Signatures {
		if i != help.Active {
			out = append(out, s.Label)
			continue
		}
		line := s.Label
		if help.Parameter >= 0 && help.Parameter < len(s.Parameters) {
			line += fmt.Sprintf(" — parameter %d", help.Parameter+1)
		}
		out = slices.Insert(out, 0, line)
	}
	return out, nil
}

// itemsOf returns the items of a result with the names and positions of the tools: paths in the place
// of file: URIs, and lines and columns that count from 1.
func itemsOf(f language.Feature, raw json.RawMessage) ([]any, error) {
	var all any
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	if m, ok := all.(map[string]any); ok {
		for _, list := range []string{"items", "edits"} {
			if in, ok := m[list]; ok {
				all = in
			}
		}
		if f == language.FeatureSignature {
			all = []any{m}
		}
	}
	list, _ := all.([]any) // null if there is nothing
	out := make([]any, 0, len(list))
	for _, item := range list {
		out = append(out, forAgent(f, item))
	}
	return out, nil
}

// forAgent translates a value of a result.
func forAgent(f language.Feature, value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = forAgent(f, v[i])
		}
	case map[string]any:
		line, hasLine := v["line"].(float64)
		character, hasCharacter := v["character"].(float64)
		if hasLine && hasCharacter && len(v) == 2 {
			return map[string]any{"line": line + 1, "column": character + 1}
		}
		out := make(map[string]any, len(v))
		for key, x := range v {
			uri, isText := x.(string)
			number, isNumber := x.(float64)
			switch name := agentNames[key]; {
			case key == "ref": // not for those who cannot resolve it
			case key == "command": // nor execute it
				if of, ok := x.(map[string]any); ok && f == language.FeatureLenses {
					out["title"] = of["title"]
				}
			case name != "" && isText:
				out[name] = language.URI(uri).Path()
			case key == "severity" && isNumber:
				out[key] = diagnostics.Severity(number).String()
			case key == "kind" && isNumber && f == language.FeatureHighlights:
				out[key] = highlightKind(int(number))
			default:
				out[key] = forAgent(f, x)
			}
		}
		return out
	}
	return value
}

// agentNames are the names of properties that are URIs.
var agentNames = map[string]string{"uri": "file", "resource": "file", "oldResource": "oldFile", "newResource": "newFile"}
