package lsp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/workbench/language"
)

// The legend of semantic tokens: the types and modifiers of VS Code that extensions need not declare.
var (
	tokenTypes = strings.Fields("namespace type class enum interface struct typeParameter parameter variable property enumMember event " +
		"function method macro keyword modifier comment string number regexp operator decorator label")
	tokenModifiers = strings.Fields("declaration definition readonly static deprecated abstract async modification documentation " +
		"defaultLibrary local")
	tokenNames = map[string]string{"member": "method"} // names that VS Code still has for others
)

// semanticTokens are those of a document as the client got them last.
type semanticTokens struct {
	ID   string `json:"resultId,omitempty"`
	Data []int  `json:"data"`
}

// tokensEdit replaces numbers of semantic tokens.
type tokensEdit struct {
	Start  int   `json:"start"`
	Delete int   `json:"deleteCount"`
	Data   []int `json:"data,omitempty"`
}

// allTokens returns the tokens of a document.
func allTokens(ctx context.Context, c *session, p *request) (any, error) {
	now, _, err := c.tokens(ctx, p)
	return now, err
}

// changedTokens returns what is different from the tokens that the client got last, or all tokens if the
// client has others.
func changedTokens(ctx context.Context, c *session, p *request) (any, error) {
	now, last, err := c.tokens(ctx, p)
	if err != nil || last.ID == "" || last.ID != p.PreviousResultID {
		return now, err
	}
	return map[string]any{"resultId": now.ID, "edits": tokensDifference(last.Data, now.Data)}, nil
}

// tokensDifference returns the edits between tokens: one, or none.
func tokensDifference(from, to []int) []tokensEdit {
	head, tail := 0, 0
	shorter := min(len(from), len(to))
	for head < shorter && from[head] == to[head] {
		head++
	}
	for tail < shorter-head && from[len(from)-1-tail] == to[len(to)-1-tail] {
		tail++
	}
	if head == len(from) && head == len(to) {
		return []tokensEdit{}
	}
	return []tokensEdit{{head, len(from) - head - tail, to[head : len(to)-tail]}}
}

// tokens returns the tokens of a document, and those of the last time. They are kept for documents that
// the client has open.
func (c *session) tokens(ctx context.Context, p *request) (now, last semanticTokens, err error) {
	all, err := get[[]language.Token](ctx, c, p, language.FeatureTokens)
	if err != nil {
		return now, last, err
	}
	now.Data = encodeTokens(all)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if v := c.s.find(c, p.uri.String()); v != nil {
		c.lastTokens++
		now.ID = strconv.Itoa(c.lastTokens)
		last, v.tokens = v.tokens, now
	}
	return now, last, nil
}

// rangeTokens returns the tokens of a part of a document: of all of it if no extension has those of a part.
func rangeTokens(ctx context.Context, c *session, p *request) (any, error) {
	all, err := get[[]language.Token](ctx, c, p, language.FeatureRangeTokens)
	if errors.Is(err, language.ErrNoProvider) {
		all, err = get[[]language.Token](ctx, c, p, language.FeatureTokens)
	}
	return semanticTokens{Data: encodeTokens(all)}, err
}

// encodeTokens returns tokens as LSP encodes them, by the legend. Tokens of a type that is not in the
// legend are left out, as are modifiers.
func encodeTokens(tokens []language.Token) []int {
	tokens = slices.Clone(tokens)
	slices.SortStableFunc(tokens, func(a, b language.Token) int { return a.Position.Compare(b.Position) })
	out := []int{}
	var last language.Position
	for _, t := range tokens {
		name := t.Type
		if other, ok := tokenNames[name]; ok {
			name = other
		}
		kind := slices.Index(tokenTypes, name)
		if kind < 0 {
			continue
		}
		bits := 0
		for _, m := range t.Modifiers {
			if i := slices.Index(tokenModifiers, m); i >= 0 {
				bits |= 1 << i
			}
		}
		character := t.Position.Character
		if t.Position.Line == last.Line {
			character -= last.Character
		}
		out = append(out, t.Position.Line-last.Line, character, t.Length, kind, bits)
		last = t.Position
	}
	return out
}
