package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// PolicyFile is the content of a policy file: a sandbox block and optionally a
// limits block, as in a host. It may have variables and locals.
type PolicyFile struct {
	Policy policy.Policy
	Limits policy.Limits
	// Observe is auto if the file does not set it.
	Observe hostspec.Observe
	// Resolved is the result of Options.Enforce; nil without it.
	Resolved *policy.Resolved
}

// LoadPolicy reads the policy file at path. If the diagnostics, sorted by position,
// contain errors, the PolicyFile is nil. Options are as for [Load]; Stat and Lenient
// have no effect.
func LoadPolicy(path string, opts Options) (*PolicyFile, hcl.Diagnostics) {
	src, why := readFile(path)
	if why != "" {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "cannot read " + path, Detail: why}}
	}
	return ParsePolicy(src, path, opts)
}

// ParsePolicy reads src as the content of the file called filename. See
// [LoadPolicy].
func ParsePolicy(src []byte, filename string, opts Options) (*PolicyFile, hcl.Diagnostics) {
	f, parsed, diags := parsePolicy(src, filename, opts)
	diags = finish(diags, []unit{{filename, src, parsed}})
	if diags.HasErrors() {
		return nil, diags
	}
	return f, diags
}

func parsePolicy(src []byte, filename string, opts Options) (*PolicyFile, *hclsyntax.Body, hcl.Diagnostics) {
	body, diags := parseBody(src, filename)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	_, opts = opts.complete(filename)
	opts.Lenient = false
	r := newReader(opts)
	around := []hcl.BlockHeaderSchema{{Type: "variable", LabelNames: []string{"name"}}, {Type: "locals"}}
	known, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: around}) // errors in it are found below
	kinds := known.Blocks.ByType()
	r.variables(kinds["variable"], opts.Vars, opts.LookupEnv)
	r.localValues(kinds["locals"])

	c := newConfinement()
	start := hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
	p := r.section(body, start, section{
		name: "policy", doc: "A policy in a file of its own.",
		sections: []section{sandboxSection(&c), limitsSection(&c.limits)},
	}, around...)
	if _, ok := p.at["sandbox"]; !ok && !r.diags.HasErrors() {
		r.fail(start, "no sandbox block", "A policy file grants rights in a block: sandbox { profile = \"strict\" }.")
		return nil, body, r.diags
	}
	resolved := r.confined(&c, p)
	return &PolicyFile{Policy: c.policy, Limits: c.limits, Observe: c.observe, Resolved: resolved}, body, r.diags
}
