package config

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const templateBlock = "template"

var templateHeader = hcl.BlockHeaderSchema{Type: templateBlock, LabelNames: []string{"name"}}

// templateDecl is what a template has besides what a host has.
type templateDecl struct {
	vars  []string
	most  int
	idle  time.Duration
	never bool // idle_stop is "never"
}

func newTemplateDecl() *templateDecl {
	return &templateDecl{most: attach.DefaultInstances, idle: idleInstance}
}

func templateSection(d *templateDecl) section {
	return section{
		name: templateBlock, doc: "A host that runs once for each key that callers name, and not by itself. It has the settings of a host, too.",
		settings: []setting{
			named("vars", "names of values that every caller gives with its key, which are var.NAME; they are shown nowhere", varNames(&d.vars)),
			named("max_instances", "then the one goes that has not been used for the longest time, or a caller is refused", whole(&d.most, 1, 1000)),
			named("idle_stop", "time without a call and without a program that is attached after which an instance is removed", duration(&d.idle, &d.never)),
		},
	}
}

// extends returns the table of a template, from that of a host.
func (d *templateDecl) extends(host section) section {
	own := templateSection(d)
	own.settings, own.sections = append(own.settings, host.settings...), host.sections
	return own
}

// varNames reads names of variables.
func varNames(dst *[]string) setting {
	const expect = `a list of names such as ["token"]`
	return setting{expect: expect,
		read: func(g given) {
			names, ok := g.distinct(expect)
			for _, n := range names {
				name := n.val.AsString()
				if _, taken := g.scope.vars[name]; taken {
					n.bad("%q is a variable of this file. Choose another name for one of the two.", name)
					ok = false
				}
			}
			if err := (attach.Rule{Instances: attach.PerKey, Vars: values(names)}).Validate(nil); err != nil && ok {
				g.bad("%s", sentence(err))
				ok = false
			}
			if ok {
				*dst = values(names)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// addTemplate reads a template, which is a host in a group of its own.
func (r *reader) addTemplate(t *tree, b *hcl.Block) {
	r.checkName(templateBlock, b)
	d := newHostDecl()
	d.template = newTemplateDecl()
	r.scope.setLate(r.varsOf(b))
	defer r.scope.setLate(nil)
	free := r.take(t, templateBlock, b)
	r.hostOr(d, b, b.Labels[0])
	if free {
		t.hosts[d.spec.Name] = d
		t.groups = append(t.groups, &groupDecl{spec: supervisor.GroupSpec{Name: b.Labels[0], Strategy: lifecycle.OneForOne}, hosts: []*hostDecl{d}})
	}
}

// varsOf returns the names of the variables of a template, which the rest of it may use. What is
// wrong with them is reported when the rest is read.
func (r *reader) varsOf(b *hcl.Block) []string {
	out := []string{}
	body, _ := b.Body.(*hclsyntax.Body) // always
	attr := body.Attributes["vars"]
	if attr == nil {
		return out
	}
	before := len(r.diags)
	v, ok := r.eval(attr.Expr)
	r.diags = r.diags[:before]
	if t := v.Type(); !ok || v.IsNull() || !(t.IsTupleType() || t.IsListType() || t.IsSetType()) {
		return out
	}
	for _, e := range v.AsValueSlice() {
		if e.Type() == cty.String && !e.IsNull() {
			out = append(out, e.AsString())
		}
	}
	return out
}

// template completes a template, and refuses what has no meaning for one.
func (r *reader) template(d *hostDecl) {
	if d.template == nil {
		return
	}
	h := &d.spec
	for _, name := range []string{"for_each", "instances", "kind", "extensions", "start.eager"} {
		if at, set := d.at[name]; set && (name != "kind" || d.kind != kindService) && (name != "start.eager" || !h.Start.Lazy) {
			r.fail(at, name[strings.LastIndexByte(name, '.')+1:]+" has no meaning here", "A template runs once for each key that a caller names, and is started then. Remove it.")
		}
	}
	for _, name := range []string{"instances", "idle_stop", "max_instances"} {
		if at, set := d.at["attach."+name]; set {
			r.fail(at, name+" has no meaning here", "A template has an instance for each key; its own idle_stop and max_instances bound them. Remove it.")
		}
	}
	if h.Protocol != nil && h.Protocol.Features().Rendezvous != nil {
		r.fail(d.at["protocol"], "not in this version", "A host of protocol %q cannot be a template.", d.protocol)
	}
	rule := &d.sharing
	rule.Instances, rule.Vars, rule.MaxInstances, rule.IdleStop = attach.PerKey, d.template.vars, d.template.most, d.template.idle
	if d.template.never {
		rule.IdleStop = 0
	}
	h.Features = append(h.Features, *rule)
	h.Start.Lazy = true
}
