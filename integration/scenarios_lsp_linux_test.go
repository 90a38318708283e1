//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	lang "github.com/hostsup/hostsup/workbench/language"
)

// lspDoor is an editor with a client of LSP. It writes answers as hostsup lang does.
type lspDoor struct {
	sc     *scenarioRun
	a      *attached
	legend struct{ TokenTypes, TokenModifiers []string }

	mu       sync.Mutex
	open     map[string]bool
	problems map[string]string // the last ones, by URI
}

func newLSPDoor(sc *scenarioRun, socket string) *lspDoor {
	t := sc.t
	t.Helper()
	cmd := exec.Command(hostsupBinary(t), "--socket", socket, "attach", "code")
	cmd.Stderr = logWriter{t}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := jsonrpc.Headers(jsonrpc.Options{})
	a := &attached{
		t: t, session: p.Open(codec.Limits{}), enc: p, rw: pipes{out, in}, notes: make(chan codec.Message, 4096),
		served: make(chan error, 1), read: make(chan struct{}), calls: map[uint32]chan codec.Message{},
	}
	a.reply = func(string) (codec.Raw, *codec.Error) { return codec.Raw(`{"applied":true}`), nil }
	go a.loop()
	t.Cleanup(func() {
		_ = in.Close()
		<-a.read
		_ = cmd.Wait() // how the test ends it does not matter
	})
	d := &lspDoor{sc: sc, a: a, open: map[string]bool{}, problems: map[string]string{}}
	var server struct {
		Capabilities struct {
			SemanticTokensProvider struct{ Legend json.RawMessage }
		}
	}
	hello := a.must("initialize", dict{"capabilities": dict{
		"workspace": dict{"workspaceEdit": dict{"documentChanges": true, "resourceOperations": list{"create", "rename", "delete"}}},
		"textDocument": dict{
			"documentSymbol": dict{"hierarchicalDocumentSymbolSupport": true},
			"codeAction":     dict{"codeActionLiteralSupport": dict{}, "resolveSupport": dict{"properties": list{"edit"}}},
			"completion":     dict{"completionItem": dict{"snippetSupport": true, "labelDetailsSupport": true, "documentationFormat": list{"markdown"}}},
		},
	}})
	if err := json.Unmarshal([]byte(hello), &server); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(server.Capabilities.SemanticTokensProvider.Legend, &d.legend); err != nil {
		t.Fatal(err)
	}
	a.tell("initialized", dict{})
	return d
}

func (d *lspDoor) name() string { return doorLSP }

// languagesOf are the languages of files, as editors name them, by the end of their names.
var languagesOf = map[string]string{
	".ts": "typescript", ".tsx": "typescriptreact", ".js": "javascript", ".jsx": "javascriptreact", ".md": "markdown", ".py": "python", ".sh": "shellscript",
	".yml": "yaml", ".rs": "rust", ".txt": "plaintext", "settings.json": "jsonc", "launch.json": "jsonc", "tsconfig.json": "jsonc", "devcontainer.json": "jsonc",
}

func languageOf(path string) string {
	best, id := "", strings.TrimPrefix(filepath.Ext(path), ".")
	for end, language := range languagesOf {
		if strings.HasSuffix(path, end) && len(end) > len(best) {
			best, id = end, language
		}
	}
	return id
}

// opens opens the document of a step, as an editor has it.
func (d *lspDoor) opens(path string) (dict, error) {
	uri := "file://" + path
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.open[uri] {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		d.open[uri] = true
		d.a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": languageOf(path), "version": 1, "text": string(text)}})
	}
	return dict{"uri": uri}, nil
}

