package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/internal/nearest"
	"sync"
)

// section is one kind of block: its arguments and the blocks inside it. The settings
// point into the spec that is being filled.
type section struct {
	name     string
	doc      string
	settings []setting
	sections []section
	labeled  []hcl.BlockHeaderSchema // blocks inside it that the caller reads
	speaks   bool                    // has no meaning for a host without a protocol
	given    *bool                   // unless nil, set if the block is written
}

// places holds the positions of the settings of a block, by their path from it
// ("restart.backoff.max"), and which of them are invalid.
type places struct {
	at    map[string]hcl.Range
	wrong map[string]bool
}

// sound reports whether none of the paths is invalid, so that their values can be
// compared.
func (p places) sound(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(s string) bool { return p.wrong[s] })
}

// section reads a body into what s points to and returns the positions of its
// settings and blocks. Blocks with a label are left to the caller. header is the
// position for errors about missing settings.
func (r *reader) section(body hcl.Body, header hcl.Range, s section, labeled ...hcl.BlockHeaderSchema) places {
	p := places{at: map[string]hcl.Range{}, wrong: map[string]bool{}}
	r.read(body, header, s, "", p, labeled)
	return p
}

func (r *reader) read(body hcl.Body, header hcl.Range, s section, prefix string, p places, labeled []hcl.BlockHeaderSchema) {
	schema := &hcl.BodySchema{Blocks: labeled}
	for _, set := range s.settings {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: set.name})
	}
	for _, sub := range s.sections {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: sub.name})
	}
	before := len(r.diags)
	c := r.content(body, schema)
	s.redirect(r.diags[before:])
	for _, set := range s.settings {
		attr, ok := c.Attributes[set.name]
		if !ok {
			if set.required && !misspelt(body, set.name) {
				r.missing(header, s, set)
			}
			continue
		}
		full, before := prefix+set.name, len(r.diags)
		p.at[full] = attr.NameRange
		expr := attr.Expr
		if set.sift != nil {
			expr = set.sift(r, expr)
		}
		v, ok := cty.DynamicVal, false
		if r.lateAllowed(full, expr) {
			v, ok = r.eval(expr)
		}
		switch {
		case !ok:
		case v.IsNull() && set.required:
			r.missing(attr.Range, s, set)
		case v.IsNull(): // null means unset
			delete(p.at, full)
		default:
			set.read(given{reader: r, name: set.name, expr: expr, rng: attr.Expr.Range(), val: v})
		}
		p.wrong[full] = !ok || r.diags[before:].HasErrors()
	}
	for _, sub := range s.sections {
		var first *hcl.Block
		for _, b := range c.Blocks {
			if b.Type != sub.name {
				continue
			}
			if first != nil {
				r.twice(b, first.DefRange)
				continue
			}
			first = b
			if at, written := p.at[prefix+sub.name]; written { // there is an argument of that name
				r.fail(b.DefRange, sub.name+" written twice", "Line %d has an argument of that name. Remove one of the two.", at.Start.Line)
			}
			if sub.given != nil {
				*sub.given = true
			}
			p.at[prefix+sub.name] = b.DefRange
			r.read(b.Body, b.DefRange, sub, prefix+sub.name+".", p, sub.labeled)
		}
	}
}

func (r *reader) missing(rng hcl.Range, s section, set setting) {
	r.fail(rng, fmt.Sprintf("%s without %s", s.name, set.name), "A %s needs %s, %s.", s.name, set.name, set.expect)
}

// twice records a second block of a kind that is allowed once.
func (r *reader) twice(b *hcl.Block, first hcl.Range) {
	r.fail(b.DefRange, fmt.Sprintf("%s written twice", b.Type), "There is a %s block at line %d already; write its settings into one.", b.Type, first.Start.Line)
}

// misspelt reports whether a body has an argument that was probably meant to be
// name: then only the misspelling is reported, not the missing name.
func misspelt(body hcl.Body, name string) bool {
	b, ok := body.(*hclsyntax.Body)
	if !ok {
		return false
	}
	for have := range maps.Keys(b.Attributes) {
		if nearest.Name(have, []string{name}) != "" {
			return true
		}
	}
	return false
}

// redirect adds to diagnostics of unknown arguments the blocks below s that have
// such an argument.
func (s section) redirect(diags hcl.Diagnostics) {
	for _, d := range diags {
		m := unknownArgument().FindStringSubmatch(d.Detail)
		if m == nil {
			continue
		}
		if in := s.having(m[1], ""); len(in) > 0 {
			d.Detail += fmt.Sprintf(" It belongs into %s.", strings.Join(in, " or "))
		}
	}
}

// unknownArgument matches the library's message for an argument that is not in the
// schema and has no suggestion.
var unknownArgument = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^An argument named "([^"]+)" is not expected here\.$`)
})

// having returns the paths of the blocks below s that have a setting.
func (s section) having(name, prefix string) []string {
	var out []string
	for _, sub := range s.sections {
		path := prefix + sub.name
		if slices.ContainsFunc(sub.settings, func(set setting) bool { return set.name == name }) {
			out = append(out, path+" { … }")
		}
		out = append(out, sub.having(name, path+" › ")...)
	}
	return out
}

// unspoken calls f with the path of each setting and block of s that needs a
// protocol, a block before its content.
func (s section) unspoken(prefix string, f func(path string, whole bool)) {
	for _, set := range s.settings {
		if set.speaks {
			f(prefix+set.name, false)
		}
	}
	for _, sub := range s.sections {
		if sub.speaks {
			f(prefix+sub.name, true)
			continue
		}
		sub.unspoken(prefix+sub.name+".", f)
	}
}
