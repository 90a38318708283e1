package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/extensions/plan"
)

// doorHeader is a block of an extensions block: what the extensions offer to clients of a kind.
var doorHeader = hcl.BlockHeaderSchema{Type: serveBlock, LabelNames: []string{"kind"}}

// doorSection is the table of such a block for MCP.
func doorSection(m *plan.MCP) section {
	const ids = `a list of patterns such as ["git.*"]`
	return section{
		name: serveBlock, doc: "What MCP clients get of the extensions as tools, by hostsup attach HOST and by a serve block with this host. In a pattern, * stands for any text.",
		settings: []setting{
			named("commands", "patterns of the commands that clients can execute; none without it", words(&m.Commands, ids)),
			named("tools", "patterns of the language model tools that they can invoke; default: all", words(&m.Tools, ids)),
			named("languages", "whether hover, definition, references and other language features are tools, for files in the workspace folders", boolean(&m.Languages, false)),
		},
	}
}

// door reads the serve block of a host's extensions.
func (r *reader) door(body hcl.Body, d *hostDecl) {
	for i, b := range labeledOf(body, doorHeader) {
		m := &plan.MCP{}
		r.section(b.Body, b.DefRange, doorSection(m))
		switch {
		case b.Labels[0] != serveKind:
			r.fail(b.LabelRanges[0], "not in this version", "%q is not a kind of serve block. Write serve %q { … }.", b.Labels[0], serveKind)
		case i > 0:
			r.fail(b.DefRange, "serve "+serveKind+" written twice", "A host has one. Join the lists of the two.")
		case d.protocol != plan.VSCode:
			r.fail(b.DefRange, `block "serve" has no meaning here`, "It is for the extensions of hosts with protocol = %q. Remove it.", plan.VSCode)
		default:
			d.extensions.spec.MCP = m
		}
	}
}