// lspMethods are the requests for features.
var lspMethods = map[lang.Feature]string{
	lang.FeatureHover: "hover", lang.FeatureDefinition: "definition", lang.FeatureDeclaration: "declaration", lang.FeatureTypeDefinition: "typeDefinition",
	lang.FeatureImplementation: "implementation", lang.FeatureReferences: "references", lang.FeatureHighlights: "documentHighlight",
	lang.FeatureCompletion: "completion", lang.FeatureSignature: "signatureHelp", lang.FeatureSymbols: "documentSymbol", lang.FeatureFormat: "formatting",
	lang.FeatureRename: "rename", lang.FeaturePrepareRename: "prepareRename", lang.FeatureActions: "codeAction", lang.FeatureLenses: "codeLens",
	lang.FeatureFolding: "foldingRange", lang.FeatureSelections: "selectionRange", lang.FeatureTokens: "semanticTokens/full", lang.FeatureHints: "inlayHint",
	lang.FeatureLinks: "documentLink", lang.FeatureFormatRange: "rangeFormatting", lang.FeatureFormatOnType: "onTypeFormatting",
	lang.FeatureRangeTokens: "semanticTokens/range", lang.FeatureColors: "documentColor", lang.FeaturePresentations: "colorPresentation",
	lang.FeatureCallHierarchy: "prepareCallHierarchy", lang.FeatureTypeHierarchy: "prepareTypeHierarchy", lang.FeatureInline: "inlineCompletion",
	lang.FeatureLinked: "linkedEditingRange", lang.FeatureIncoming: "prepareCallHierarchy", lang.FeatureOutgoing: "prepareCallHierarchy",
	lang.FeatureSupertypes: "prepareTypeHierarchy", lang.FeatureSubtypes: "prepareTypeHierarchy",
}

func (d *lspDoor) ask(s scenarioStep) (string, error) {
	switch {
	case s.Command != "":
		out, err := d.a.call("workspace/executeCommand", dict{"command": "hostsup.code", "arguments": append(list{s.Command}, s.Arguments...)})
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(out), err // as other doors write them
	case s.Feature == lang.FeatureWorkspaceSymbol:
		out, err := d.a.call("workspace/symbol", dict{"query": s.At})
		return d.text(s, "", out, err)
	}
	path, line, column := d.sc.place(s)
	doc, err := d.opens(path)
	if err != nil {
		return "", err
	}
	if s.Feature == lang.FeatureDiagnostics {
		return d.reported(path, doc["uri"].(string))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	p := docAt(doc, line-1, column-1)
	context := dict{}
	switch s.Feature {
	case lang.FeatureRename:
		p["newName"] = s.Text
	case lang.FeatureReferences:
		context["includeDeclaration"] = true
	case lang.FeatureCompletion, lang.FeatureSignature:
		context["triggerKind"] = 1
		if s.Text != "" {
			context["triggerKind"], context["triggerCharacter"] = 2, s.Text
		}
	case lang.FeatureActions:
		context["diagnostics"] = list{}
		if s.Kind != "" {
			context["only"] = list{s.Kind}
		}
		p["range"] = span(0, 0, strings.Count(string(text), "\n"), 0)
	case lang.FeatureHints:
		p["range"] = span(0, 0, strings.Count(string(text), "\n"), 0)
	case lang.FeatureFormat, lang.FeatureFormatRange:
		p["options"] = dict{"tabSize": 4, "insertSpaces": true}
	case lang.FeatureSelections:
		p["positions"] = list{p["position"]}
	}
	p["context"] = context
	out, err := d.a.call("textDocument/"+lspMethods[s.Feature], p)
	switch {
	case s.Feature == lang.FeatureLenses && err == nil:
		return d.resolved(out)
	case lspRelations[s.Feature] != "" && err == nil:
		out, err = d.related(lspRelations[s.Feature], out)
	}
	return d.text(s, path, out, err)
}

// lspRelations are the requests for what belongs to an item of a hierarchy.
var lspRelations = map[lang.Feature]string{
	lang.FeatureIncoming: "callHierarchy/incomingCalls", lang.FeatureOutgoing: "callHierarchy/outgoingCalls",
	lang.FeatureSupertypes: "typeHierarchy/supertypes", lang.FeatureSubtypes: "typeHierarchy/subtypes",
}

// related asks for what belongs to the items of a hierarchy, and returns the other items.
func (d *lspDoor) related(method, out string) (string, error) {
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(out), &items); err != nil {
		return "", err
	}
	all := []json.RawMessage{}
	for _, i := range items {
		var list []json.RawMessage
		out, err := d.a.call(method, dict{"item": i})
		if err == nil {
			err = json.Unmarshal([]byte(out), &list)
		}
		if err != nil {
			return "", err
		}
		for _, one := range list {
			var call struct{ From, To json.RawMessage }
			if err := json.Unmarshal(one, &call); err != nil {
				return "", err
			}
			for _, other := range []json.RawMessage{call.From, call.To} {
				if other != nil {
					one = other
				}
			}
			all = append(all, one)
		}
	}
	raw, err := json.Marshal(all)
	return string(raw), err
}

