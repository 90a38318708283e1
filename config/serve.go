package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/attach/mcphttp"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/internal/nearest"
)

// Serve configures hosts that are served over HTTP.
type Serve struct {
	Name   string // "mcp" for one without
	Listen string // "127.0.0.1:7780"
	Hosts  []string

	Names            []string
	Origins          []string
	AllowUnencrypted bool
	Unauthenticated  bool // callers need no token
	TLS              ConsoleTLS
	Tokens           []ConsoleToken // without roles; none: the supervisor makes one
	MaxBody          int64          // bytes of a request
	MaxSessions      int
	Idle             time.Duration // after which a session that is not used ends
}

const (
	serveBlock = "serve"
	// serveKind is the only kind of such a block, and the name of one without.
	serveKind = "mcp"
)

// serveDecl is a serve block.
type serveDecl struct {
	spec  Serve
	hosts []given
}

func newServeDecl() *serveDecl {
	o := mcphttp.Options{}.WithDefaults()
	return &serveDecl{spec: Serve{Name: serveKind, MaxBody: o.MaxBody, MaxSessions: o.MaxSessions, Idle: o.Idle}}
}

func serveSection(d *serveDecl) section {
	s := &d.spec
	listen := named("listen", "address and port of this machine; a port that others reach needs tls", address(&s.Listen))
	listen.required = true
	hosts := named("hosts", "the hosts, with protocol = \"jsonrpc-lines\", that are served at /HOST/mcp; one alone also at /mcp", hostNames(&s.Hosts, &d.hosts))
	hosts.required = true
	return section{
		name: serveBlock, doc: "Serves MCP servers over HTTP (Streamable HTTP).",
		settings: []setting{
			listen, hosts,
			named("names", "other names of this machine in the URLs of callers", words(&s.Names, `a list of names such as ["ops.example"]`)),
			named("origins", "sites whose pages may use the servers", origins(&s.Origins)),
			named("allow_unencrypted", "listen beyond this machine without tls", boolean(&s.AllowUnencrypted, false)),
			named("max_body", "of a request", size(&s.MaxBody, 1<<10, 1<<30)),
			named("max_sessions", "at once; when there are as many, the one that is not in use for longest ends for a new one", whole(&s.MaxSessions, 1, 1<<16)),
			named("idle", "time without a request after which a session ends", duration(&s.Idle, nil)),
		},
		sections: []section{
			{
				name: "auth", doc: "What callers must present.",
				settings: []setting{
					named("required", "every request needs a token; false is for this machine only, or with tls.client_ca", boolean(&s.Unauthenticated, true)),
				},
				labeled: []hcl.BlockHeaderSchema{tokenHeader},
			},
			tlsSection(&s.TLS),
		},
	}
}

// serveTokenSection is the table of a token of a serve block.
func serveTokenSection(t *ConsoleToken) section {
	return section{
		name: "token", doc: "A token that callers may use, with at least 32 characters. Without any, the supervisor makes one.",
		settings: tokenTexts(t),
	}
}

// serves reads the serve blocks, which have a kind and perhaps a name, and removes them from
// the body.
func (r *reader) serves(body *hclsyntax.Body) (rest *hclsyntax.Body, blocks []*hcl.Block) {
	out := *body
	out.Blocks = nil
	for _, b := range body.Blocks {
		switch {
		case b.Type != serveBlock:
			out.Blocks = append(out.Blocks, b)
		case len(b.Labels) == 0:
			r.fail(b.TypeRange, "serve without a kind", "Write serve %q { … }.", serveKind)
		case b.Labels[0] != serveKind:
			r.fail(b.LabelRanges[0], "not in this version", "%q is not a kind of serve block. Write serve %q { … }.", b.Labels[0], serveKind)
		case len(b.Labels) > 2:
			r.fail(b.LabelRanges[2], "serve with more than one name", "Write serve %q %q { … }.", serveKind, b.Labels[1])
		default:
			block := b.AsHCLBlock()
			last := len(block.Labels) - 1
			block.Labels, block.LabelRanges = block.Labels[last:], block.LabelRanges[last:]
			blocks = append(blocks, block)
		}
	}
	return &out, blocks
}

// serve reads one block, whose label is its name.
func (r *reader) serve(t *tree, others []Serve, b *hcl.Block) Serve {
	r.checkName("serve", b)
	d := newServeDecl()
	s := &d.spec
	s.Name = b.Labels[0]
	if slices.ContainsFunc(others, func(o Serve) bool { return o.Name == s.Name }) {
		r.fail(b.LabelRanges[0], fmt.Sprintf("serve %q written twice", s.Name), "Give each its own name: serve %q \"NAME\" { … }.", serveKind)
	}
	p := r.section(b.Body, b.DefRange, serveSection(d))
	if _, ok := p.at["auth"]; ok {
		outer, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "auth"}}})
		inner, _, _ := outer.Blocks[0].Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{tokenHeader}})
		r.tokens(inner.Blocks, &s.Tokens, serveTokenSection)
	}
	r.encryption(serveBlock, "", s.TLS, s.Listen, s.AllowUnencrypted, b.DefRange, p)
	switch {
	case !s.Unauthenticated || !p.sound("auth.required", "listen"):
	case len(s.Tokens) > 0:
		r.fail(p.at["auth.required"], "tokens that nobody needs", "Remove the token blocks, or required = false.")
	case !loopback(s.Listen) && s.Listen != "" && s.TLS.ClientCA == "":
		r.fail(p.at["auth.required"], "serve without authentication", "Anybody who reaches %s could use the hosts. Remove it, listen at 127.0.0.1, or set tls.client_ca.", s.Listen)
	}
	if rng, ok := p.at["hosts"]; ok && p.sound("hosts") && len(s.Hosts) == 0 {
		r.fail(rng, "serve without hosts", "Name at least one: hosts = [\"NAME\"].")
	}
	for _, g := range d.hosts {
		name := g.val.AsString()
		switch h := t.hosts[name]; {
		case h == nil:
			hint := ""
			if near := nearest.Name(name, slices.Collect(maps.Keys(t.hosts))); near != "" {
				hint = fmt.Sprintf(" Did you mean %q?", near)
			}
			g.fail(g.rng, fmt.Sprintf("no host %q is configured", name), "hosts names hosts of this file.%s", hint)
		case h.template != nil:
			g.bad("%q is a template, and its callers have to name a key, which they cannot do over HTTP.", name)
		case h.extensions.spec.MCP != nil: // its door speaks MCP
		case h.protocol == plan.VSCode && h.spec.Extensions != nil:
			g.bad("The extensions of host %q are not served: write serve %q { } in its extensions block.", name, serveKind)
		case h.protocol != servedProtocol:
			g.bad("Host %q does not speak MCP: its protocol is %q, and not %q.", name, h.protocol, servedProtocol)
		}
	}
	return *s
}

// servedProtocol is that of MCP servers.
const servedProtocol = "jsonrpc-lines"
