package language

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// command is how an extension asks for a feature, by a command of the editor.
type command struct {
	feature Feature
	// read reads the arguments behind the document.
	read func(c *workbench.Call, q *Query) error
	// write returns the result for the extension; nil returns the list of items.
	write func(items []item) any
	plain bool // there is no document before the arguments
}

// commandTable has the commands. The host itself makes, for example, "_executeHoverProvider" of
// "vscode.executeHoverProvider".
var commandTable = map[string]command{
	"_executeHoverProvider":               {feature: FeatureHover, read: readPosition},
	"_executeDefinitionProvider":          {feature: FeatureDefinition, read: readPosition},
	"_executeDeclarationProvider":         {feature: FeatureDeclaration, read: readPosition},
	"_executeTypeDefinitionProvider":      {feature: FeatureTypeDefinition, read: readPosition},
	"_executeImplementationProvider":      {feature: FeatureImplementation, read: readPosition},
	"_executeReferenceProvider":           {feature: FeatureReferences, read: readPosition},
	"_executeDocumentHighlights":          {feature: FeatureHighlights, read: readPosition},
	"_executeDocumentSymbolProvider":      {feature: FeatureSymbols},
	"_executeFoldingRangeProvider":        {feature: FeatureFolding},
	"_executeDocumentColorProvider":       {feature: FeatureColors},
	"_executeInlayHintProvider":           {feature: FeatureHints, read: readRange},
	"_provideDocumentSemanticTokens":      {feature: FeatureTokens, write: single},
	"_provideDocumentRangeSemanticTokens": {feature: FeatureRangeTokens, read: readRange, write: single},
	"_executePrepareCallHierarchy":        {feature: FeatureCallHierarchy, read: readPosition, write: firstOnly},
	"_executePrepareTypeHierarchy":        {feature: FeatureTypeHierarchy, read: readPosition},
	"_executePrepareRename":               {feature: FeaturePrepareRename, read: readPosition, write: single},
	"_executeFormatDocumentProvider": {feature: FeatureFormat, read: func(c *workbench.Call, q *Query) error {
		return c.Args(nil, &q.options)
	}},
	"_executeFormatRangeProvider": {feature: FeatureFormatRange, read: func(c *workbench.Call, q *Query) error {
		return c.Args(nil, &q.Range, &q.options)
	}},
	"_executeFormatOnTypeProvider": {feature: FeatureFormatOnType, read: func(c *workbench.Call, q *Query) error {
		return c.Args(nil, &q.Position, &q.Text, &q.options)
	}},
	"_executeSelectionRangeProvider": {feature: FeatureSelections, read: func(c *workbench.Call, q *Query) error {
		return c.Args(nil, &q.Positions)
	}},
	"_executeDocumentRenameProvider": {feature: FeatureRename, read: readTextAt, write: single},
	"_executeSignatureHelpProvider":  {feature: FeatureSignature, read: readTextAt, write: single},
	"_executeCompletionItemProvider": {feature: FeatureCompletion, write: suggestions, read: func(c *workbench.Call, q *Query) error {
		return c.Args(nil, &q.Position, &q.Text, &q.Resolve)
	}},
	"_executeLinkProvider": {feature: FeatureLinks, read: func(c *workbench.Call, q *Query) error { return c.Args(nil, &q.Resolve) }},
	"_executeCodeLensProvider": {feature: FeatureLenses, read: func(c *workbench.Call, q *Query) error {
		q.commandsOnly = !isNothing(c.Raw(1))
		return c.Args(nil, &q.Resolve)
	}},
	"_executeCodeActionProvider": {feature: FeatureActions, read: func(c *workbench.Call, q *Query) error {
		if q.selection = c.Raw(1); isNothing(q.selection) {
			return workbench.Invalid("%s: a range or a selection expected", c.Method)
		}
		return c.Args(nil, nil, &q.Kind, &q.Resolve)
	}},
	"_executeWorkspaceSymbolProvider": {feature: FeatureWorkspaceSymbol, plain: true, read: func(c *workbench.Call, q *Query) error {
		return c.Args(&q.Text)
	}},
	"_executeColorPresentationProvider": {feature: FeaturePresentations, plain: true, read: func(c *workbench.Call, q *Query) error {
		var at struct {
			URI   workbench.URI
			Range Range
		}
		err := c.Args(&q.Color, &at)
		q.URI, q.Range = at.URI, &at.Range
		return err
	}},
}

func readPosition(c *workbench.Call, q *Query) error { return c.Args(nil, &q.Position) }
func readRange(c *workbench.Call, q *Query) error    { return c.Args(nil, &q.Range) }
func readTextAt(c *workbench.Call, q *Query) error   { return c.Args(nil, &q.Position, &q.Text) }

