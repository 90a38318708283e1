package language

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Query is a question. Which fields count depends on the feature; the others are ignored.
type Query struct {
	Feature Feature       `json:"feature"`
	URI     workbench.URI `json:"uri"` // of the document; not for [FeatureWorkspaceSymbol]

	// Position is where it is asked about.
	Position Position `json:"position"`
	// Positions are those of [FeatureSelections]; nil means Position alone.
	Positions []Position `json:"positions,omitempty"`
	// Range is that of [FeatureFormatRange], [FeatureActions], [FeatureRangeTokens], [FeatureHints] and
	// [FeaturePresentations]; nil means the whole document. Of [FeatureInline] it is what the completion
	// replaces that is selected in the list; nil means that there is no list.
	Range *Range `json:"range,omitempty"`
	// Text is the new name of [FeatureRename], the text to look for of [FeatureWorkspaceSymbol], and the
	// character that was typed of [FeatureFormatOnType], [FeatureCompletion] and [FeatureSignature]. Of
	// [FeatureInline] it is the text of the selected completion.
	Text string `json:"text,omitempty"`
	// Typed says that Text of [FeatureCompletion] was typed by a user, who has not asked for completions:
	// only providers are asked that have registered the character.
	Typed bool `json:"typed,omitempty"`
	// Automatic says that [FeatureInline] is asked while a user types, and not by a command.
	Automatic bool `json:"automatic,omitempty"`
	// Kind is the kind of code actions, with the kinds below it; "" means all.
	Kind string `json:"kind,omitempty"`
	// Resolve is how many items are resolved before they are returned; see [Service.Resolve]. An item that
	// its provider fails to resolve is returned as it is.
	Resolve int `json:"resolve,omitempty"`
	// Provided says that it is [ErrNoProvider] if only the editor itself has an answer; see [Service.Ask].
	Provided bool `json:"provided,omitempty"`
	// TabSize is that of the formatting features; 0 means 4.
	TabSize int `json:"tabSize,omitempty"`
	// Tabs makes the formatting features indent with tabs.
	Tabs bool `json:"tabs,omitempty"`
	// Color is that of [FeaturePresentations].
	Color [4]float64 `json:"color,omitempty"`

	selection json.RawMessage // of an extension, in the place of Range
	options   json.RawMessage // of an extension, in the place of TabSize and Tabs
	recursive bool            // without exclusive providers

	commandsOnly bool // lenses that have no command are left out
}

func (q *Query) positions() []Position {
	if q.Positions == nil {
		return []Position{q.Position}
	}
	return q.Positions
}

// args returns what providers get besides the document.
func (q *Query) args(whole Range) []any {
	at := q.Position.wire()
	if q.Range != nil {
		whole = *q.Range
	}
	var selection any = whole.wire()
	if q.selection != nil {
		selection = q.selection
	}
	trigger := map[string]any{"triggerKind": 0}
	if q.Text != "" {
		trigger = map[string]any{"triggerKind": 1, "triggerCharacter": q.Text}
	}
	var options any = map[string]any{"tabSize": max(q.TabSize, 0), "insertSpaces": !q.Tabs}
	if q.TabSize == 0 {
		options = map[string]any{"tabSize": 4, "insertSpaces": !q.Tabs}
	}
	if q.options != nil {
		options = q.options
	}
	switch q.Feature {
	case FeatureHover:
		return []any{at, struct{}{}}
	case FeatureReferences:
		return []any{at, map[string]bool{"includeDeclaration": true}}
	case FeatureCompletion:
		return []any{at, trigger}
	case FeatureSignature:
		trigger["triggerKind"], trigger["isRetrigger"] = 1, false
		return []any{at, trigger}
	case FeatureRename:
		return []any{at, q.Text}
	case FeatureFormatOnType:
		return []any{at, q.Text, options}
	case FeatureFormat:
		return []any{options}
	case FeatureFormatRange:
		return []any{whole.wire(), options}
	case FeatureActions:
		context := map[string]any{"trigger": 1}
		if q.Kind != "" {
			context["only"] = q.Kind
		}
		return []any{selection, context}
	case FeatureRangeTokens, FeatureHints:
		return []any{whole.wire()}
	case FeaturePresentations:
		return []any{map[string]any{"color": q.Color, "range": whole.wire()}}
	case FeatureSelections:
		list := []any{}
		for _, p := range q.positions() {
			list = append(list, p.wire())
		}
		return []any{list}
	case FeatureFolding:
		return []any{struct{}{}}
	case FeatureTokens:
		return []any{0} // the last result, from which a difference would be told
	case FeatureWorkspaceSymbol:
		return []any{q.Text}
	case FeatureInline:
		return []any{at, q.inline(time.Now())}
	case FeatureSymbols, FeatureLenses, FeatureLinks, FeatureColors:
		return nil
	}
	return []any{at}
}