// resolved asks for the commands of lenses, one by one.
func (d *lspDoor) resolved(out string) (string, error) {
	var lenses []json.RawMessage
	if err := json.Unmarshal([]byte(out), &lenses); err != nil {
		return "", err
	}
	var lines []string
	for _, lens := range lenses {
		line, err := d.a.call("codeLens/resolve", lens)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// reported returns the problems of a document that the editor shows, when there are some.
func (d *lspDoor) reported(path, uri string) (string, error) {
	end := time.After(slow)
	for {
		if text := d.problems[uri]; text != "" && len(d.a.notes) == 0 {
			return text, nil
		}
		select {
		case m := <-d.a.notes:
			if m.Method != "textDocument/publishDiagnostics" {
				continue
			}
			if err := d.shows(m.Params); err != nil {
				return "", err
			}
		case <-end:
			return "", fmt.Errorf("no problems of %s", path)
		}
	}
}

// shows takes the problems of a document.
func (d *lspDoor) shows(params codec.Raw) error {
	var all struct {
		URI         string
		Diagnostics []struct {
			Range           lang.Range
			Severity        int
			Message, Source string
			Code            any
		}
	}
	if err := json.Unmarshal(params, &all); err != nil {
		return err
	}
	var lines []string
	for _, p := range all.Diagnostics {
		names := []string{1: "error", 2: "warning", 3: "information", 4: "hint"}
		code := ""
		if p.Code != nil {
			code = fmt.Sprint(p.Code)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s:%d:%d: %s: %s %s",
			strings.TrimPrefix(all.URI, "file://"), p.Range.Start.Line+1, p.Range.Start.Character+1, names[p.Severity], p.Message, strings.TrimSpace(p.Source+" "+code))))
	}
	d.problems[all.URI] = strings.Join(lines, "\n")
	return nil
}

// lspItem has the properties of the items of all answers.
type lspItem struct {
	Name, Detail, ContainerName, Label, Title, NewText string
	URI, TargetURI                                     string
	Kind                                               any
	Range, SelectionRange                              lang.Range
	LabelDetails                                       struct{ Detail string }
	Location                                           struct {
		URI   string
		Range lang.Range
	}
	Color        struct{ Red, Green, Blue, Alpha float64 }
	Children     []lspItem
	Contents     struct{ Value string }
	Items        []lspItem
	TextDocument struct{ URI string }
	Edits        []lspItem

	DocumentChanges []json.RawMessage
	Data            json.RawMessage
}

var (
	lspSymbolKinds = strings.Fields("- file module namespace package class method property field constructor enum interface function variable constant " +
		"string number boolean array object key null enumMember struct event operator typeParameter")
	lspCompletionKinds = strings.Fields("text text method function constructor field variable class interface module property unit value enum keyword " +
		"snippet color file reference folder enumMember constant struct event operator typeParameter")
)

func kindOf(names []string, kind any) string {
	if n, ok := kind.(float64); ok && int(n) < len(names) {
		return names[int(n)]
	}
	return fmt.Sprint(kind)
}

