package hosted

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hostsup/hostsup/extensions/mcp"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/language"
)

// The properties of the inputs of language tools, as JSON schemas.
const (
	propFile     = `"file":{"type":"string","minLength":1,"description":"The path of a file in a workspace folder: absolute, or relative to the folder."}`
	propPosition = `"line":{"type":"integer","minimum":1,"description":"The line; the first one is 1."},"column":{"type":"integer","minimum":1,"description":"The column in UTF-16 units; the first one is 1."}`
	propSpan     = `"line":{"type":"integer","minimum":1,"description":"The line; the first one is 1. Without a line the whole file is asked about."},"column":{"type":"integer","minimum":1,"description":"The column in UTF-16 units; the first one is 1. Needed with line."},` +
		`"endLine":{"type":"integer","minimum":1,"description":"The line where the range ends. Default: the range is empty, at line and column."},"endColumn":{"type":"integer","minimum":1,"description":"The column before which the range ends. Needed with endLine."}`
	propName   = `"newName":{"type":"string","minLength":1,"description":"The new name."}`
	propQuery  = `"query":{"type":"string","description":"A part of the names to look for."}`
	propLimit  = `"limit":{"type":"integer","minimum":1,"maximum":10000,"description":"At most so many results. Default: 200."}`
	propWait   = `"waitSeconds":{"type":"number","exclusiveMinimum":0,"maximum":60,"description":"How long extensions may take to find the first problem. Default: 5."}`
	propIndent = `"tabSize":{"type":"integer","minimum":1,"maximum":100,"description":"The columns of a level. Default: 4."},"tabs":{"type":"boolean","description":"Whether lines are indented with tabs. Default: false."}`
	propKind   = `"kind":{"type":"string","minLength":1,"description":"Only code actions of this kind and those below it, such as quickfix, refactor.extract or source.organizeImports. Default: all."}`
	propAction = `"title":{"type":"string","minLength":1,"description":"The title of the code action, as language_actions returns it."}`
)

const (
	usualLimit = 200    // results of a language tool
	maxLimit   = 10_000 // what an agent can ask for
	maxWait    = 60     // seconds, for problems
	maxTab     = 100    // columns
	maxPlace   = 1<<31 - 1
)

// languageTool is a language feature as a tool.
type languageTool struct {
	feature     language.Feature
	title       string
	description string
	at          place
	edits       bool   // the result is edits, which are never cut short
	required    string // of its other properties
	more        string // other properties of its input

	completes bool // the extensions complete its items, up to the limit, before they are returned
	picks     bool // it is about one code action
}

// place is what a tool is asked about.
type place uint8

const (
	atPosition  place = iota // of a file
	atSpan                   // a part of a file, or the whole file
	atFile                   // a whole file
	atWorkspace              // no file
)

const editsAsText = ` Nothing is changed: the result is edits, each as FILE:LINE:COL-LINE:COL "NEW TEXT", which replaces the text from the first position to before the second. All positions are those before the first edit.`

