package hosted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/folders"
	"github.com/hostsup/hostsup/workbench/language"
)

// The properties of the inputs of language tools, as JSON schemas.
const (
	propFile     = `"file":{"type":"string","minLength":1,"description":"The path of a file in a workspace folder: absolute, or relative to the folder."}`
	propPosition = `"line":{"type":"integer","minimum":1,"description":"The line; the first one is 1."},"column":{"type":"integer","minimum":1,"description":"The column in UTF-16 units; the first one is 1."}`
	propName     = `"newName":{"type":"string","minLength":1,"description":"The new name."}`
	propQuery    = `"query":{"type":"string","description":"A part of the names to look for."}`
	propLimit    = `"limit":{"type":"integer","minimum":1,"maximum":10000,"description":"At most so many results. Default: 200."}`
	propWait     = `"waitSeconds":{"type":"number","exclusiveMinimum":0,"maximum":60,"description":"How long extensions may take to find the first problem. Default: 5."}`
	propIndent   = `"tabSize":{"type":"integer","minimum":1,"maximum":100,"description":"The columns of a level. Default: 4."},"tabs":{"type":"boolean","description":"Whether lines are indented with tabs. Default: false."}`
)

const (
	usualLimit = 200    // results of a language tool
	maxLimit   = 10_000 // what an agent can ask for
	maxWait    = 60     // seconds, for problems
	maxTab     = 100    // columns
)

// languageTool is a language feature as a tool.
type languageTool struct {
	feature     language.Feature
	title       string
	description string
	position    bool // it is asked at a position
	edits       bool // the result is edits, which are never cut short
	required    string
	more        string // other properties of its input
}

const (
	needsFile     = `"file"`
	needsPosition = `"file","line","column"`
	editsAsText   = ` Nothing is changed: the result is edits, each as FILE:LINE:COL-LINE:COL "NEW TEXT", which replaces the text from the first position to before the second. All positions are those before the first edit.`
)

// allLanguageTools are the features that are tools.
var allLanguageTools = []languageTool{
	{language.FeatureHover, "Hover", "Returns what VS Code extensions show about the symbol at a position: its type, signature and documentation.", true, false, needsPosition, ""},
	{language.FeatureDefinition, "Definition", "Returns where the symbol at a position is defined, as FILE:LINE:COL.", true, false, needsPosition, propLimit},
	{language.FeatureTypeDefinition, "Type definition", "Returns where the type of the symbol at a position is defined, as FILE:LINE:COL.", true, false, needsPosition, propLimit},
	{language.FeatureImplementation, "Implementations", "Returns the implementations of the symbol at a position, as FILE:LINE:COL.", true, false, needsPosition, propLimit},
	{language.FeatureReferences, "References", "Returns all references to the symbol at a position, with its declaration, as FILE:LINE:COL.", true, false, needsPosition, propLimit},
	{language.FeatureIncoming, "Callers", "Returns the functions that call the one at a position, as FILE:LINE:COL, kind and name.", true, false, needsPosition, propLimit},
	{language.FeatureOutgoing, "Calls", "Returns the functions that the one at a position calls, as FILE:LINE:COL, kind and name.", true, false, needsPosition, propLimit},
	{language.FeatureSymbols, "Symbols of a file", "Returns the symbols that a file defines, as a tree, with kinds and positions.", false, false, needsFile, propLimit},
	{language.FeatureWorkspaceSymbol, "Symbols of the workspace", "Looks for symbols by their names in the whole workspace.", false, false, `"query"`, propQuery + "," + propLimit},
	{language.FeatureCompletion, "Completion", "Returns what could be written at a position, the best first.", true, false, needsPosition, propLimit},
	{language.FeatureDiagnostics, "Problems of a file", "Returns the errors and warnings that VS Code extensions report for a file, as FILE:LINE:COL.", false, false, needsFile, propWait + "," + propLimit},
	{language.FeatureFormat, "Format", "Formats a file." + editsAsText, false, true, needsFile, propIndent},
	{language.FeatureRename, "Rename", "Renames the symbol at a position and all references to it." + editsAsText, true, true, needsPosition + `,"newName"`, propName},
}

// languageTools returns the language features of a workbench as tools of MCP.
func languageTools(h *supervisor.Host, e *editor) (out []mcp.Tool) {
	for _, t := range allLanguageTools {
		name := "language_" + strings.ReplaceAll(string(t.feature), "-", "_")
		out = append(out, mcp.Tool{
			ID: name, Name: name, Title: t.title, Description: t.description, Schema: t.schema(), Of: "The tool " + name, ReadOnly: true,
			Invoke: func(ctx context.Context, input json.RawMessage, _ func(mcp.Progress)) (*mcp.Result, error) {
				return t.invoke(ctx, h, e, input)
			},
		})
	}
	return out
}

// schema returns the schema of the input.
func (t languageTool) schema() json.RawMessage {
	var props []string
	if t.feature != language.FeatureWorkspaceSymbol {
		props = append(props, propFile)
	}
	if t.position {
		props = append(props, propPosition)
	}
	if t.more != "" {
		props = append(props, t.more)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + t.required + `],"additionalProperties":false}`)
}

