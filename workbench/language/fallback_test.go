package language

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language/builtin"
	"github.com/hostsup/hostsup/workbench/text"
)

// The editor answers where VS Code's does, and does not hide that a host has ended.
func TestBuiltinAnswers(t *testing.T) {
	d := document{uri: workbench.File("/a"), text: func() *text.Text { return text.New("a b\n  a\n", text.LF) }}
	s := New(Options{Configuration: func(string, workbench.URI) builtin.Language { return builtin.Language{} }})
	ended := &ProviderError{"h", FeatureFolding, &actors.HostError{}}
	failed := &ProviderError{"h", FeatureFolding, &codec.Error{Message: "no"}}
	for _, c := range []struct {
		name     string
		q        Query
		items    []item
		answered bool
		err      error
		want     string
		fails    error
	}{
		{"no provider of highlights", Query{Feature: FeatureHighlights}, nil, false, ErrNoProvider, `[{"kind":0,"range":{"startLineNumber":1,"startColumn":1,"endLineNumber":1,"endColumn":2}},{"kind":0,"range":{"startLineNumber":2,"startColumn":3,"endLineNumber":2,"endColumn":4}}]`, nil},
		{"highlights of a provider", Query{Feature: FeatureHighlights}, rawItems(`1`), true, nil, `[1]`, nil},
		{"no provider of folds", Query{Feature: FeatureFolding}, nil, false, ErrNoProvider, `[{"end":3,"start":1}]`, nil},
		{"a provider without folds", Query{Feature: FeatureFolding}, nil, true, nil, `[]`, nil},
		{"a provider without an answer", Query{Feature: FeatureFolding}, nil, false, nil, `[{"end":3,"start":1}]`, nil},
		{"a provider that fails", Query{Feature: FeatureFolding}, nil, false, failed, `[{"end":3,"start":1}]`, nil},
		{"a host that ended", Query{Feature: FeatureFolding}, nil, false, ended, `[]`, ended},
		{"only providers are wanted", Query{Feature: FeatureFolding, Provided: true}, nil, false, ErrNoProvider, `[]`, ErrNoProvider},
		{"another feature", Query{Feature: FeatureHover}, nil, false, ErrNoProvider, `[]`, ErrNoProvider},
		{"selections", Query{Feature: FeatureSelections, Positions: []Position{{0, 1}, {1, 0}}}, rawItems(`[]`), true, nil, `[[],[` +
			`[{"startLineNumber":1,"startColumn":1,"endLineNumber":1,"endColumn":2},{"startLineNumber":1,"startColumn":1,"endLineNumber":1,"endColumn":2},{"startLineNumber":1,"startColumn":1,"endLineNumber":3,"endColumn":1}],` +
			`[{"startLineNumber":1,"startColumn":1,"endLineNumber":3,"endColumn":1}]]]`, nil},
	} {
		got, err := s.withBuiltin(t.Context(), &c.q, d, c.items, c.answered, c.err)
		if raw, _ := json.Marshal(rawOf(got)); string(raw) != c.want || !errors.Is(err, c.fails) || c.fails == nil && err != nil {
			t.Errorf("%s: %s %v, want %s", c.name, raw, err, c.want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.withBuiltin(gone, &Query{Feature: FeatureFolding}, d, nil, false, failed); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
