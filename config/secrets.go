package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/secret/stores"
)

// secretFuncName is the function that refers to a secret. It is never called: the
// secret is read when a host starts, and here it is only a name.
const secretFuncName = "secret"

// secretFunc declares the name and the parameters of the function, like the others.
// Calling it returns an error that tells where it may be used.
var secretFunc = function.New(&function.Spec{
	Description: "The value of a secret, in env of a host.",
	Params:      []function.Parameter{{Name: "name", Type: cty.String}},
	Type:        function.StaticReturnType(cty.String),
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
		return cty.NilVal, function.NewArgErrorf(0, "a secret can only be used in the env of a host")
	},
})

func secretsSection(o *stores.Options, cache *time.Duration) section {
	return section{
		name: "secrets", doc: "Where the values are that secret(\"NAME\") stands for.",
		settings: []setting{
			named("backend", "the keyring of the system, a file encrypted with age, or the keyring where there is one", choice(&o.Backend, stores.Auto, stores.Keyring, stores.File)),
			named("service", "name of the entries in the keyring", text(&o.Service)),
			named("file", "the encrypted file; default: see secrets.md", path(&o.File, nil)),
			named("identity", "key file that opens it; default: see secrets.md", path(&o.Identity, nil)),
			named("cache", "how long a value stays in memory after it was read, or after the end of the life that was given it", duration(cache, nil)),
		},
	}
}

// owned reads the names of secrets that a host may request.
func owned(dst *[]string) setting {
	const expect = `a list of names of secrets such as ["github"]`
	return setting{expect: expect,
		read: func(g given) {
			names, ok := g.distinct(expect)
			for _, n := range names {
				if err := secret.CheckName(n.val.AsString()); err != nil {
					n.bad("%s", sentence(err))
					ok = false
				}
			}
			if ok {
				*dst = values(names)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// secretCall returns the first call of secret in an expression, or nil.
func secretCall(expr hcl.Expression) *hclsyntax.FunctionCallExpr {
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		return nil
	}
	var found *hclsyntax.FunctionCallExpr
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { // the callback returns no diagnostics
		if call, is := n.(*hclsyntax.FunctionCallExpr); is && call.Name == secretFuncName && found == nil {
			found = call
		}
		return nil
	})
	return found
}

// misplaced reports a secret that is not allowed at its position.
func (r *reader) misplaced(call *hclsyntax.FunctionCallExpr) {
	r.fail(call.Range(), "a secret cannot be used here",
		"A secret is given to a host in its env, or to a server elsewhere by remote.token and remote.headers, alone or within a string: env = { TOKEN = secret(\"NAME\") }. Its value is unknown while the file is read, and every user of the machine can see the arguments of a command.")
}

// environmentWithSecrets is environment with support for secrets in values.
func environmentWithSecrets(plain *map[string]string, secrets *map[string]secret.Text) setting {
	s := environment(plain)
	read := s.read
	var found map[string]secret.Text
	s.sift = func(r *reader, expr hcl.Expression) hcl.Expression {
		expr, found = r.siftSecrets(expr, "env", checkEnvName)
		return expr
	}
	s.read = func(g given) {
		read(g)
		for name := range found {
			if _, twice := (*plain)[name]; twice {
				g.fail(g.rng, "written twice", "%q is set both as a secret and as a value. Remove one of the two.", name)
			}
		}
		if len(found) > 0 {
			*secrets = found
		}
	}
	return s
}

// siftSecrets removes the entries of a map that are secrets. The rest is evaluated
// as usual. what is the name of the map, and check returns what is wrong with a key, or "".
func (r *reader) siftSecrets(expr hcl.Expression, what string, check func(name string) string) (hcl.Expression, map[string]secret.Text) {
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok || secretCall(expr) == nil {
		return expr, nil
	}
	rest := *object
	rest.Items = nil
	found := map[string]secret.Text{}
	for _, item := range object.Items {
		if secretCall(item.ValueExpr) == nil || secretCall(item.KeyExpr) != nil {
			rest.Items = append(rest.Items, item)
			continue
		}
		key, ok := r.eval(item.KeyExpr)
		if !ok {
			continue
		}
		if key.IsNull() || key.Type() != cty.String {
			rest.Items = append(rest.Items, item) // the library reports the error
			continue
		}
		name := key.AsString()
		if wrong := check(name); wrong != "" {
			r.fail(item.KeyExpr.Range(), fmt.Sprintf("invalid name %q in %s", name, what), "%s", wrong)
		}
		if _, twice := found[name]; twice {
			r.fail(item.KeyExpr.Range(), "written twice", "%q has a value already. Remove one of the two.", name)
		}
		if t, ok := r.secretText(item.ValueExpr); ok {
			found[name] = t
		}
	}
	return &rest, found
}

// secretText reads secret("NAME"), or a string that contains it.
func (r *reader) secretText(expr hclsyntax.Expression) (secret.Text, bool) {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return r.secretText(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return r.secretText(e.Wrapped)
	case *hclsyntax.FunctionCallExpr:
		if e.Name != secretFuncName {
			break
		}
		return r.reference(e)
	case *hclsyntax.TemplateExpr:
		return r.secretTemplate(e)
	}
	r.misplaced(secretCall(expr))
	return nil, false
}

func (r *reader) secretTemplate(e *hclsyntax.TemplateExpr) (secret.Text, bool) {
	var out secret.Text
	sound := true
	for _, part := range e.Parts {
		if secretCall(part) != nil {
			t, ok := r.secretText(part)
			out, sound = append(out, t...), sound && ok
			continue
		}
		v, ok := r.eval(part)
		if !ok {
			sound = false
			continue
		}
		words, err := convert.Convert(v, cty.String)
		switch {
		case err != nil || words.IsNull():
			r.fail(part.Range(), "invalid part of a string", "A string, a number or a bool can be part of a string, not %s.", kindOf(v))
			sound = false
		case strings.ContainsRune(words.AsString(), 0):
			r.fail(part.Range(), "invalid part of a string", "It contains a NUL character.")
			sound = false
		default:
			out = append(out, secret.Part{Words: words.AsString()})
		}
	}
	return out, sound
}

// reference reads the name in secret("NAME").
func (r *reader) reference(e *hclsyntax.FunctionCallExpr) (secret.Text, bool) {
	if len(e.Args) != 1 || e.ExpandFinal {
		r.fail(e.Range(), "secret takes one name", "Write secret(\"NAME\").")
		return nil, false
	}
	arg := e.Args[0]
	v, ok := r.eval(arg)
	if !ok {
		return nil, false
	}
	if v.IsNull() || v.Type() != cty.String {
		r.fail(arg.Range(), "invalid name of a secret", "It is %s; a string is needed.", kindOf(v))
		return nil, false
	}
	if err := secret.CheckName(v.AsString()); err != nil {
		r.fail(arg.Range(), "invalid name of a secret", "%s", sentence(err))
		return nil, false
	}
	return secret.Reference(v.AsString()), true
}
