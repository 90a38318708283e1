package config

import (
	"fmt"
	"iter"
	"maps"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

const (
	instances     = "instances"
	instancesForm = "a whole number from 0 to 1000"

	forEach     = "for_each"
	forEachForm = `a map, or a list of strings or numbers such as ["go", "rust"]`
)

// forEachSetting declares the argument; [reader.each] reads it before the others.
func forEachSetting() setting {
	return setting{expect: forEachForm, read: func(given) {}, show: func() string { return "" }}
}

// instancesSetting declares the argument; [reader.each] reads it before the others.
func instancesSetting() setting {
	return setting{expect: instancesForm, read: func(given) {}, show: func() string { return "" }}
}

// replica says which of the hosts of a block one is.
type replica struct {
	key string // "" if the block makes no more than the one
	of  string // name of the block, if it has instances
}

// each yields a host block: with for_each once for each key, and with instances once for
// each number, which is then part of the name and the value of each.key, else once as it
// is. What is found wrong meanwhile is marked with the key.
func (r *reader) each(b *hcl.Block) iter.Seq2[replica, *hcl.Block] {
	return func(yield func(replica, *hcl.Block) bool) {
		body, _ := b.Body.(*hclsyntax.Body) // always
		attr, read, of := body.Attributes[forEach], r.forEach, ""
		if n := body.Attributes[instances]; n != nil {
			if attr != nil {
				r.fail(n.NameRange, "instances beside for_each", "A host has one of the two. Remove the other.")
			} else {
				attr, read, of = n, r.instances, b.Labels[0]
			}
		}
		if attr == nil {
			yield(replica{}, b)
			return
		}
		alone := *body
		alone.Attributes = maps.Clone(body.Attributes)
		delete(alone.Attributes, forEach)
		delete(alone.Attributes, instances)
		one := *b
		one.Body = &alone
		defer r.scope.setEach(cty.NilVal)
		all, ok := read(attr, b)
		if !ok { // the rest is read for its mistakes
			r.scope.setEach(cty.DynamicVal)
			yield(replica{}, &one)
			return
		}
		for _, i := range all {
			again := one
			again.Labels = []string{b.Labels[0] + "-" + i.key}
			r.scope.setEach(cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(i.key), "value": i.val}))
			before := len(r.diags)
			more := yield(replica{i.key, of}, &again)
			r.mark(before, i.key)
			if !more {
				return
			}
		}
	}
}

// forEach returns the keys and values of a for_each, whose keys fit into names. It returns
// false if there are none because of a mistake.
func (r *reader) forEach(attr *hclsyntax.Attribute, b *hcl.Block) ([]entry, bool) {
	if hostspec.CheckName(b.Labels[0]) != nil {
		return nil, false // reported with the block
	}
	v, ok := r.eval(attr.Expr)
	if !ok {
		return nil, false
	}
	g := given{reader: r, name: forEach, expr: attr.Expr, rng: attr.Expr.Range(), val: v}
	var all []entry
	if t := v.Type(); !v.IsNull() && (t.IsObjectType() || t.IsMapType()) {
		all, ok = g.entries(forEachForm)
	} else {
		all, ok = g.keys()
	}
	sound := all[:0]
	for _, e := range all {
		name := b.Labels[0] + "-" + e.key
		if hostspec.CheckName(name) != nil {
			r.fail(e.keyRng, "invalid key for "+forEach, "A host cannot be named %q: a name has 1 to 63 letters, digits, dots, dashes and underscores. Use a map with other keys.", name)
			ok = false
			continue
		}
		sound = append(sound, e)
	}
	if ok && len(all) == 0 {
		r.warn(g.rng, "host without instances", "The value of %s is empty, so there is no host %q.", forEach, b.Labels[0])
	}
	return sound, ok
}

// instances returns the numbers of instances, from 1. It returns false if there are none
// because of a mistake.
func (r *reader) instances(attr *hclsyntax.Attribute, b *hcl.Block) ([]entry, bool) {
	var n int
	wrong := len(r.diags)
	v, ok := r.eval(attr.Expr)
	if !ok {
		return nil, false
	}
	g := given{reader: r, name: instances, expr: attr.Expr, rng: attr.Expr.Range(), val: v}
	whole(&n, 0, 1000).read(g)
	if len(r.diags) > wrong {
		return nil, false
	}
	if hostspec.CheckName(fmt.Sprintf("%s-%d", b.Labels[0], n)) != nil {
		if hostspec.CheckName(b.Labels[0]) == nil { // else reported with the block
			r.fail(g.rng, "name too long", "A host cannot be named %q: a name has 1 to 63 letters, digits, dots, dashes and underscores.", fmt.Sprintf("%s-%d", b.Labels[0], n))
		}
		return nil, false
	}
	if n == 0 {
		r.warn(g.rng, "host without instances", "There is no host %q.", b.Labels[0])
	}
	out := make([]entry, n)
	for i := range out {
		out[i].key, out[i].val = strconv.Itoa(i+1), cty.NumberIntVal(int64(i+1))
	}
	return out, true
}

// keys returns the elements of a list with themselves as keys.
func (g given) keys() ([]entry, bool) {
	elems, ok := g.elements(forEachForm, "")
	seen := map[string]bool{}
	var out []entry
	for _, e := range elems {
		key, err := convert.Convert(e.val, cty.String)
		switch {
		case err != nil || key.IsNull() || e.val.Type() == cty.Bool:
			e.wrongType("a string or a number", "Use a map for other values, whose keys are then part of the names.")
			ok = false
		case seen[key.AsString()]:
			e.bad("%q is in the list already.", key.AsString())
			ok = false
		default:
			seen[key.AsString()] = true
			out = append(out, entry{key: key.AsString(), keyRng: e.rng, given: e})
		}
	}
	return out, ok
}

// marked is attached to a diagnostic of one instance of a block.
type marked struct {
	key   string
	inner any
}

// mark attaches a key of for_each to the diagnostics that follow the first ones.
func (r *reader) mark(first int, key string) {
	if key == "" {
		return
	}
	for _, d := range r.diags[first:] {
		d.Extra = marked{key, d.Extra}
	}
}

// merged returns the diagnostics with those of several instances made into one, which names
// their keys.
func merged(diags hcl.Diagnostics) hcl.Diagnostics {
	type text struct{ summary, detail, at string }
	keys, first := map[text][]string{}, map[text]*hcl.Diagnostic{}
	out := diags[:0]
	for _, d := range diags {
		m, ok := d.Extra.(marked)
		if !ok {
			out = append(out, d)
			continue
		}
		d.Extra = m.inner
		t := text{d.Summary, d.Detail, fmt.Sprint(d.Subject)}
		if keys[t] = append(keys[t], m.key); first[t] == nil {
			first[t] = d
			out = append(out, d)
		}
	}
	for t, d := range first {
		d.Detail += fmt.Sprintf(" (each.key = %s)", some(keys[t]))
	}
	return out
}
