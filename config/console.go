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
		sections: []section{tlsSection(&c.TLS)},
		labeled:  []hcl.BlockHeaderSchema{tokenHeader},
	}
}

func tlsSection(t *ConsoleTLS) section {
	return section{
		name: "tls", doc: "Files in the form PEM.",
		settings: []setting{
			named("cert", "certificate, with those that it needs", path(&t.Cert, warnMissingSecret)),
			named("key", "private key", path(&t.Key, warnMissingSecret)),
			named("client_ca", "certificates, one of which that of a caller has to be signed with", path(&t.ClientCA, warnMissingSecret)),
		},
	}
}

func tokenSection(t *ConsoleToken) section {
	role := named("role", "what callers with it may do: see everything, also start and stop hosts, also call them",
		choice(&t.Role, ConsoleRead, ConsoleOperate, ConsoleFull))
	role.required = true
	return section{
		name: "token", doc: "A token that callers may use, with at least 32 characters. Without any, the supervisor makes one with the role full.",
		settings: append([]setting{role}, tokenTexts(t)...),
	}
}

// tokenTexts are the settings that say where the text of a token is.
func tokenTexts(t *ConsoleToken) []setting {
	return []setting{
		named("file", "file with the token, which others must not be able to read", path(&t.File, warnMissingSecret)),
		named("secret", "name of the secret that is the token, see hostsup secret", secretName(&t.Secret)),
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
	r.tokens(inner.Blocks, &c.Tokens, tokenSection)
	r.encryption("console", "console.", c.TLS, c.Listen, c.AllowUnencrypted, at, p)
}

// tokens reads token blocks, each by a table of its own.
func (r *reader) tokens(blocks hcl.Blocks, dst *[]ConsoleToken, table func(*ConsoleToken) section) {
	for _, tb := range blocks {
		t := ConsoleToken{Name: tb.Labels[0]}
		r.checkName("token", tb)
		before := len(r.diags)
		s := table(&t)
		r.section(tb.Body, tb.DefRange, s)
		switch {
		case slices.ContainsFunc(*dst, func(o ConsoleToken) bool { return o.Name == t.Name }):
			r.fail(tb.LabelRanges[0], "token \""+t.Name+"\" written twice", "Give each its own name.")
		case r.diags[before:].HasErrors():
		case t.Role == "" && slices.ContainsFunc(s.settings, func(x setting) bool { return x.required }): // file is so much like role that it could be a misspelling
			r.fail(tb.DefRange, "token without role", "A token needs role, what callers with it may do: \"read\", \"operate\" or \"full\".")
		case (t.File == "") == (t.Secret == ""):
			r.fail(tb.DefRange, "token \""+t.Name+"\" without its text", "Set either file or secret to say where the text of the token is. It is never in this file.")
		}
		*dst = append(*dst, t)
	}
}

// encryption checks the tls block, whose settings are at prefix in p, of what listens on a
// network. at is where errors about the whole are.
func (r *reader) encryption(what, prefix string, tls ConsoleTLS, listen string, unencrypted bool, at hcl.Range, p places) {
	if (tls.Cert == "") != (tls.Key == "") || tls.ClientCA != "" && tls.Cert == "" {
		if p.sound(prefix+"tls.cert", prefix+"tls.key", prefix+"tls.client_ca") {
			r.fail(p.at[prefix+"tls"], "tls without a certificate", "Set both cert and key.")
		}
		return
	}
	if tls.Cert == "" && !unencrypted && p.sound(prefix+"listen", prefix+"tls.cert", prefix+"tls.key", prefix+"allow_unencrypted") && listen != "" && !loopback(listen) {
		if rng, ok := p.at[prefix+"listen"]; ok {
			at = rng
		}
		r.fail(at, what+" without encryption", "Others could read tokens on their way to %s. Add a tls block, listen at 127.0.0.1, or set allow_unencrypted = true.", listen)
	}
}

// loopback reports whether only this machine reaches an address with a port.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && IsLoopback(host)
}

// IsLoopback reports whether a host name or an IP address is this machine's own loopback:
// localhost, 127.0.0.0/8 or ::1. Other names are not looked up.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
