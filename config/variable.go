package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"sync"
)

// VarPrefix is the prefix of environment variables that set a variable of a file:
// HOSTSUP_VAR_port sets var.port.
const VarPrefix = "HOSTSUP_VAR_"

// ParseVars converts arguments of the form NAME=VALUE into the Vars of [Options]. The
// last of several values for one name counts.
func ParseVars(args []string) (map[string]string, error) {
	vars := make(map[string]string, len(args))
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return nil, fmt.Errorf("variable %q has no value: write NAME=VALUE", a)
		}
		if !hclsyntax.ValidIdentifier(name) {
			return nil, fmt.Errorf("%q is not a name of a variable: write NAME=VALUE", name)
		}
		vars[name] = value
	}
	return vars, nil
}

var variableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "type"}, {Name: "default"}, {Name: "description"},
}}

// variables declares the variables of a file and sets their values: from set, else from
// the environment, else their default.
func (r *reader) variables(blocks hcl.Blocks, set map[string]string, lookupEnv func(string) (string, bool)) {
	first := map[string]hcl.Range{}
	for _, b := range blocks {
		name, rng := b.Labels[0], b.LabelRanges[0]
		if !hclsyntax.ValidIdentifier(name) {
			r.fail(rng, "invalid name of a variable", "%q cannot be written as var.NAME: start with a letter and go on with letters, digits, _ and -.", name)
			continue
		}
		if at, ok := first[name]; ok {
			r.fail(rng, "variable declared twice", "%q is declared at %s already.", name, line(at, rng))
			continue
		}
		first[name] = rng
		r.scope.vars[name] = r.variable(b, set, lookupEnv)
	}
	r.scope.ctx = nil
	names := slices.Sorted(maps.Keys(first))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if _, ok := first[name]; ok {
			continue
		}
		detail := fmt.Sprintf("The file declares no variable %q, so --var %s=… has no effect.", name, name)
		if s := didYouMean(name, names); s != "" {
			detail += s
		} else if len(names) > 0 {
			detail += fmt.Sprintf(" There are %s.", some(names))
		}
		r.diags = append(r.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "undeclared variable", Detail: detail})
	}
}

func (r *reader) variable(b *hcl.Block, set map[string]string, lookupEnv func(string) (string, bool)) cty.Value {
	name := b.Labels[0]
	c := r.content(b.Body, variableSchema)
	want := cty.DynamicPseudoType
	if a, ok := c.Attributes["type"]; ok {
		t, diags := typeexpr.TypeConstraint(a.Expr)
		r.diags = append(r.diags, diags...)
		if diags.HasErrors() {
			return cty.DynamicVal
		}
		want = t
	}
	if a, ok := c.Attributes["description"]; ok {
		if v, ok := r.evalIn(a.Expr, r.scope.base); ok {
			given{reader: r, name: "description", rng: a.Expr.Range(), val: v}.str("a string")
		}
	}
	value, hasDefault := cty.DynamicVal, misspelt(b.Body, "default")
	if a, ok := c.Attributes["default"]; ok {
		hasDefault = true
		v, ok := r.evalStatic(a.Expr, "default", "Variables get their values before anything else, so a default can only use functions and self. Put the combination into a locals block.")
		if ok {
			var err error
			value, err = convert.Convert(v, want)
			if err != nil {
				r.fail(a.Expr.Range(), "wrong type for the default", "Variable %q is declared as %s: %s.", name, typeexpr.TypeString(want), err)
				return cty.UnknownVal(want)
			}
			if want == cty.DynamicPseudoType && v.Type().IsPrimitiveType() {
				want = v.Type() // so that --var n=5 is a number where the default is one
			}
		}
	}
	text, source := "", ""
	if v, ok := set[name]; ok {
		text, source = v, "--var "+name
	} else if v, ok := lookupEnv(VarPrefix + name); ok {
		text, source = v, VarPrefix+name
	}
	switch {
	case source != "":
		v, err := fromText(text, want, hasDefault, source, r.scope.base)
		if err != nil {
			r.fail(b.DefRange, "invalid value for a variable", "%s=%q cannot be used: %s.", source, text, err)
			return cty.DynamicVal
		}
		return v
	case !hasDefault:
		r.fail(b.DefRange, "variable without a value", "Variable %q has no default. Give it a value with --var %s=VALUE or in the environment as %s%s, or write a default into the block.", name, name, VarPrefix, name)
	}
	return value
}

