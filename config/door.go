package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/extensions/plan"
)

// doorHeader is a block of an extensions block: what the extensions offer to clients of a kind.
var doorHeader = hcl.BlockHeaderSchema{Type: serveBlock, LabelNames: []string{"kind"}}

// languageDoor is the kind of such a block for LSP clients.
const languageDoor = "lsp"

// doorSection is the table of such a block. m is nil for LSP, which has
// no tools.
func doorSection(commands *[]string, m *plan.MCP) section {
	const ids = `a list of patterns such as ["git.*"]`
	out := section{
		name: serveBlock, doc: "What MCP clients get of the extensions as tools, or LSP clients such as editors as a language server, by hostsup attach HOST, and of MCP by a serve block with this host. In a pattern, * stands for any text.",
		settings: []setting{
			named("commands", `patterns of the commands that clients can execute; without it none of serve "mcp", and of serve "lsp" those that extensions offer with actions, lenses and completions`, words(commands, ids)),
		},
	}
	if m != nil {
		out.settings = append(out.settings,
			named("tools", `of serve "mcp": patterns of the language model tools that they can invoke; default: all`, words(&m.Tools, ids)),
			named("languages", `of serve "mcp": whether hover, definition, references and other language features are tools, for files in the workspace folders`, boolean(&m.Languages, false)),
		)
	}
	return out
}

// door reads the serve block of a host's extensions.
func (r *reader) door(body hcl.Body, d *hostDecl) {
	before := map[string]bool{}
	for _, b := range labeledOf(body, doorHeader) {
		m, l, kind := &plan.MCP{}, &plan.LSP{}, b.Labels[0]
		table := doorSection(&m.Commands, m)
		if kind == languageDoor {
			table = doorSection(&l.Commands, nil)
		}
		r.section(b.Body, b.DefRange, table)
		spec := &d.extensions.spec
		switch {
		case kind != serveKind && kind != languageDoor:
			r.fail(b.LabelRanges[0], "not in this version", "%q is not a kind of serve block. Write serve %q { … } or serve %q { … }.", kind, serveKind, languageDoor)
		case before[kind]:
			r.fail(b.DefRange, "serve "+kind+" written twice", "A host has one. Join the lists of the two.")
		case d.protocol != plan.VSCode:
			r.fail(b.DefRange, `block "serve" has no meaning here`, "It is for the extensions of hosts with protocol = %q. Remove it.", plan.VSCode)
		case kind == languageDoor:
			spec.LSP = l
		default:
			spec.MCP = m
		}
		if kind == serveKind || kind == languageDoor {
			before[kind] = true
		}
	}
}
