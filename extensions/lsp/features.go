package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// request has the parameters of all requests.
type request struct {
	TextDocument struct{ URI string }
	Position     language.Position
	Positions    []language.Position
	Range        *language.Range
	NewName      string
	Query        string
	Options      struct {
		TabSize      int
		InsertSpaces bool
	}
	Context struct {
		Only                   []string
		TriggerKind            int
		TriggerCharacter       string
		IncludeDeclaration     *bool
		SelectedCompletionInfo *struct {
			Range language.Range
			Text  string
		}
	}
	Ch               string
	Color            color
	PreviousResultID string
	Reason           int
	Item             hierarchyItem
	Command          string
	Arguments        []json.RawMessage
	WorkDoneToken    any // a text or a number

	uri workbench.URI
	raw json.RawMessage
}

// resolved is how many code actions are resolved for a client that cannot ask for it, and lenses.
const resolved = 100

// features answers requests about documents.
var features map[string]func(ctx context.Context, c *session, p *request) (any, error)

func init() { //nolint:gochecknoinits // the functions use the map's type in cycles
	features = map[string]func(ctx context.Context, c *session, p *request) (any, error){
		"textDocument/hover":                     hover,
		"textDocument/definition":                locations(language.FeatureDefinition),
		"textDocument/declaration":               locations(language.FeatureDeclaration),
		"textDocument/typeDefinition":            locations(language.FeatureTypeDefinition),
		"textDocument/implementation":            locations(language.FeatureImplementation),
		"textDocument/references":                references,
		"textDocument/documentHighlight":         highlights,
		"textDocument/completion":                completion,
		"completionItem/resolve":                 resolveCompletion,
		"textDocument/signatureHelp":             signature,
		"textDocument/documentSymbol":            symbols,
		"workspace/symbol":                       workspaceSymbols,
		"textDocument/formatting":                edits(language.FeatureFormat),
		"textDocument/rangeFormatting":           edits(language.FeatureFormatRange),
		"textDocument/rename":                    rename,
		"textDocument/prepareRename":             prepareRename,
		"textDocument/codeAction":                actions,
		"codeAction/resolve":                     resolveAction,
		"textDocument/codeLens":                  lenses,
		"codeLens/resolve":                       resolveLens,
		"textDocument/foldingRange":              foldings,
		"textDocument/selectionRange":            selections,
		"textDocument/semanticTokens/full":       allTokens,
		"textDocument/semanticTokens/full/delta": changedTokens,
		"textDocument/semanticTokens/range":      rangeTokens,
		"textDocument/inlayHint":                 hints,
		"inlayHint/resolve":                      resolveHint,
		"textDocument/documentLink":              links,
		"textDocument/prepareCallHierarchy":      roots(language.FeatureCallHierarchy),
		"callHierarchy/incomingCalls":            calls(language.Incoming, "from"),
		"callHierarchy/outgoingCalls":            calls(language.Outgoing, "to"),
		"textDocument/prepareTypeHierarchy":      roots(language.FeatureTypeHierarchy),
		"typeHierarchy/supertypes":               types(language.Supertypes),
		"typeHierarchy/subtypes":                 types(language.Subtypes),
		"textDocument/documentColor":             colors,
		"textDocument/colorPresentation":         presentations,
		"textDocument/onTypeFormatting":          onType,
		"textDocument/linkedEditingRange":        linked,
		"textDocument/inlineCompletion":          inlineCompletions,
		"textDocument/willSaveWaitUntil":         willSave,
	}
}

// query returns a question about the document and the position of a request.
func (p *request) query(f language.Feature) language.Query {
	return language.Query{
		Feature: f, URI: p.uri, Position: p.Position, Positions: p.Positions, Range: p.Range,
		TabSize: p.Options.TabSize, Tabs: p.Options.TabSize > 0 && !p.Options.InsertSpaces,
	}
}

func get[T any](ctx context.Context, c *session, p *request, f language.Feature) (T, error) {
	return language.Get[T](ctx, c.s.opt.Language, p.query(f))
}