// evalStatic evaluates an expression before any variable has a value. The argument
// is named what, and why says what it may refer to.
func (r *reader) evalStatic(expr hcl.Expression, what, why string) (cty.Value, bool) {
	for _, t := range expr.Variables() {
		if root := t.RootName(); root == "var" || root == "local" {
			r.fail(t.SourceRange(), what+" refers to "+root, "%s", why)
			return cty.DynamicVal, false
		}
	}
	return r.evalIn(expr, r.scope.base)
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$`) })

// fromText reads a value given outside the file. A variable of a primitive type, or
// without a type, takes the text unchanged; one of a list or map type (declared, or the
// type of its default) takes an expression.
func fromText(text string, want cty.Type, hasDefault bool, source string, ctx *hcl.EvalContext) (cty.Value, error) {
	if want.IsPrimitiveType() || (want == cty.DynamicPseudoType && !hasDefault) {
		if !want.IsPrimitiveType() {
			want = cty.String
		}
		if want == cty.Number && number().MatchString(text) && numberTooLarge([]byte(text)) {
			return cty.DynamicVal, fmt.Errorf("the number is out of range")
		}
		v, err := convert.Convert(cty.StringVal(text), want)
		if err != nil {
			return cty.DynamicVal, fmt.Errorf("%s is needed", typeexpr.TypeString(want))
		}
		return v, nil
	}
	if diags := screen([]byte(text), source); diags.HasErrors() {
		return cty.DynamicVal, fmt.Errorf("%s", lowerFirst(diags[0].Summary))
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), source, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, fmt.Errorf("not an expression: %s", lowerFirst(diags[0].Summary))
	}
	sub := reader{}
	v, ok := sub.evalIn(expr, ctx)
	if !ok {
		if len(sub.diags) > 0 {
			return cty.DynamicVal, fmt.Errorf("%s", lowerFirst(sub.diags[0].Summary))
		}
		return cty.DynamicVal, fmt.Errorf("its value is not known")
	}
	v, err := convert.Convert(v, want)
	if err != nil {
		return cty.DynamicVal, fmt.Errorf("%s is needed: %w", typeexpr.TypeString(want), err)
	}
	return v, nil
}

// localValues evaluates the locals blocks, each value after those it refers to,
// independent of their order.
func (r *reader) localValues(blocks hcl.Blocks) {
	attrs := map[string]*hcl.Attribute{}
	for _, b := range blocks {
		body := b.Body
		if s, ok := body.(*hclsyntax.Body); ok {
			body = r.onlyAttributes(s)
		}
		as, diags := body.JustAttributes()
		r.diags = append(r.diags, diags...)
		for name, a := range as {
			if first, ok := attrs[name]; ok {
				again, kept := a, first
				if again.NameRange.Filename == kept.NameRange.Filename && again.NameRange.Start.Byte < kept.NameRange.Start.Byte {
					again, kept = kept, again
				}
				attrs[name] = kept
				r.fail(again.NameRange, "local value declared twice", "%q is declared at %s already.", name, line(kept.NameRange, again.NameRange))
				continue
			}
			attrs[name] = a
		}
	}
	order := slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		return cmp.Or(cmp.Compare(a.NameRange.Filename, b.NameRange.Filename), a.NameRange.Start.Byte-b.NameRange.Start.Byte)
	})
	for _, a := range order {
		r.scope.locals[a.Name] = cty.DynamicVal
	}
	r.scope.ctx = nil
	w := localWalk{reader: r, attrs: attrs, order: order, mark: map[string]visited{}}
	for _, a := range order {
		w.visit(a)
	}
	r.scope.ctx = nil
}

// onlyAttributes removes blocks from a locals block with a diagnostic that shows how to
// write a map instead.
func (r *reader) onlyAttributes(b *hclsyntax.Body) *hclsyntax.Body {
	for _, block := range b.Blocks {
		r.fail(block.TypeRange, "block inside locals", "Write a map with an equals sign: %s = { … }.", block.Type)
	}
	rest := *b
	rest.Blocks = nil
	return &rest
}

// localWalk visits local values depth first.
type localWalk struct {
	*reader
	attrs map[string]*hcl.Attribute
	order []*hcl.Attribute
	mark  map[string]visited
	path  []string
}

type visited int

const (
	unseen visited = iota
	open           // on the current path
	done
)

func (w *localWalk) visit(a *hcl.Attribute) {
	switch w.mark[a.Name] {
	case done:
		return
	case open:
		i := slices.Index(w.path, a.Name)
		cycle := append(slices.Clone(w.path[i:]), a.Name)
		w.fail(a.NameRange, "local value refers to itself", "Its value needs its own value: local.%s.", strings.Join(cycle, " → local."))
		w.mark[a.Name] = done
		return
	}
	w.mark[a.Name] = open
	w.path = append(w.path, a.Name)
	used := map[string]cty.Value{}
	for _, t := range a.Expr.Variables() {
		if t.RootName() != "local" {
			continue
		}
		if name, _, ok := member(t, "local"); ok {
			if dep, ok := w.attrs[name]; ok {
				w.visit(dep)
				used[name] = w.scope.locals[name]
			}
			continue
		}
		for _, dep := range w.order { // all locals are used: `keys(local)`
			w.visit(dep)
			used[dep.Name] = w.scope.locals[dep.Name]
		}
	}
	w.path = w.path[:len(w.path)-1]
	if w.mark[a.Name] == done { // found to refer to itself below
		return
	}
	w.mark[a.Name] = done
	if !w.declared(a.Expr) {
		return
	}
	// Only the values that it uses: building the object of all values for each of them
	// would take quadratic time.
	vars := maps.Clone(w.scope.base.Variables)
	vars["var"] = cty.ObjectVal(w.scope.vars)
	vars["local"] = cty.ObjectVal(used)
	if v, ok := w.evalIn(a.Expr, &hcl.EvalContext{Variables: vars, Functions: w.scope.base.Functions}); ok {
		w.scope.locals[a.Name] = v
	}
}