// items asks and returns what is merged; caller is nil for the program itself.
func (s *Service) items(ctx context.Context, q *Query, caller *workbench.Call) ([]item, error) {
	if _, known := features[q.Feature]; !known {
		return nil, workbench.Invalid("unknown language feature %q", q.Feature)
	}
	// The languages are known when a host is up.
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	var d document
	if q.Feature != FeatureWorkspaceSymbol {
		var done func()
		var err error
		if d, done, err = s.open(ctx, q, caller); err != nil {
			return nil, err
		}
		defer done()
	}
	ask := question{name: q.Feature, doc: d, args: q.args(d.whole), listed: &atomic.Bool{}}
	switch q.Feature {
	case FeatureFormatOnType: // only the first provider counts, for its characters
		first := s.find(features[q.Feature], d)
		if len(first) > 0 && !first[0].hasTrigger(q.Text) {
			return nil, nil
		}
	case FeatureCompletion:
		if q.Typed && q.Text != "" {
			ask.only = func(p *provider) bool { return p.hasTrigger(q.Text) }
		}
	case FeatureActions:
		ask.only = func(p *provider) bool { return p.mayHave(q.Kind) }
	case FeaturePrepareRename:
		ask.only = func(p *provider) bool { return string(p.rest[1]) == "true" }
	}
	items, err := s.ask(ctx, ask)
	items, err = s.withBuiltin(ctx, q, d, items, ask.listed.Load(), err)
	if q.Feature == FeatureTokens && errors.Is(err, ErrNoProvider) { // TypeScript has them for ranges only
		byRange := *q
		byRange.Feature, byRange.Range = FeatureRangeTokens, nil
		return s.items(ctx, &byRange, caller)
	}
	if q.Feature == FeatureFormat && len(items) == 0 && (err == nil || errors.Is(err, ErrNoProvider)) {
		byRange := *q
		byRange.Feature, byRange.Range = FeatureFormatRange, nil
		found, failed := s.items(ctx, &byRange, caller)
		if err == nil && errors.Is(failed, ErrNoProvider) {
			return nil, nil // a provider has been asked: the document is formatted
		}
		return found, failed
	}
	if err != nil {
		return nil, err
	}
	if items, err = merge(q, d, items); err != nil {
		return nil, err
	}
	switch q.Feature {
	case FeatureFormat, FeatureFormatRange, FeatureFormatOnType:
		return minimal(items, d.text(), caller != nil)
	}
	left := q.Resolve
	for i, it := range items {
		if left <= 0 {
			break
		}
		if it.ref == "" || q.Feature == FeatureLenses && !isNothing(property(it.raw, "command")) {
			continue
		}
		left--
		var refused *codec.Error
		now, err := s.resolve(ctx, it, q.Feature)
		switch {
		case err == nil:
			items[i] = now
		case !errors.As(err, &refused) || ctx.Err() != nil:
			return nil, err // else the item stays as it is, as in VS Code
		}
	}
	if q.commandsOnly {
		items = slices.DeleteFunc(items, func(it item) bool { return isNothing(property(it.raw, "command")) })
	}
	return items, nil
}

// visible are the features whose answers depend on settings that some extensions read only for documents
// in an editor.
var visible = map[Feature]bool{
	FeatureActions: true, FeatureHints: true, FeatureCompletion: true, FeatureRename: true, FeatureFormat: true, FeatureFormatRange: true, FeatureLenses: true,
}

