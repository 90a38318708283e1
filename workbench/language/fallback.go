package language

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench/language/builtin"
	"github.com/hostsup/hostsup/workbench/text"
)

// withBuiltin adds what the editor finds by itself to what the providers of extensions have answered, or returns it
// in place of [ErrNoProvider]: where the word at the position occurs if no provider knows an occurrence,
// what is folded by indentation if no provider has answered with a list, and words as selections. answered
// says that a provider has sent a list, which may be empty.
func (s *Service) withBuiltin(ctx context.Context, q *Query, d document, items []item, answered bool, err error) ([]item, error) {
	var failed *ProviderError
	var ended *actors.HostError
	none := errors.Is(err, ErrNoProvider)
	switch {
	case q.Feature != FeatureHighlights && q.Feature != FeatureFolding && q.Feature != FeatureSelections:
		return items, err
	case none && q.Provided, err != nil && !none && (!errors.As(err, &failed) || errors.As(err, &ended)), ctx.Err() != nil:
		return items, err
	}
	var known builtin.Language
	if s.opt.Configuration != nil {
		known = s.opt.Configuration(d.language, d.uri)
	}
	t := d.text()
	add := func(v any) { items = append(items, item{rank: len(items), raw: encode(v)}) }
	switch q.Feature {
	case FeatureHighlights:
		if len(items) > 0 {
			break
		}
		at := q.Position.wire()
		for _, r := range builtin.Occurrences(t, at["lineNumber"], at["column"], known) {
			add(map[string]any{"range": r, "kind": 0})
		}
	case FeatureFolding:
		if answered {
			break
		}
		for _, f := range builtin.Folds(t, known) {
			add(map[string]int{"start": f.Start, "end": f.End})
		}
	case FeatureSelections:
		all := [][]text.Range{}
		for _, p := range q.positions() {
			at := p.wire()
			all = append(all, builtin.Selections(t, at["lineNumber"], at["column"], known, none))
		}
		add(all)
	}
	return items, nil
}

// withLines returns a chain of selections, each within the next one, with the lines between them.
func withLines(t *text.Text, chain []json.RawMessage) ([]json.RawMessage, error) {
	var out []json.RawMessage
	var last text.Range
	for i, raw := range chain {
		var r Range
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, err
		}
		now := r.wire()
		if i > 0 {
			for _, more := range builtin.Lines(t, last, now) {
				out = append(out, encode(more))
			}
		}
		out, last = append(out, raw), now
	}
	return out, nil
}
