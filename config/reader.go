package config

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// reader collects mistakes while a file is read. Its methods continue after a mistake.
type reader struct {
	scope scope
	dir   string // relative paths start here
	// folders of the files that are read, by their names in diagnostics
	folders map[string]string
	onFile  func(pattern string) // may be nil

	elsewhere bool // the file is for another machine
	stat      func(string) (fs.FileInfo, error)
	diags     hcl.Diagnostics

	lookPath func(file, dir, path string) (string, error)                                   // nil: programs are not looked for
	enforce  func(*policy.Policy, policy.Limits) (*policy.Resolved, []*policy.Error, error) // may be nil
	lenient  bool                                                                           // errors of enforce are warnings
	programs string                                                                         // the supervisor's PATH
}

// fail records an error at rng.
func (r *reader) fail(rng hcl.Range, summary, detail string, args ...any) {
	r.note(hcl.DiagError, rng, summary, detail, args...)
}

// warn records a warning at rng.
func (r *reader) warn(rng hcl.Range, summary, detail string, args ...any) {
	r.note(hcl.DiagWarning, rng, summary, detail, args...)
}

func (r *reader) note(sev hcl.DiagnosticSeverity, rng hcl.Range, summary, detail string, args ...any) {
	r.diags = append(r.diags, &hcl.Diagnostic{
		Severity: sev, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &rng,
	})
}

// content reads a body against its schema.
func (r *reader) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	if b, ok := body.(*hclsyntax.Body); ok {
		body = r.sift(b, schema)
	}
	c, diags := body.Content(schema)
	r.diags = append(r.diags, diags...)
	return c
}

// sift removes from a body what has a better diagnostic than the library's: blocks with
// too few or too many names.
func (r *reader) sift(b *hclsyntax.Body, schema *hcl.BodySchema) *hclsyntax.Body {
	labels := map[string]int{}
	for _, s := range schema.Blocks {
		labels[s.Type] = len(s.LabelNames)
	}
	rest := *b
	rest.Blocks = nil
	for _, block := range b.Blocks {
		want, known := labels[block.Type]
		switch have := len(block.Labels); {
		case !known || have == want:
		case want == 0:
			r.fail(block.LabelRanges[0], block.Type+" has no name", "Write %s { … }.", block.Type)
			continue
		case have == 0:
			r.fail(block.TypeRange, block.Type+" without a name", "Write %s \"NAME\" { … }.", block.Type)
			continue
		default:
			r.fail(block.LabelRanges[want], block.Type+" with more than one name", "Write %s %q { … }.", block.Type, block.Labels[0])
			continue
		}
		rest.Blocks = append(rest.Blocks, block)
	}
	return &rest
}

// given is a written value, with its name and position.
type given struct {
	*reader
	name string // as shown in messages: `timeout`, `command[1]`
	expr hcl.Expression
	rng  hcl.Range
	val  cty.Value
}

// bad records that the value is invalid.
func (g given) bad(detail string, args ...any) {
	g.fail(g.rng, "invalid value for "+g.name, detail, args...)
}

// wrongType records that the value has another type than want, which reads like `a
// duration such as "5s"`; hint is a further sentence or "".
func (g given) wrongType(want, hint string) {
	if hint != "" {
		hint = " " + hint
	}
	g.fail(g.rng, "wrong type for "+g.name, "Expected %s, not %s.%s", want, kindOf(g.val), hint)
}

// kindOf names the type of v for messages.
func kindOf(v cty.Value) string {
	t := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return "a string"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.IsTupleType(), t.IsListType():
		return "a list"
	case t.IsSetType():
		return "a set"
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	}
	return t.FriendlyName()
}

// str returns the written string, or records that the value is not a string.
func (g given) str(want string) (string, bool) {
	if _, quoted := g.expr.(*hclsyntax.TemplateWrapExpr); quoted { // HCL leaves "${n}" as n is
		if text, err := convert.Convert(g.val, cty.String); err == nil {
			g.val = text
		}
	}
	if g.val.IsNull() || g.val.Type() != cty.String {
		hint := ""
		if !g.val.IsNull() && g.val.Type().IsPrimitiveType() {
			hint = fmt.Sprintf("Put it in quotes: %q.", plain(g.val))
		}
		g.wrongType(want, hint)
		return "", false
	}
	return g.val.AsString(), true
}

// plain renders a number or bool as written in a file.
func plain(v cty.Value) string {
	switch v.Type() {
	case cty.Bool:
		return fmt.Sprint(v.True())
	case cty.Number:
		if f := v.AsBigFloat(); !f.IsInf() {
			return f.Text('g', 10)
		}
		return "infinity"
	}
	return v.AsString()
}

// elements returns the elements of a list, each with its own position if the list is
// written out.
func (g given) elements(want, hint string) ([]given, bool) {
	t := g.val.Type()
	if g.val.IsNull() || !(t.IsTupleType() || t.IsListType() || t.IsSetType()) {
		g.wrongType(want, hint)
		return nil, false
	}
	n := g.val.LengthInt()
	exprs, diags := hcl.ExprList(g.expr)
	written := !diags.HasErrors() && len(exprs) == n
	out := make([]given, 0, n)
	for i, v := range g.val.AsValueSlice() {
		e := given{reader: g.reader, name: fmt.Sprintf("%s[%d]", g.name, i), expr: g.expr, rng: g.rng, val: v}
		if written {
			e.expr, e.rng = exprs[i], exprs[i].Range()
		}
		out = append(out, e)
	}
	return out, true
}

// entry is one key of a map with its value.
type entry struct {
	key    string
	keyRng hcl.Range
	given
}

// entries returns the entries of a map, sorted by key, each with its own position if
// the map is written out. A duplicate key is an error; HCL itself would silently
// keep the last.
func (g given) entries(want string) ([]entry, bool) {
	t := g.val.Type()
	if g.val.IsNull() || !(t.IsObjectType() || t.IsMapType()) {
		g.wrongType(want, "")
		return nil, false
	}
	type place struct{ key, val hcl.Expression }
	places := map[string]place{}
	if pairs, diags := hcl.ExprMap(g.expr); !diags.HasErrors() {
		for _, p := range pairs {
			k, diags := p.Key.Value(g.scope.context())
			if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
				continue
			}
			name := k.AsString()
			if first, ok := places[name]; ok {
				g.fail(p.Key.Range(), "written twice", "%q has a value at line %d already. Remove one of the two.", name, first.key.Range().Start.Line)
			} else {
				places[name] = place{p.Key, p.Value}
			}
		}
	}
	m := g.val.AsValueMap()
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]entry, 0, len(keys))
	for _, k := range keys {
		e := entry{key: k, keyRng: g.rng, given: given{reader: g.reader, name: fmt.Sprintf("%s.%s", g.name, k), expr: g.expr, rng: g.rng, val: m[k]}}
		if p, ok := places[k]; ok {
			e.keyRng, e.expr, e.rng = p.key.Range(), p.val, p.val.Range()
		}
		out = append(out, e)
	}
	return out, true
}