// languageInput is the input of all language tools.
type languageInput struct {
	File         *string
	Line, Column *int
	NewName      *string
	Query        *string
	Limit        *int
	WaitSeconds  *float64
	TabSize      *int
	Tabs         *bool
}

// read reads an input and checks it against the schema. The file is checked against the folders.
func (t languageTool) read(raw json.RawMessage, allowed []string) (q languageQuery, limit int, err error) {
	bad := func(format string, args ...any) error {
		return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf(format, args...)}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return q, 0, bad("an object expected: %v", err)
	}
	var shape struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(t.schema(), &shape); err != nil {
		return q, 0, err
	}
	for key := range keys {
		if shape.Properties[key] == nil {
			return q, 0, bad("the input has no property %q", key)
		}
	}
	for _, key := range shape.Required {
		if v := keys[key]; v == nil || string(v) == "null" || string(v) == `""` && key != "query" {
			return q, 0, bad("%s is missing", key)
		}
	}
	var in languageInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return q, 0, bad("%v", err)
	}
	q.Feature, limit = t.feature, usualLimit
	for _, n := range []struct {
		name string
		from *int
		to   *int
		most int
	}{{"line", in.Line, &q.Position.Line, 1<<31 - 1}, {"column", in.Column, &q.Position.Character, 1<<31 - 1}, {"limit", in.Limit, &limit, maxLimit}, {"tabSize", in.TabSize, &q.TabSize, maxTab}} {
		if n.from == nil {
			continue
		}
		if *n.from < 1 || *n.from > n.most {
			return q, 0, bad("%s must be from 1 to %d, and is %d", n.name, n.most, *n.from)
		}
		*n.to = *n.from
	}
	if t.position {
		q.Position.Line--
		q.Position.Character--
	}
	if in.WaitSeconds != nil {
		if q.Wait = *in.WaitSeconds; q.Wait <= 0 || q.Wait > maxWait {
			return q, 0, bad("waitSeconds must be over 0 and up to %d", maxWait)
		}
	}
	if in.Tabs != nil {
		q.Tabs = *in.Tabs
	}
	for _, s := range []*string{in.NewName, in.Query} {
		if s != nil {
			q.Text = *s
		}
	}
	if in.File != nil {
		path, err := fileIn(allowed, *in.File)
		if err != nil {
			return q, 0, bad("%v", err)
		}
		q.URI = workbench.File(path)
	}
	return q, limit, nil
}

// errOutside means that a file is in no workspace folder.
var errOutside = errors.New("the file is not in a workspace folder")

// fileIn returns the path of a file that is in one of the folders, also when links are followed. A
// relative name is that of a file in the first folder that has it.
func fileIn(allowed []string, name string) (string, error) {
	if len(allowed) == 0 {
		return "", fmt.Errorf("%w: %s (the host has no workspace folder)", errOutside, name)
	}
	outside := fmt.Errorf("%w: %s (the folders: %s)", errOutside, name, strings.Join(allowed, ", "))
	missing := fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	last := outside
	for _, folder := range allowed {
		path := filepath.Clean(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue
		}
		// What is elsewhere is not looked at, so that agents do not find out what exists there.
		if !below(path, folder) && !below(path, real) {
			continue
		}
		switch target, err := filepath.EvalSymlinks(path); {
		case err != nil:
			last = missing
		case below(target, real):
			return path, nil
		}
	}
	return "", last
}

// below reports whether a clean path is in a folder, by its name.
func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// invoke asks the extensions.
func (t languageTool) invoke(ctx context.Context, h *supervisor.Host, e *editor, input json.RawMessage) (*mcp.Result, error) {
	q, limit, err := t.read(input, workbench.Find[*folders.Service](e.bench).Folders())
	if err != nil {
		return nil, err
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
	out, err := askBench(ctx, e.bench, q)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	lines, err := language.Lines(q.Feature, file, raw)
	if err != nil {
		return nil, err
	}
	items, err := itemsOf(raw)
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
	return &mcp.Result{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(lines, "\n")}}, StructuredContent: content}, nil
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

// itemsOf returns the items of a result with the names and positions of the tools: paths in the place
// of file: URIs, and lines and columns that count from 1.
func itemsOf(raw json.RawMessage) ([]any, error) {
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
	}
	list, _ := all.([]any) // null if there is nothing
	out := make([]any, 0, len(list))
	for _, item := range list {
		out = append(out, forAgent(item))
	}
	return out, nil
}

// forAgent translates a value of a result.
func forAgent(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = forAgent(v[i])
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
			severity, isNumber := x.(float64)
			switch name := agentNames[key]; {
			case key == "ref", key == "command": // not for those who cannot resolve or execute it
			case name != "" && isText:
				out[name] = language.URI(uri).Path()
			case key == "severity" && isNumber:
				out[key] = diagnostics.Severity(severity).String()
			default:
				out[key] = forAgent(x)
			}
		}
		return out
	}
	return value
}

// agentNames are the names of properties that are URIs.
var agentNames = map[string]string{"uri": "file", "resource": "file", "oldResource": "oldFile", "newResource": "newFile"}