// rawOf returns items as hosts have sent them.
func rawOf(items []item) []json.RawMessage {
	out := make([]json.RawMessage, len(items))
	for i, it := range items {
		out[i] = it.raw
	}
	return out
}

// single returns the only item.
func single(items []item) any {
	if len(items) == 0 {
		return nil
	}
	return items[0].raw
}

func firstOnly(items []item) any { return rawOf(items[:min(1, len(items))]) }

// suggestions returns completions as the editor has them.
func suggestions(items []item) any {
	open := false
	for _, it := range items {
		open = open || it.open
	}
	return map[string]any{"suggestions": rawOf(items), "incomplete": open}
}

// Commands returns the commands of the editor by which extensions ask for language features, by their
// names.
func (s *Service) Commands() map[string]workbench.Method {
	out := map[string]workbench.Method{}
	for name, cmd := range commandTable {
		for _, recursive := range []bool{false, true} {
			full := name
			if recursive {
				full += "_recursive"
			}
			out[full] = workbench.Method{Do: func(ctx context.Context, c *workbench.Call) (any, error) {
				return s.execute(ctx, c, cmd, recursive)
			}}
		}
	}
	for name, what := range map[string]Relation{
		"_executeProvideIncomingCalls": Incoming, "_executeProvideOutgoingCalls": Outgoing,
		"_executeProvideSupertypes": Supertypes, "_executeProvideSubtypes": Subtypes,
	} {
		out[name] = workbench.Method{Do: func(ctx context.Context, c *workbench.Call) (any, error) {
			var item struct {
				Session string `json:"_sessionId"`
				Item    string `json:"_itemId"`
			}
			if err := c.Args(&item); err != nil {
				return nil, err
			}
			list, err := s.related(ctx, item.Session, item.Item, what)
			if errors.Is(err, errExpired) {
				return []any{}, nil // as in VS Code
			}
			return list, err
		}}
	}
	for name, features := range map[string][]Feature{
		"_provideDocumentSemanticTokensLegend":      {FeatureTokens, FeatureRangeTokens},
		"_provideDocumentRangeSemanticTokensLegend": {FeatureRangeTokens},
	} {
		out[name] = workbench.Method{Do: func(ctx context.Context, c *workbench.Call) (any, error) {
			return s.legendOf(ctx, c, features)
		}}
	}
	return out
}

// execute executes a command. What VS Code answers with nothing, because no provider fits or the
// providers have failed, is nothing here too; the end of a host is an error.
func (s *Service) execute(ctx context.Context, c *workbench.Call, cmd command, recursive bool) (any, error) {
	q := Query{Feature: cmd.feature, recursive: recursive}
	if !cmd.plain {
		if err := c.Args(&q.URI); err != nil {
			return nil, err
		}
	}
	if cmd.read != nil {
		if err := cmd.read(c, &q); err != nil {
			return nil, err
		}
	}
	items, err := s.items(ctx, &q, c)
	var ended *actors.HostError
	var failed *ProviderError
	switch {
	case err == nil:
	case errors.Is(err, ErrRejected) && q.Feature == FeatureRename:
		return map[string]any{"edits": []any{}, "rejectReason": err.Error()}, nil
	case errors.As(err, &ended), ctx.Err() != nil, !errors.Is(err, ErrNoProvider) && !errors.As(err, &failed):
		return nil, err
	case failed != nil && (q.Feature == FeatureRename || q.Feature == FeaturePrepareRename || q.Feature == FeatureTokens):
		return nil, failed.Err
	}
	for i, it := range items {
		if it.p.provider != nil && it.p.host != c.Host.Name() {
			items[i].raw = foreign(it.raw)
		}
	}
	if cmd.write != nil {
		return cmd.write(items), nil
	}
	return rawOf(items), nil
}

// legendOf returns the names of the tokens that the best provider has.
func (s *Service) legendOf(ctx context.Context, c *workbench.Call, names []Feature) (any, error) {
	var q Query
	if err := c.Args(&q.URI); err != nil {
		return nil, err
	}
	d, done, err := s.open(ctx, &q, c)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, name := range names {
		if list := s.find(features[name], d); len(list) > 0 {
			return list[0].rest[1], nil
		}
	}
	return nil, nil
}

// foreign returns an item for another host than that of its provider: $ident names an argument of a
// command in the provider's host, which executes it when it gets the name as the argument.
func foreign(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"$ident"`)) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	strip(v)
	return encode(v)
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "$ident")
		for _, one := range v {
			strip(one)
		}
	case []any:
		for _, one := range v {
			strip(one)
		}
	}
}

// wholeOf returns the range of a whole text.
func wholeOf(t *text.Text) Range {
	w := t.Whole()
	return Range{Position{w.StartLine - 1, w.StartColumn - 1}, Position{w.EndLine - 1, w.EndColumn - 1}}
}