func hover(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.HoverText](ctx, c, p, language.FeatureHover)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var texts []string
	for _, h := range all {
		for _, t := range h.Contents {
			texts = append(texts, string(t))
		}
	}
	out := map[string]any{"contents": c.caps.markup(language.Markdown(strings.Join(texts, "\n\n---\n\n")), c.caps.TextDocument.Hover.ContentFormat)}
	if all[0].Range != nil {
		out["range"] = all[0].Range
	}
	return out, nil
}

type location struct {
	URI   string         `json:"uri"`
	Range language.Range `json:"range"`
}

func (c *session) location(l language.Location) location {
	at := l.Range
	if l.Selection != nil {
		at = *l.Selection
	}
	return location{c.spelled(l.URI), at}
}

func locations(f language.Feature) func(context.Context, *session, *request) (any, error) {
	return func(ctx context.Context, c *session, p *request) (any, error) {
		all, err := get[[]language.Location](ctx, c, p, f)
		out := make([]location, 0, len(all))
		for _, l := range all {
			out = append(out, c.location(l))
		}
		return out, err
	}
}

// references leaves the definitions out if the client does not want them: providers are always asked
// for all.
func references(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Location](ctx, c, p, language.FeatureReferences)
	if err != nil {
		return nil, err
	}
	skip := map[location]bool{}
	if with := p.Context.IncludeDeclaration; with != nil && !*with {
		defined, err := get[[]language.Location](ctx, c, p, language.FeatureDefinition)
		if err != nil && !errors.Is(err, language.ErrNoProvider) {
			return nil, err
		}
		for _, l := range defined {
			skip[c.location(l)] = true
		}
	}
	out := []location{}
	for _, l := range all {
		if at := c.location(l); !skip[at] {
			out = append(out, at)
		}
	}
	return out, nil
}

func highlights(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Highlight](ctx, c, p, language.FeatureHighlights)
	out := []map[string]any{}
	for _, h := range all {
		out = append(out, map[string]any{"range": h.Range, "kind": h.Kind + 1})
	}
	return out, err
}

func signature(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeatureSignature)
	q.Text = p.Context.TriggerCharacter
	help, err := language.Get[*language.SignatureHelp](ctx, c.s.opt.Language, q)
	if err != nil || help == nil {
		return nil, err
	}
	format := c.caps.TextDocument.SignatureHelp.SignatureInformation.DocumentationFormat
	list := []map[string]any{}
	for _, s := range help.Signatures {
		parameters := []map[string]any{}
		for _, one := range s.Parameters {
			parameters = append(parameters, map[string]any{"label": one.Label, "documentation": c.caps.markup(one.Documentation, format)})
		}
		list = append(list, map[string]any{"label": s.Label, "documentation": c.caps.markup(s.Documentation, format), "parameters": parameters})
	}
	return map[string]any{"signatures": list, "activeSignature": help.Active, "activeParameter": help.Parameter}, nil
}

func symbols(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Symbol](ctx, c, p, language.FeatureSymbols)
	if err != nil {
		return nil, err
	}
	if c.caps.TextDocument.DocumentSymbol.HierarchicalDocumentSymbolSupport {
		return hierarchy(all), nil
	}
	return flat(p.TextDocument.URI, "", all, []symbolInformation{}), nil
}

func workspaceSymbols(ctx context.Context, c *session, p *request) (any, error) {
	all, err := language.Get[[]language.SymbolInformation](ctx, c.s.opt.Language, language.Query{Feature: language.FeatureWorkspaceSymbol, Text: p.Query})
	out := []symbolInformation{}
	for _, s := range all {
		out = append(out, symbolInformation{s.Name, symbolKind(s.Kind), s.Tags, c.location(s.Location), s.Container})
	}
	return out, err
}

func edits(f language.Feature) func(context.Context, *session, *request) (any, error) {
	return func(ctx context.Context, c *session, p *request) (any, error) {
		all, err := get[[]language.TextEdit](ctx, c, p, f)
		return textEdits(all), err
	}
}

