package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/attach"
)

// scope holds what expressions can refer to: var.NAME, local.NAME, self and the
// functions. A value with a mistake, which is reported at its definition, is
// unknown, and what depends on it is silently left out.
type scope struct {
	base   *hcl.EvalContext // self and the functions
	vars   map[string]cty.Value
	locals map[string]cty.Value
	each   cty.Value        // key and value of the present instance; nil outside of them
	root   cty.Value        // of a host with instances of attach; nil outside of them
	late   []string         // variables of the present template; nil outside of templates
	ctx    *hcl.EvalContext // made from the fields above; nil after a change
}

func newScope(self string, lookupEnv func(string) (string, bool)) scope {
	return scope{
		base: &hcl.EvalContext{
			Variables: map[string]cty.Value{"self": cty.StringVal(self)},
			Functions: functions(lookupEnv),
		},
		vars:   map[string]cty.Value{},
		locals: map[string]cty.Value{},
	}
}

// context returns the whole scope. It is not a child of base, because the library
// suggests corrections for misspelt names from one level only.
func (s *scope) context() *hcl.EvalContext {
	if s.ctx == nil {
		vars := maps.Clone(s.base.Variables)
		vars["var"] = cty.ObjectVal(s.vars)
		vars["local"] = cty.ObjectVal(s.locals)
		if s.each != cty.NilVal {
			vars["each"] = s.each
		}
		if s.root != cty.NilVal {
			vars["root"] = s.root
		}
		if s.late != nil {
			own := maps.Clone(s.vars)
			for _, name := range s.late {
				own[name] = cty.StringVal(attach.Var(name))
			}
			vars["var"] = cty.ObjectVal(own)
			vars["key"], vars["key_name"] = cty.StringVal(attach.Key), cty.StringVal(attach.KeyName)
		}
		s.ctx = &hcl.EvalContext{Variables: vars, Functions: s.base.Functions}
	}
	return s.ctx
}

// setEach makes v, or nothing, the value of `each`.
func (s *scope) setEach(v cty.Value) { s.each, s.ctx = v, nil }

// setRoot makes v, or nothing, the value of `root`.
func (s *scope) setRoot(v cty.Value) { s.root, s.ctx = v, nil }

// setLate makes names, or nothing, the variables of a template.
func (s *scope) setLate(names []string) { s.late, s.ctx = names, nil }

// eval evaluates an expression in the whole scope. It returns false without a usable
// value; the error is then reported.
func (r *reader) eval(expr hcl.Expression) (cty.Value, bool) {
	if !r.declared(expr) {
		return cty.DynamicVal, false
	}
	return r.evalIn(expr, r.scope.context())
}

// evalIn evaluates an expression in ctx. A panic of the expression library becomes a
// diagnostic of the expression.
func (r *reader) evalIn(expr hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, ok bool) {
	if call := secretCall(expr); call != nil {
		r.misplaced(call)
		return cty.DynamicVal, false
	}
	defer func() {
		if p := recover(); p != nil {
			r.fail(expr.Range(), "expression cannot be evaluated", "The expression library gave up on it: %v.", p)
			v, ok = cty.DynamicVal, false
		}
	}()
	v, diags := expr.Value(ctx)
	r.diags = append(r.diags, diags...)
	if diags.HasErrors() {
		return cty.DynamicVal, false
	}
	if !v.IsWhollyKnown() {
		if !r.diags.HasErrors() { // no reported mistake explains it
			r.fail(expr.Range(), "expression has no value", "Its value does not follow from the file.")
		}
		return cty.DynamicVal, false
	}
	v, _ = v.UnmarkDeep()
	return v, true
}

// declared reports whether every var.NAME and local.NAME of expr is declared, and
// records those that are not: the library only knows that an object has no such
// attribute.
func (r *reader) declared(expr hcl.Expression) bool {
	ok := true
	for _, t := range expr.Variables() {
		if t.RootName() == "each" && r.scope.each == cty.NilVal {
			ok = false
			r.fail(t.SourceRange(), "each outside of for_each", "Only a host with for_each or instances has each.key and each.value.")
		}
		if t.RootName() == "root" && r.scope.root == cty.NilVal {
			ok = false
			r.fail(t.SourceRange(), "root outside of instances", "Only a host with attach { instances = %q } or %q has root.", perRoot, perClient)
		}
		if root := t.RootName(); (root == "key" || root == "key_name") && r.scope.late == nil {
			ok = false
			r.fail(t.SourceRange(), root+" outside of a template", "Only a template has it.")
		}
		name, rng, is := member(t, "var")
		if is {
			if _, there := r.scope.vars[name]; !there && !slices.Contains(r.scope.late, name) {
				ok = false
				how := fmt.Sprintf("Declare it with: variable %q {}.", name)
				if r.scope.late != nil {
					how = fmt.Sprintf("Declare it with: vars = [%q], if callers of the template give it, else with: variable %q {}.", name, name)
				}
				r.undeclared(rng, "variable", name, slices.Concat(slices.Collect(maps.Keys(r.scope.vars)), r.scope.late), how)
			}
		}
		name, rng, is = member(t, "local")
		if is {
			if _, there := r.scope.locals[name]; !there {
				ok = false
				r.undeclared(rng, "local value", name, slices.Collect(maps.Keys(r.scope.locals)),
					"Declare it in a locals block.")
			}
		}
	}
	return ok
}

func (r *reader) undeclared(rng hcl.Range, kind, name string, have []string, how string) {
	slices.Sort(have)
	if s := didYouMean(name, have); s != "" {
		how = s[1:]
	}
	r.fail(rng, "undeclared "+kind, "No %s %q is declared in this file. %s", kind, name, how)
}

// member parses `root.NAME`; is reports whether t has this form.
func member(t hcl.Traversal, root string) (name string, rng hcl.Range, is bool) {
	if len(t) < 2 || t.RootName() != root {
		return "", hcl.Range{}, false
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, t[:2].SourceRange(), true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			return step.Key.AsString(), t[:2].SourceRange(), true
		}
	}
	return "", hcl.Range{}, false
}