// allLanguageTools are the features that are tools.
var allLanguageTools = []languageTool{
	{feature: language.FeatureHover, title: "Hover", description: "Returns what VS Code extensions show about the symbol at a position: its type, signature and documentation."},
	{feature: language.FeatureSignature, title: "Signatures", description: "Returns the signatures of the function whose call is at a position, with the parameter that is there.", more: propLimit},
	{feature: language.FeatureDefinition, title: "Definition", description: "Returns where the symbol at a position is defined, as FILE:LINE:COL.", more: propLimit},
	{feature: language.FeatureDeclaration, title: "Declaration", description: "Returns where the symbol at a position is declared, as FILE:LINE:COL.", more: propLimit},
	{feature: language.FeatureTypeDefinition, title: "Type definition", description: "Returns where the type of the symbol at a position is defined, as FILE:LINE:COL.", more: propLimit},
	{feature: language.FeatureImplementation, title: "Implementations", description: "Returns the implementations of the symbol at a position, as FILE:LINE:COL.", more: propLimit},
	{feature: language.FeatureReferences, title: "References", description: "Returns all references to the symbol at a position, with its declaration, as FILE:LINE:COL.", more: propLimit},
	{feature: language.FeatureHighlights, title: "Occurrences in a file", description: "Returns where the symbol at a position is read and written in its file, as FILE:LINE:COL-LINE:COL.", more: propLimit},
	{feature: language.FeatureIncoming, title: "Callers", description: "Returns the functions that call the one at a position, as FILE:LINE:COL, kind and name.", more: propLimit},
	{feature: language.FeatureOutgoing, title: "Calls", description: "Returns the functions that the one at a position calls, as FILE:LINE:COL, kind and name.", more: propLimit},
	{feature: language.FeatureSupertypes, title: "Supertypes", description: "Returns the types from which the one at a position is derived, as FILE:LINE:COL, kind and name.", more: propLimit},
	{feature: language.FeatureSubtypes, title: "Subtypes", description: "Returns the types that are derived from the one at a position, as FILE:LINE:COL, kind and name.", more: propLimit},
	{feature: language.FeatureSymbols, title: "Symbols of a file", description: "Returns the symbols that a file defines, as a tree, with kinds and positions.", at: atFile, more: propLimit},
	{feature: language.FeatureWorkspaceSymbol, title: "Symbols of the workspace", description: "Looks for symbols by their names in the whole workspace.", at: atWorkspace, required: `"query"`, more: propQuery + "," + propLimit},
	{feature: language.FeatureCompletion, title: "Completion", description: "Returns what could be written at a position, the best first.", more: propLimit},
	{feature: language.FeatureDiagnostics, title: "Problems of a file", description: "Returns the errors and warnings that VS Code extensions report for a file, as FILE:LINE:COL.", at: atFile, more: propWait + "," + propLimit},
	{
		feature: language.FeatureActions, title: "Code actions", at: atSpan, more: propKind + "," + propLimit,
		description: "Returns the fixes and refactorings that VS Code extensions offer for a range, or for the whole file, each as TITLE (KIND). language_action returns the edits of one of them.",
	},
	{
		feature: featureAction, title: "Code action", at: atSpan, edits: true, required: `"title"`, more: propAction + "," + propKind, picks: true,
		description: "Returns the edits of a code action, which language_actions has found for the same file, range and kind, by its title." + editsAsText +
			" If the action executes a command after its edits, the result names the command and its arguments. It is not executed.",
	},
	{feature: language.FeatureHints, title: "Inlay hints", description: "Returns what editors show within lines, such as types and names of parameters, as FILE:LINE:COL and the text.", at: atSpan, more: propLimit},
	{feature: language.FeatureLenses, title: "Code lenses", description: "Returns what editors show above lines, such as numbers of references, as FILE:LINE:COL and the text.", at: atFile, more: propLimit, completes: true},
	{feature: language.FeatureTokens, title: "Semantic tokens", description: "Returns what the words of a file are, as FILE:LINE:COL, length, type and modifiers.", at: atFile, more: propLimit},
	{feature: language.FeatureLinks, title: "Links of a file", description: "Returns the links of a file, as FILE:LINE:COL-LINE:COL and the target.", at: atFile, more: propLimit, completes: true},
	{feature: language.FeatureColors, title: "Colors of a file", description: "Returns the colors of a file, as FILE:LINE:COL-LINE:COL and red, green, blue and alpha from 0 to 1.", at: atFile, more: propLimit},
	{feature: language.FeatureFormat, title: "Format", description: "Formats a file." + editsAsText, at: atFile, edits: true, more: propIndent},
	{feature: language.FeatureRename, title: "Rename", description: "Renames the symbol at a position and all references to it." + editsAsText, edits: true, required: `"newName"`, more: propName},
}

// featureAction is one code action. It is no feature of package language.
const featureAction language.Feature = "action"

// languageTools returns the language features of a workbench as tools of MCP.
func languageTools(h *supervisor.Host, e *editor) (out []mcp.Tool) {
	for _, t := range allLanguageTools {
		name := t.name()
		out = append(out, mcp.Tool{
			ID: name, Name: name, Title: t.title, Description: t.description, Schema: t.schema(), Of: "The tool " + name, ReadOnly: true,
			Invoke: func(ctx context.Context, input json.RawMessage, report func(mcp.Progress)) (*mcp.Result, error) {
				return t.invoke(ctx, h, e, input, report)
			},
		})
	}
	return out
}

func (t languageTool) name() string {
	return "language_" + strings.ReplaceAll(string(t.feature), "-", "_")
}

// schema returns the schema of the input.
func (t languageTool) schema() json.RawMessage {
	var props, required []string
	if t.at != atWorkspace {
		props, required = append(props, propFile), append(required, `"file"`)
	}
	switch t.at {
	case atPosition:
		props, required = append(props, propPosition), append(required, `"line","column"`)
	case atSpan:
		props = append(props, propSpan)
	}
	if t.more != "" {
		props = append(props, t.more)
	}
	if t.required != "" {
		required = append(required, t.required)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`)
}