// text returns an answer as lines.
func (d *lspDoor) text(s scenarioStep, path, out string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	lines := []string{}
	add := func(format string, args ...any) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
	at := func(uri string, r lang.Range) string {
		return fmt.Sprintf("%s:%d:%d", strings.TrimPrefix(uri, "file://"), r.Start.Line+1, r.Start.Character+1)
	}
	edits := func(uri string, all []lspItem) {
		for _, e := range all {
			add("%s-%d:%d %s", at(uri, e.Range), e.Range.End.Line+1, e.Range.End.Character+1, strconv.Quote(e.NewText))
		}
	}
	var whole lspItem
	var all []lspItem
	switch s.Feature {
	case lang.FeatureHover, lang.FeatureCompletion, lang.FeatureRename, lang.FeatureTokens:
		err = json.Unmarshal([]byte(out), &whole)
	case lang.FeatureDefinition, lang.FeatureDeclaration, lang.FeatureTypeDefinition, lang.FeatureImplementation, lang.FeatureReferences,
		lang.FeatureSymbols, lang.FeatureWorkspaceSymbol, lang.FeatureFormat, lang.FeatureFormatRange, lang.FeatureActions, lang.FeatureColors,
		lang.FeatureIncoming, lang.FeatureOutgoing, lang.FeatureSupertypes, lang.FeatureSubtypes:
		err = json.Unmarshal([]byte(out), &all)
	default:
		var items []json.RawMessage
		if !strings.HasPrefix(out, "[") {
			return out, nil
		}
		err = json.Unmarshal([]byte(out), &items)
		for _, i := range items {
			add("%s", i)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	switch s.Feature {
	case lang.FeatureHover:
		add("%s", whole.Contents.Value)
	case lang.FeatureCompletion:
		for _, i := range whole.Items {
			add("%s%s %s %s", i.Label, i.LabelDetails.Detail, kindOf(lspCompletionKinds, i.Kind), i.Detail)
		}
	case lang.FeatureSymbols:
		var tree func([]lspItem, string)
		tree = func(list []lspItem, indent string) {
			for _, i := range list {
				add("%s %s%s %s %s", at(path, i.SelectionRange), indent, kindOf(lspSymbolKinds, i.Kind), i.Name, i.Detail)
				tree(i.Children, indent+"  ")
			}
		}
		tree(all, "")
	case lang.FeatureWorkspaceSymbol:
		for _, i := range all {
			add("%s %s %s %s", at(i.Location.URI, i.Location.Range), kindOf(lspSymbolKinds, i.Kind), i.Name, i.ContainerName)
		}
	case lang.FeatureIncoming, lang.FeatureOutgoing, lang.FeatureSupertypes, lang.FeatureSubtypes:
		for _, i := range all {
			add("%s %s %s %s", at(i.URI, i.SelectionRange), kindOf(lspSymbolKinds, i.Kind), i.Name, i.Detail)
		}
	case lang.FeatureColors:
		for _, i := range all {
			r, c := i.Range, i.Color
			add(`{"range":{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}},"color":[%v,%v,%v,%v]}`,
				r.Start.Line, r.Start.Character, r.End.Line, r.End.Character, c.Red, c.Green, c.Blue, c.Alpha)
		}
	case lang.FeatureFormat, lang.FeatureFormatRange:
		edits(path, all)
	case lang.FeatureActions:
		for _, i := range all {
			add("%s (%v)", i.Title, i.Kind)
		}
	case lang.FeatureRename:
		for _, raw := range whole.DocumentChanges {
			var one lspItem
			if err := json.Unmarshal(raw, &one); err != nil {
				return "", err
			}
			if edits(one.TextDocument.URI, one.Edits); one.Kind != nil {
				add("%s", raw)
			}
		}
	case lang.FeatureTokens:
		var data []int
		if err := json.Unmarshal(whole.Data, &data); err != nil {
			return "", err
		}
		d.tokens(path, data, add)
	default:
		for _, i := range all {
			add("%s", at(i.URI, i.Range))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// tokens writes semantic tokens, whose positions are those after the one before.
func (d *lspDoor) tokens(path string, data []int, add func(string, ...any)) {
	line, character := 0, 0
	for token := range slices.Chunk(data, 5) {
		if token[0] > 0 {
			character = 0
		}
		line, character = line+token[0], character+token[1]
		var modifiers []string
		for i, name := range d.legend.TokenModifiers {
			if token[4]&(1<<i) != 0 {
				modifiers = append(modifiers, name)
			}
		}
		add("%s:%d:%d %d %s %s", path, line+1, character+1, token[2], d.legend.TokenTypes[token[3]], strings.Join(modifiers, " "))
	}
}
