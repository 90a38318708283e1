package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/intercept/secret"
)

// Console configures the control API on a network. If Listen is "", it is not served there.
type Console struct {
	Listen           string // "127.0.0.1:7777"
	Names            []string
	Origins          []string
	AllowUnencrypted bool
	TLS              ConsoleTLS
	Tokens           []ConsoleToken // none: the supervisor makes one
}

// ConsoleTLS names files, all or none of which but ClientCA are set.
type ConsoleTLS struct {
	Cert, Key string
	ClientCA  string // "": callers need no certificate
}

// ConsoleToken is a token that callers may use. Either File or Secret is set.
type ConsoleToken struct {
	Name   string
	Role   ConsoleRole
	File   string
	Secret string // name of a secret
}

// ConsoleRole is what a caller may do. The words are those of package control.
type ConsoleRole string

// The roles.
const (
	ConsoleRead    ConsoleRole = "read"
	ConsoleOperate ConsoleRole = "operate"
	ConsoleFull    ConsoleRole = "full"
)

// tokenHeader is a block of the console block.
var tokenHeader = hcl.BlockHeaderSchema{Type: "token", LabelNames: []string{"name"}}

func consoleSection(c *Console) section {
	listen := named("listen", "address and port of this machine; a port that others reach needs tls", address(&c.Listen))
	listen.required = true
	return section{
		name: "console", doc: "The control API, and the page, on a network; without it they are not. Every request needs a token.",
		settings: []setting{
			listen,
			named("names", "other names of this machine in the URLs of callers", words(&c.Names, `a list of names such as ["ops.example"]`)),
			named("origins", "other sites whose pages may use the API", origins(&c.Origins)),
			named("allow_unencrypted", "listen beyond this machine without tls", boolean(&c.AllowUnencrypted, false)),
		},
		sections: []section{{
			name: "tls", doc: "Files in the form PEM.",
			settings: []setting{
				named("cert", "certificate, with those that it needs", path(&c.TLS.Cert, warnMissingSecret)),
				named("key", "private key", path(&c.TLS.Key, warnMissingSecret)),
				named("client_ca", "certificates, one of which that of a caller has to be signed with", path(&c.TLS.ClientCA, warnMissingSecret)),
			},
		}},
		labeled: []hcl.BlockHeaderSchema{tokenHeader},
	}
}

func tokenSection(t *ConsoleToken) section {
	role := named("role", "what callers with it may do: see everything, also start and stop hosts, also call them",
		choice(&t.Role, ConsoleRead, ConsoleOperate, ConsoleFull))
	role.required = true
	return section{
		name: "token", doc: "A token that callers may use, with at least 32 characters. Without any, the supervisor makes one with the role full.",
		settings: []setting{
			role,
			named("file", "file with the token, which others must not be able to read", path(&t.File, warnMissingSecret)),
			named("secret", "name of the secret that is the token, see hostsup secret", secretName(&t.Secret)),
		},
	}
}

// address reads an address and a port to listen at.
func address(dst *string) setting {
	const expect = `an address and a port such as "127.0.0.1:7777"`
	return checked(dst, expect, func(g given) {
		_, port, err := net.SplitHostPort(*dst)
		if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 && port != "0" {
			g.bad("%q is not %s.", *dst, expect)
		}
	})
}

// origins reads a list of origins of web pages.
func origins(dst *[]string) setting {
	const expect = `a list of origins such as ["https://ops.example"]`
	return setting{expect: expect,
		read: func(g given) {
			list, ok := g.distinct(expect)
			for _, o := range list {
				text := o.val.AsString()
				if u := webURL(text); u == nil || u.Scheme+"://"+u.Host != text || strings.ToLower(text) != text {
					o.bad("%q is not an origin: a scheme, a name in small letters and perhaps a port, such as \"https://ops.example\".", text)
					ok = false
				}
			}
			if ok {
				*dst = values(list)
			}
		},
		show: func() string { return showStrings(*dst) },
	}
}

// secretName reads the name of a secret.
func secretName(dst *string) setting {
	return checked(dst, `the name of a secret such as "oncall"`, func(g given) {
		if err := secret.CheckName(*dst); err != nil {
			g.bad("%s", sentence(err))
		}
	})
}

// console reads the token blocks of the supervisor block b, whose settings are at p, and
// checks the whole.
func (r *reader) console(c *Console, b *hcl.Block, p places) {
	at, ok := p.at["console"]
	if !ok {
		return
	}
	outer, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "console"}}})
	inner, _, _ := outer.Blocks[0].Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{tokenHeader}})
	for _, tb := range inner.Blocks {
		t := ConsoleToken{Name: tb.Labels[0]}
		r.checkName("token", tb)
		before := len(r.diags)
		r.section(tb.Body, tb.DefRange, tokenSection(&t))
		switch {
		case slices.ContainsFunc(c.Tokens, func(o ConsoleToken) bool { return o.Name == t.Name }):
			r.fail(tb.LabelRanges[0], "token \""+t.Name+"\" written twice", "Give each its own name.")
		case r.diags[before:].HasErrors():
		case t.Role == "": // file is so much like role that it could be a misspelling
			r.fail(tb.DefRange, "token without role", "A token needs role, what callers with it may do: \"read\", \"operate\" or \"full\".")
		case (t.File == "") == (t.Secret == ""):
			r.fail(tb.DefRange, "token \""+t.Name+"\" without its text", "Set either file or secret to say where the text of the token is. It is never in this file.")
		}
		c.Tokens = append(c.Tokens, t)
	}
	if tls := c.TLS; (tls.Cert == "") != (tls.Key == "") || tls.ClientCA != "" && tls.Cert == "" {
		if p.sound("console.tls.cert", "console.tls.key", "console.tls.client_ca") {
			r.fail(p.at["console.tls"], "tls without a certificate", "Set both cert and key.")
		}
		return
	}
	if c.TLS.Cert == "" && !c.AllowUnencrypted && p.sound("console.listen", "console.tls.cert", "console.tls.key", "console.allow_unencrypted") && c.Listen != "" && !loopback(c.Listen) {
		if rng, ok := p.at["console.listen"]; ok {
			at = rng
		}
		r.fail(at, "console without encryption", "Others could read tokens on their way to %s. Add a tls block, listen at 127.0.0.1, or set allow_unencrypted = true.", c.Listen)
	}
}

// loopback reports whether only this machine reaches an address with a port.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
