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

// rootSettings are those in which root may stand.
var rootSettings = []string{"command", "dir", "env", "sandbox.read", "sandbox.exec", "sandbox.write", "sandbox.deny", "sandbox.work.path"}

// rootAllowed reports whether an expression uses root as it may be used: where it is
// replaced when an instance is made, and as a part of a text.
func (r *reader) rootAllowed(path string, expr hcl.Expression) bool {
	uses := func(e hcl.Expression) *hcl.Traversal {
		for _, t := range e.Variables() {
			if t.RootName() == perRoot {
				return &t
			}
		}
		return nil
	}
	t := uses(expr)
	if t == nil || r.scope.root == cty.NilVal { // the latter is reported by eval
		return true
	}
	if !slices.Contains(rootSettings, path) {
		r.fail(t.SourceRange(), "root has no meaning here", "It can be used in %s.", strings.Join(rootSettings, ", "))
		return false
	}
	ok := true
	if e, is := expr.(hclsyntax.Expression); is {
		_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, is := n.(*hclsyntax.FunctionCallExpr); is && ok {
				if t := uses(call); t != nil {
					ok = false
					r.fail(t.SourceRange(), "root is not known yet", "Function %s is called when the file is read, and root is known when a program attaches. Write \"${root}/…\".", call.Name)
				}
			}
			return nil
		})
	}
	return ok
}

// placed returns the policy of a host with instances as one of them has it: with the
// folder of the file in the place of root.
func (r *reader) placed(p *policy.Policy) *policy.Policy {
	if p == nil || r.scope.root == cty.NilVal {
		return p
	}
	q := *p
	for _, list := range []*[]string{&q.Read, &q.Exec, &q.Write, &q.Deny} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = strings.ReplaceAll((*list)[i], attach.Root, r.dir)
		}
	}
	q.Work.Path = strings.ReplaceAll(q.Work.Path, attach.Root, r.dir)
	return &q
}
