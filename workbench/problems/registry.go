package problems

import (
	_ "embed" // the matchers of the editor
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed builtin.json
var builtin []byte

// maxNamed bounds the matchers and the patterns that have names.
const maxNamed = 10_000

// Registry has the matchers and patterns that are known by name. It is not changed after it was made.
type Registry struct {
	patterns map[string][]pattern
	matchers map[string]*Matcher
}

// contribution is what an extension contributes.
type contribution struct {
	Patterns []json.RawMessage `json:"problemPatterns"`
	Matchers []json.RawMessage `json:"problemMatchers"`
}

// own returns the registry of the editor itself.
var own = sync.OnceValue(func() *Registry {
	r := &Registry{map[string][]pattern{}, map[string]*Matcher{}}
	var c contribution
	if err := json.Unmarshal(builtin, &c); err != nil {
		panic("problems: " + err.Error()) // a mistake of the program
	}
	if left := r.add([]contribution{c}); len(left) > 0 {
		panic("problems: " + strings.Join(left, "; "))
	}
	return r
})

// New returns the registry of the editor with what extensions with these descriptions contribute. A later one
// with a name replaces an earlier one. left says what cannot be used and why.
func New(descriptions []json.RawMessage) (r *Registry, left []string) {
	r = &Registry{map[string][]pattern{}, map[string]*Matcher{}}
	for name, p := range own().patterns {
		r.patterns[name] = p
	}
	for name, m := range own().matchers {
		r.matchers[name] = m
	}
	all := make([]contribution, 0, len(descriptions))
	for _, raw := range descriptions {
		var d struct{ Contributes contribution }
		if json.Unmarshal(raw, &d) == nil { // contributes may be anything
			all = append(all, d.Contributes)
		}
	}
	return r, r.add(all)
}

// add adds what extensions contribute, the patterns of all first.
func (r *Registry) add(all []contribution) (left []string) {
	name := func(raw json.RawMessage) string {
		var in struct{ Name string }
		_ = json.Unmarshal(raw, &in) // what has no name is told below
		return in.Name
	}
	for _, c := range all {
		for _, raw := range c.Patterns {
			if err := r.addPattern(name(raw), raw); err != nil {
				left = append(left, fmt.Sprintf("the problem pattern %q of an extension is not used: %v", name(raw), err))
			}
		}
	}
	for _, c := range all {
		for _, raw := range c.Matchers {
			m, err := r.matcher(raw, "")
			switch {
			case err == nil && m.Name == "":
				err = fmt.Errorf("a name expected")
			case err == nil && m.Owner == "":
				m.Owner = m.Name
			}
			if err == nil && len(r.matchers) >= maxNamed {
				err = fmt.Errorf("up to %d expected", maxNamed)
			}
			if err != nil {
				left = append(left, fmt.Sprintf("the problem matcher %q of an extension is not used: %v", name(raw), err))
				continue
			}
			r.matchers[m.Name] = m
		}
	}
	return left
}

// addPattern adds a pattern, or those for several lines.
func (r *Registry) addPattern(name string, raw json.RawMessage) error {
	var in struct{ Patterns json.RawMessage }
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if in.Patterns != nil {
		raw = in.Patterns
	}
	list, err := patterns(raw)
	switch {
	case err != nil:
		return err
	case name == "":
		return fmt.Errorf("a name expected")
	case len(r.patterns) >= maxNamed:
		return fmt.Errorf("up to %d expected", maxNamed)
	}
	r.patterns[name] = list
	return nil
}

// pattern returns the patterns of a name, an object or a list; nil for nothing.
func (r *Registry) pattern(raw json.RawMessage) ([]pattern, error) {
	var name string
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &name) != nil {
		return patterns(raw)
	}
	key, dollar := strings.CutPrefix(name, "$")
	list := r.patterns[key]
	if list == nil || !dollar {
		return nil, fmt.Errorf("pattern: the name of a pattern of the editor or of an extension expected, with a $ before it, not %q", name)
	}
	return list, nil
}

// named returns the matcher of a name such as $tsc.
func (r *Registry) named(name string) (*Matcher, error) {
	key, dollar := strings.CutPrefix(name, "$")
	m := r.matchers[key]
	if m == nil || !dollar {
		return nil, fmt.Errorf("the name of a problem matcher of the editor or of an extension expected, with a $ before it, not %q", name)
	}
	return m, nil
}

// Matcher returns the matcher of a name such as "$tsc" or of an object. owner is that of an object without an owner.
func (r *Registry) Matcher(raw json.RawMessage, owner string) (*Matcher, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return r.named(name)
	}
	return r.matcher(raw, owner)
}
