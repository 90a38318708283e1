package language

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// sortKey is what items are ordered by.
type sortKey struct {
	Range    Range
	Position Position

	SortText  string
	Label     json.RawMessage
	label     CompletionLabel // of a completion
	Kind      json.RawMessage
	Preferred bool            `json:"isPreferred"`
	Problems  json.RawMessage `json:"diagnostics"`
	Disabled  json.RawMessage
}

// merge puts the items of all providers into the order of VS Code, and leaves out those that it leaves
// out.
func merge(q *Query, d document, items []item) ([]item, error) {
	var order func(a, b *sortKey) int
	switch q.Feature {
	case FeatureSymbols, FeatureLinks:
		order = func(a, b *sortKey) int {
			return cmp.Or(a.Range.Start.Compare(b.Range.Start), a.Range.End.Compare(b.Range.End))
		}
	case FeatureHints:
		order = func(a, b *sortKey) int { return a.Position.Compare(b.Position) }
	case FeatureLenses:
		order = func(a, b *sortKey) int { return a.Range.Start.Line - b.Range.Start.Line }
	case FeatureCompletion:
		order = compareCompletions
	case FeatureActions:
		order = func(a, b *sortKey) int {
			return cmp.Or(compareBool(b.hasProblems(), a.hasProblems()), compareBool(b.Preferred, a.Preferred))
		}
	case FeatureFolding:
		return mergeFolding(items, d.text().Count())
	case FeatureSelections:
		return mergeSelections(items, d.text())
	case FeatureWorkspaceSymbol:
		return distinct(items), nil
	case FeatureInline:
		return mergeInline(items)
	default:
		return items, nil
	}
	type keyed struct {
		item
		key sortKey
	}
	all := make([]keyed, 0, len(items))
	for _, it := range items {
		k := keyed{item: it}
		if err := it.decode(&k.key); err != nil {
			return nil, err
		}
		if q.Feature == FeatureCompletion {
			if err := json.Unmarshal(k.key.Label, &k.key.label); err != nil {
				return nil, err
			}
		}
		if q.Feature == FeatureActions && (!isNothing(k.key.Disabled) || !k.key.isOf(q.Kind)) {
			continue
		}
		all = append(all, k)
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return order(&a.key, &b.key) })
	if q.Feature == FeatureLinks { // of links that overlap, the first one stays
		var end Position
		all = slices.DeleteFunc(all, func(k keyed) bool {
			overlaps := k.key.Range.Start.Compare(end) < 0
			if !overlaps {
				end = k.key.Range.End
			}
			return overlaps
		})
	}
	out := make([]item, len(all))
	for i, k := range all {
		out[i] = k.item
	}
	return out, nil
}

func (k *sortKey) hasProblems() bool { return !isEmpty(k.Problems) }

// isOf reports whether a code action is of a kind, or of one below it.
func (k *sortKey) isOf(kind string) bool {
	var own string
	if kind == "" {
		return true
	}
	return json.Unmarshal(k.Kind, &own) == nil && includes(kind, own)
}

func compareCompletions(a, b *sortKey) int {
	low, other := strings.ToLower(a.SortText), strings.ToLower(b.SortText)
	if low == "" || other == "" {
		low, other = "", ""
	}
	var kind, otherKind int
	_, _ = json.Unmarshal(a.Kind, &kind), json.Unmarshal(b.Kind, &otherKind)
	return cmp.Or(cmp.Compare(low, other), cmp.Compare(a.label.Label, b.label.Label), kind-otherKind)
}

// names are the short names of completions on the wire.
var names = map[string]string{
	"x": "_id", "a": "label", "b": "kind", "m": "tags", "c": "detail", "d": "documentation", "e": "sortText", "f": "filterText",
	"g": "preselect", "h": "insertText", "i": "insertTextRules", "j": "range", "l": "additionalTextEdits",
}

// suggestion returns a completion with the names that other messages have. byDefault is the range of
// those without their own.
func suggestion(raw, byDefault json.RawMessage) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for short, name := range names {
		if v := in[short]; !isNothing(v) {
			out[name] = v
		}
	}
	set := func(name string, v json.RawMessage) {
		if out[name] == nil {
			out[name] = v
		}
	}
	set("kind", json.RawMessage("9"))
	if byDefault != nil {
		set("range", byDefault)
	}
	if out["insertText"] == nil {
		var label CompletionLabel
		if err := json.Unmarshal(in["a"], &label); err != nil {
			return nil, err
		}
		out["insertText"] = encode(label.Label)
	}
	if id := in["o"]; !isNothing(id) {
		command := map[string]json.RawMessage{"id": id, "title": json.RawMessage(`""`)}
		if ident := in["n"]; !isNothing(ident) {
			command["$ident"], command["arguments"] = ident, encode([]json.RawMessage{ident})
		} else if args := in["p"]; !isNothing(args) {
			command["arguments"] = args
		}
		out["command"] = encode(command)
	}
	var commit string
	if json.Unmarshal(in["k"], &commit) == nil && commit != "" {
		out["commitCharacters"] = encode(strings.Split(commit, ""))
	}
	return encode(out), nil
}

// encode encodes what is known to be JSON.
func encode(v any) json.RawMessage {
	list := workbench.Params(v)
	return json.RawMessage(list[1 : len(list)-1])
}