// open opens the document of a question until done is called, and activates the extensions of its
// language. A confined caller must be allowed to read the document.
func (s *Service) open(ctx context.Context, q *Query, caller *workbench.Call) (d document, done func(), err error) {
	open, err := s.opt.Documents.OpenFor(ctx, q.URI, caller)
	if err != nil {
		return d, nil, err
	}
	if caller == nil && visible[q.Feature] { // an extension that asks decides itself what is shown
		if err := open.Reveal(); err != nil {
			open.Close()
			return d, nil, err
		}
	}
	d = document{uri: open.URI(), language: open.Language(), recursive: q.recursive, text: func() *text.Text {
		t, _ := open.Text()
		return t
	}}
	if q.Range == nil {
		t, _ := open.Text()
		d.whole = wholeOf(t)
	}
	// Other extensions may have what is asked for, even if one of the language fails.
	d.failed = s.activate(ctx, d.language)
	return d, open.Close, nil
}

// mayHave reports whether the provider may have code actions of a kind.
func (p *provider) mayHave(kind string) bool {
	var meta struct{ ProvidedKinds []string }
	if json.Unmarshal(p.rest[1], &meta) != nil || meta.ProvidedKinds == nil || kind == "" {
		return true
	}
	for _, k := range meta.ProvidedKinds {
		if includes(kind, k) || includes(k, kind) {
			return true
		}
	}
	return false
}

// decoders return the items of a feature in its Go type.
var decoders = map[Feature]func([]item) (any, error){
	FeatureHover:           list[HoverText],
	FeatureDefinition:      list[Location],
	FeatureDeclaration:     list[Location],
	FeatureTypeDefinition:  list[Location],
	FeatureImplementation:  list[Location],
	FeatureReferences:      list[Location],
	FeatureHighlights:      list[Highlight],
	FeatureCompletion:      completions,
	FeatureSignature:       one[SignatureHelp],
	FeatureSymbols:         list[Symbol],
	FeatureWorkspaceSymbol: list[SymbolInformation],
	FeatureFormat:          list[TextEdit],
	FeatureFormatRange:     list[TextEdit],
	FeatureFormatOnType:    list[TextEdit],
	FeatureRename:          one[WorkspaceEdit],
	FeaturePrepareRename:   one[RenameLocation],
	FeatureActions:         list[Action],
	FeatureLenses:          list[Lens],
	FeatureFolding:         foldings,
	FeatureSelections:      list[[]Range],
	FeatureTokens:          tokens,
	FeatureRangeTokens:     tokens,
	FeatureHints:           list[Hint],
	FeatureLinks:           list[Link],
	FeatureColors:          list[Color],
	FeaturePresentations:   list[Presentation],
	FeatureCallHierarchy:   list[HierarchyItem],
	FeatureTypeHierarchy:   list[HierarchyItem],
	FeatureInline:          list[InlineCompletion],
	FeatureLinked:          one[LinkedRanges],
}