func rename(ctx context.Context, c *session, p *request) (any, error) {
	versions := c.versions()
	q := p.query(language.FeatureRename)
	q.Text = p.NewName
	edit, err := language.Get[*language.WorkspaceEdit](ctx, c.s.opt.Language, q)
	if err != nil || edit == nil {
		return nil, err
	}
	return c.workspaceEdit(edit, versions)
}

// prepareRename returns the word at the position if a provider can rename, but does not say what.
func prepareRename(ctx context.Context, c *session, p *request) (any, error) {
	at, err := get[*language.RenameLocation](ctx, c, p, language.FeaturePrepareRename)
	switch {
	case err == nil && at != nil:
		return map[string]any{"range": at.Range, "placeholder": at.Text}, nil
	case err != nil && !errors.Is(err, language.ErrNoProvider):
		return nil, err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	v := c.s.find(c, p.uri.String())
	if v == nil || p.Position.Line < 0 || p.Position.Line >= v.text.Count() {
		return nil, nil
	}
	from, to, word := wordAt(v.text.Line(p.Position.Line+1), p.Position.Character)
	if word == "" {
		return nil, nil
	}
	line := p.Position.Line
	return map[string]any{
		"range":       language.Range{Start: language.Position{Line: line, Character: from}, End: language.Position{Line: line, Character: to}},
		"placeholder": word,
	}, nil
}

// wordAt returns the word at or before a character of a line, and where it is, in UTF-16 units.
func wordAt(line string, character int) (from, to int, word string) {
	at := 0
	var b strings.Builder
	for _, r := range line {
		inWord := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if !inWord {
			if b.Len() > 0 && from <= character && character <= at {
				return from, at, b.String()
			}
			b.Reset()
		} else {
			if b.Len() == 0 {
				from = at
			}
			b.WriteRune(r)
		}
		if at++; r > 0xFFFF {
			at++
		}
	}
	if b.Len() > 0 && from <= character && character <= at {
		return from, at, b.String()
	}
	return 0, 0, ""
}

func actions(ctx context.Context, c *session, p *request) (any, error) {
	versions := c.versions()
	kinds := p.Context.Only
	if len(kinds) == 0 {
		kinds = []string{""}
	}
	lazily := slices.Contains(c.caps.TextDocument.CodeAction.ResolveSupport.Properties, "edit")
	out := []codeAction{}
	for _, kind := range kinds {
		q := p.query(language.FeatureActions)
		if q.Kind = kind; !lazily {
			q.Resolve = resolved
		}
		all, err := language.Get[[]language.Action](ctx, c.s.opt.Language, q)
		if err != nil && !errors.Is(err, language.ErrNoProvider) {
			return nil, err
		}
		for _, a := range all {
			one, err := c.action(a, versions)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func lenses(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Lens](ctx, c, p, language.FeatureLenses)
	out := []codeLens{}
	for _, l := range all {
		out = append(out, codeLens{l.Range, c.command(l.Command), l.Ref})
	}
	return out, err
}

func foldings(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.FoldingRange](ctx, c, p, language.FeatureFolding)
	out := []map[string]any{}
	for _, f := range all {
		one := map[string]any{"startLine": f.Start, "endLine": f.End}
		if f.Kind != "" {
			one["kind"] = f.Kind
		}
		out = append(out, one)
	}
	return out, err
}

type selectionRange struct {
	Range  language.Range  `json:"range"`
	Parent *selectionRange `json:"parent,omitempty"`
}

func selections(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[][]language.Range](ctx, c, p, language.FeatureSelections)
	out := []*selectionRange{}
	for _, list := range all {
		var outer *selectionRange
		for _, r := range slices.Backward(list) {
			outer = &selectionRange{r, outer}
		}
		if outer != nil {
			out = append(out, outer)
		}
	}
	return out, err
}

func links(ctx context.Context, c *session, p *request) (any, error) {
	q := p.query(language.FeatureLinks)
	q.Resolve = resolved
	all, err := language.Get[[]language.Link](ctx, c.s.opt.Language, q)
	out := []map[string]any{}
	for _, l := range all {
		if l.Target != "" {
			out = append(out, map[string]any{"range": l.Range, "target": c.spelled(l.Target), "tooltip": l.Tooltip})
		}
	}
	return out, err
}