// overlay returns an object with the properties of another over its own.
func overlay(raw, over json.RawMessage) (json.RawMessage, error) {
	var out, more map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(over, &more); err != nil {
		return nil, err
	}
	maps.DeleteFunc(more, func(_ string, v json.RawMessage) bool { return isNothing(v) })
	maps.Copy(out, more)
	return encode(out), nil
}

// distinct leaves out symbols that other providers have too.
func distinct(items []item) []item {
	seen := map[string]bool{}
	return slices.DeleteFunc(items, func(it item) bool {
		var s SymbolInformation
		if it.decode(&s) != nil {
			return false // decoding it again reports why
		}
		key := fmt.Sprint(s.Name, "\x00", s.Container, "\x00", s.Kind, "\x00", s.Location.URI, s.Location.Range)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// mergeFolding orders ranges by their start, and leaves out those that begin where another one does or
// that cross another one or the end of the document, which has so many lines.
func mergeFolding(items []item, lines int) ([]item, error) {
	type folding struct {
		item
		at wireFolding
	}
	var all []folding
	for _, it := range items {
		f := folding{item: it}
		if err := it.decode(&f.at); err != nil {
			return nil, err
		}
		if f.at.Start > 0 && f.at.End > f.at.Start && f.at.End <= lines {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b folding) int { return cmp.Or(a.at.Start-b.at.Start, a.rank-b.rank) })
	var out []item
	var open []wireFolding
	for _, f := range all {
		for len(open) > 0 && open[len(open)-1].End < f.at.Start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && (open[len(open)-1].Start == f.at.Start || f.at.End > open[len(open)-1].End) {
			continue
		}
		open = append(open, f.at)
		out = append(out, f.item)
	}
	return out, nil
}

// mergeSelections returns an item for each position: the ranges of all providers that contain each
// other, the smallest first, with the lines of the document between them.
func mergeSelections(items []item, t *text.Text) ([]item, error) {
	var all [][]json.RawMessage
	for _, it := range items {
		var list [][]json.RawMessage
		if err := it.decode(&list); err != nil {
			return nil, err
		}
		for i, ranges := range list {
			if i == len(all) {
				all = append(all, nil)
			}
			all[i] = append(all[i], ranges...)
		}
	}
	var out []item
	for _, ranges := range all {
		type both struct {
			raw json.RawMessage
			Range
		}
		var sorted []both
		for _, raw := range ranges {
			b := both{raw: raw}
			err := json.Unmarshal(raw, &b.Range)
			if err == nil && b.Range == (Range{}) {
				var in struct{ Range Range } // a SelectionRange
				err = json.Unmarshal(raw, &in)
				b.Range, b.raw = in.Range, property(raw, "range")
			}
			if err != nil {
				return nil, err
			}
			sorted = append(sorted, b)
		}
		slices.SortStableFunc(sorted, func(a, b both) int {
			return cmp.Or(b.Start.Compare(a.Start), a.End.Compare(b.End))
		})
		chain := []json.RawMessage{}
		var last *both
		for i, b := range sorted {
			if last == nil || b.Contains(last.Range) && b.Range != last.Range {
				chain = append(chain, b.raw)
				last = &sorted[i]
			}
		}
		chain, err := withLines(t, chain)
		if err != nil {
			return nil, err
		}
		out = append(out, item{raw: encode(chain)})
	}
	return out, nil
}

// foldings decodes folding ranges.
func foldings(items []item) (any, error) {
	out := make([]FoldingRange, len(items))
	for i, it := range items {
		var in wireFolding
		if err := it.decode(&in); err != nil {
			return nil, err
		}
		out[i] = FoldingRange{Start: in.Start - 1, End: in.End - 1}
		if json.Unmarshal(in.Kind, &out[i].Kind) != nil {
			_ = json.Unmarshal(property(in.Kind, "value"), &out[i].Kind)
		}
	}
	return out, nil
}

// legend returns the names that the tokens of a provider have.
func (p *provider) legend() (l Legend, err error) {
	err = json.Unmarshal(p.rest[1], &l)
	return l, err
}

// tokens decodes semantic tokens.
func tokens(items []item) (any, error) {
	out := []Token{}
	if len(items) == 0 {
		return out, nil
	}
	var data workbench.Bytes
	if err := items[0].decode(&data); err != nil {
		return nil, err
	}
	names, err := items[0].p.legend()
	if err != nil {
		return nil, err
	}
	words := make([]uint32, len(data)/4)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, words); err != nil {
		return nil, err
	}
	const head, full, size = 3, 1, 5 // id, kind and length of the rest; numbers of a token
	if len(words) < head || words[1] != full || int(words[2]) != len(words)-head {
		return nil, fmt.Errorf("all semantic tokens expected, %d bytes", len(data))
	}
	var at Position
	for t := range slices.Chunk(words[head:], size) {
		if len(t) < size {
			break
		}
		if t[0] > 0 {
			at = Position{Line: at.Line + int(t[0])}
		}
		at.Character += int(t[1])
		token := Token{Position: at, Length: int(t[2])}
		if int(t[3]) < len(names.Types) {
			token.Type = names.Types[t[3]]
		}
		for i, name := range names.Modifiers {
			if i < 32 && t[4]&(1<<i) != 0 {
				token.Modifiers = append(token.Modifiers, name)
			}
		}
		out = append(out, token)
	}
	return out, nil
}
