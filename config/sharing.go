package config

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Words of attach { instances }.
const (
	sharedByAll = "shared"
	perRoot     = "root"
	perClient   = "client"
)

// idleInstance is the default of attach { idle_stop } for instances.
const idleInstance = 10 * time.Minute

// sharers is what attach says of instances.
type sharers struct {
	per     string
	most    int
	forEver bool // idle_stop is "never"
}

func newSharers() sharers {
	return sharers{per: sharedByAll, most: attach.DefaultInstances, forEver: true}
}

// hasInstances reports whether a host block may have instances for programs that attach.
func hasInstances(body hcl.Body) bool {
	b, _ := body.(*hclsyntax.Body) // always
	return b != nil && slices.ContainsFunc(b.Blocks, func(in *hclsyntax.Block) bool {
		at := in.Body.Attributes[instances]
		if in.Type != "attach" || at == nil {
			return false
		}
		v, _ := at.Expr.Value(nil)
		return v.Type() != cty.String || !v.IsKnown() || v.IsNull() || v.AsString() != sharedByAll
	})
}

// shared reads how programs share a host: max_instances and idle_stop depend on instances.
func (r *reader) shared(d *hostDecl) {
	if d.sharers.per == sharedByAll {
		if at, set := d.at["attach.max_instances"]; set && d.sharers.most != attach.DefaultInstances {
			r.fail(at, "max_instances has no meaning here", "All programs share the host. Remove it, or set instances.")
		}
		return
	}
	d.sharing.MaxInstances = d.sharers.most
	at, set := d.at["attach.idle_stop"]
	if d.sharers.per == perClient {
		d.sharing.Instances = attach.PerClient
		if set && !d.sharers.forEver {
			r.fail(at, "idle_stop has no meaning here", "An instance for each client ends with the client. Remove it.")
		}
		return
	}
	d.sharing.Instances = attach.PerRoot
	if !set {
		d.sharing.IdleStop = idleInstance
	}
}

// lateSettings are those in which may stand what is known when an instance is made.
var lateSettings = []string{"command", "dir", "env", "sandbox.read", "sandbox.exec", "sandbox.write", "sandbox.deny", "sandbox.work.path"}

// late returns the first use in an expression of what is known when an instance is made: root,
// and in a template key, key_name and its variables; nil without one.
func (r *reader) late(expr hcl.Expression) *hcl.Traversal {
	for _, t := range expr.Variables() {
		name, _, _ := member(t, "var")
		switch root := t.RootName(); {
		case root == perRoot && r.scope.root != cty.NilVal,
			(root == "key" || root == "key_name") && r.scope.late != nil,
			slices.Contains(r.scope.late, name):
			return &t
		}
	}
	return nil
}

// lateAllowed reports whether an expression uses what is known when an instance is made as it
// may be used: where it is replaced then, alone or as a part of a text.
func (r *reader) lateAllowed(path string, expr hcl.Expression) bool {
	t := r.late(expr)
	if t == nil {
		return true
	}
	where := lateSettings
	if r.scope.late != nil {
		where = append(slices.Clone(where), "remote.token", "remote.headers")
	}
	if !slices.Contains(where, path) {
		r.fail(t.SourceRange(), nameOf(*t)+" has no meaning here", "It can be used in %s.", strings.Join(where, ", "))
		return false
	}
	ok := true
	if e, is := expr.(hclsyntax.Expression); is {
		_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
			if e, is := n.(hclsyntax.Expression); is && ok {
				ok = r.lateIn(e)
			}
			return nil
		})
	}
	return ok
}

// lateIn reports an expression that would need the value of what is not known yet.
func (r *reader) lateIn(e hclsyntax.Expression) bool {
	t := r.late(e)
	if t == nil {
		return true
	}
	when, what := "when an instance is made", "It is needed"
	if t.RootName() == perRoot {
		when = "when a program attaches"
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if len(e.Traversal) == 1 || t.RootName() == "var" && len(e.Traversal) == 2 {
			return true
		}
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr, *hclsyntax.ParenthesesExpr:
		return true
	case *hclsyntax.FunctionCallExpr:
		what = "Function " + e.Name + " is called"
	}
	name := nameOf(*t)
	r.fail(t.SourceRange(), name+" is not known yet", "%s when the file is read, and %s is known %s. Write \"${%s}/…\".", what, name, when, name)
	return false
}

// nameOf returns what a traversal names: root, key or var.NAME.
func nameOf(t hcl.Traversal) string {
	if name, _, is := member(t, "var"); is {
		return "var." + name
	}
	return t.RootName()
}

// isLate reports whether a text has a part that is known when an instance is made.
func isLate(text string) bool { return strings.Contains(text, "${") }

// placed returns the policy of a host with instances as one of them has it: with the
// folder of the file in the place of root, and without paths that depend on a key.
func (r *reader) placed(p *policy.Policy) *policy.Policy {
	if p == nil || r.scope.root == cty.NilVal && r.scope.late == nil {
		return p
	}
	q := *p
	for _, list := range []*[]string{&q.Read, &q.Exec, &q.Write, &q.Deny} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = strings.ReplaceAll((*list)[i], attach.Root, r.dir)
		}
		*list = slices.DeleteFunc(*list, isLate) // that of one instance tells nothing of others
	}
	if q.Work.Path = strings.ReplaceAll(q.Work.Path, attach.Root, r.dir); isLate(q.Work.Path) {
		q.Work = policy.Work{}
	}
	return &q
}