// list decodes items.
func list[T any](items []item) (any, error) {
	out := make([]T, len(items))
	for i, it := range items {
		if err := it.decode(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// one decodes the only item; nil without an item.
func one[T any](items []item) (any, error) {
	if len(items) == 0 {
		return (*T)(nil), nil
	}
	out := new(T)
	return out, items[0].decode(out)
}

// completions decodes completions.
func completions(items []item) (any, error) {
	all, err := list[CompletionItem](items)
	if err != nil {
		return nil, err
	}
	out := &CompletionList{Items: all.([]CompletionItem)} //nolint:forcetypeassert // list returns it
	for _, it := range items {
		out.Incomplete = out.Incomplete || it.open
	}
	return out, nil
}

// decode decodes an item.
func (it item) decode(to any) error {
	if err := json.Unmarshal(it.raw, to); err != nil {
		return fmt.Errorf("a host has sent a result of an unknown form: %w", err)
	}
	if r, ok := to.(interface{ setRef(ref string) }); ok {
		r.setRef(it.ref)
	}
	return nil
}

// Ask asks all providers of a feature that fit, and merges what they return as VS Code does. The result
// has one of these types:
//
//	[]HoverText            FeatureHover
//	[]Location             FeatureDefinition, Declaration, TypeDefinition, Implementation, References
//	[]Highlight            FeatureHighlights
//	*CompletionList        FeatureCompletion
//	*SignatureHelp         FeatureSignature; nil if no provider has help
//	[]Symbol               FeatureSymbols
//	[]SymbolInformation    FeatureWorkspaceSymbol
//	[]TextEdit             FeatureFormat, FormatRange, FormatOnType
//	*WorkspaceEdit         FeatureRename
//	*RenameLocation        FeaturePrepareRename; nil if no provider has a range
//	[]Action               FeatureActions
//	[]Lens                 FeatureLenses
//	[]FoldingRange         FeatureFolding
//	[][]Range              FeatureSelections: by position, the smallest range first
//	[]Token                FeatureTokens, RangeTokens
//	[]Hint                 FeatureHints
//	[]Link                 FeatureLinks
//	[]Color                FeatureColors
//	[]Presentation         FeaturePresentations
//	[]HierarchyItem        FeatureCallHierarchy, FeatureTypeHierarchy, and their relations: FeatureIncoming, Outgoing,
//	                       Supertypes, Subtypes
//	[]InlineCompletion     FeatureInline
//	*LinkedRanges          FeatureLinked; nil if nothing is linked
//
// Without a provider, or if none has an answer, [FeatureHighlights] has the occurrences of the word, and
// [FeatureFolding] what is indented; the words and the whole text are always among [FeatureSelections], and
// brackets if there is no provider. So it is in VS Code. NOTE: The text is not parsed, so that brackets in
// strings count.
//
// The error is [ErrNoProvider] if no provider fits, [ErrRejected] if something cannot be renamed, that of
// the document if it cannot be opened, and that of a provider if no provider has an answer. If the life of
// a host ends twice during the question, the error is an *actors.HostError.
func (s *Service) Ask(ctx context.Context, q Query) (any, error) {
	if r, is := relationOf[q.Feature]; is {
		return s.askRelated(ctx, q, r.prepare, r.what)
	}
	items, err := s.items(ctx, &q, nil)
	if err != nil {
		return nil, err
	}
	return decoders[q.Feature](items)
}

// Get is [Service.Ask] for a feature whose type is known. Another type is an error.
func Get[T any](ctx context.Context, s *Service, q Query) (out T, err error) {
	all, err := s.Ask(ctx, q)
	if err != nil {
		return out, err
	}
	out, ok := all.(T)
	if !ok {
		return out, fmt.Errorf("language feature %s has the type %T, not %T", q.Feature, all, out)
	}
	return out, nil
}

// errExpired means that a result is not kept any more.
var errExpired = fmt.Errorf("the result is not kept any more: only the last %d are, until their hosts end", maxHeld)

// Resolve adds to an item what its provider finds out only when it is needed, such as the edit of a code
// action. ref is the Ref of the item, out a pointer to a value of its type.
func (s *Service) Resolve(ctx context.Context, f Feature, ref string, out any) error {
	number, index, _ := strings.Cut(ref, "/")
	n, err := strconv.Atoi(number)
	i, err2 := strconv.Atoi(index)
	if errors.Join(err, err2) != nil {
		return workbench.Invalid("%q is not the Ref of an item", ref)
	}
	var it item
	s.mu.Lock()
	for _, h := range s.held {
		if h.number == n && i >= 0 && i < len(h.items) && h.p.kind == features[f].register {
			it = h.items[i]
		}
	}
	s.mu.Unlock()
	if it.raw == nil {
		return errExpired
	}
	if it, err = s.resolve(ctx, it, f); err != nil {
		return err
	}
	return it.decode(out)
}

// resolve asks the provider of an item for its other parts.
func (s *Service) resolve(ctx context.Context, it item, name Feature) (item, error) {
	f := features[name]
	arg := it.raw
	if f.id != "" {
		if arg = property(it.raw, f.id); isNothing(arg) {
			return it, nil
		}
	}
	var raw json.RawMessage
	if err := it.p.on.Call(ctx, extHost+f.resolve, workbench.Params(it.p.handle, arg, token), &raw); err != nil {
		return it, err
	}
	if isNothing(raw) {
		return it, nil
	}
	if name == FeatureCompletion {
		var err error
		if raw, err = suggestion(raw, property(it.raw, "range")); err != nil {
			return it, err
		}
	}
	var err error
	it.raw, err = overlay(it.raw, raw)
	return it, err
}
