package config

import (
	"context"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/internal/span"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// What a host with a url has if the file does not say otherwise. A server elsewhere is not
// asked each second whether it lives, and may be away for longer than a program that is
// started again.
const (
	remotePing  = 15 * time.Second
	remoteAfter = 45 * time.Second
	remoteRetry = time.Minute
)

const (
	connectVerb = "connect"
	// connectHeaders is the variable from which that verb takes headers, which the arguments
	// of a command would show to all users.
	connectHeaders = "HOSTSUP_CONNECT_HEADERS"
)

// remoteDecl is the server that a host stands for, with its block remote.
type remoteDecl struct {
	url              string
	token            secret.Text
	headers          map[string]string
	secretHeaders    map[string]secret.Text
	ca, cert, key    string
	connect, idle    time.Duration
	neverIdle        bool
	allowUnencrypted bool
}

func newRemoteDecl() remoteDecl { return remoteDecl{connect: 10 * time.Second, neverIdle: true} }

const urlForm = `a URL such as "https://mcp.example/mcp"`

// remoteURL reads the address of a server.
func remoteURL(dst *string) setting {
	return checked(dst, urlForm, func(g given) {
		u := webURL(*dst)
		switch {
		case u != nil && u.User != nil:
			g.bad("A user and a password in a URL are seen by all users of the machine. Set remote { token = secret(\"NAME\") }, or a header.")
		case u == nil || u.Fragment != "":
			g.fail(g.rng, "invalid value for "+g.name, "%q is not %s.", *dst, urlForm)
		}
	})
}

func remoteSection(d *remoteDecl) section {
	return section{
		name: "remote", doc: "How the server at url is reached.", speaks: true,
		settings: []setting{
			named("token", "sent as Authorization: Bearer TOKEN; secret(\"NAME\"), or env(\"NAME\")", secretValue(&d.token)),
			named("headers", "of each request, to secret(\"NAME\") too", secretHeaders(d)),
			named("ca", "file with the certificates that are trusted, in PEM; default: those of the system", path(&d.ca, warnMissingSecret)),
			named("cert", "file with a certificate to show to the server, in PEM", path(&d.cert, warnMissingSecret)),
			named("key", "file with its key; default: the file of cert", path(&d.key, warnMissingSecret)),
			named("connect_timeout", "of an attempt to connect, and for which a server that cannot be reached is tried again before that counts as a crash", duration(&d.connect, nil)),
			named("idle_timeout", "without a byte after which a stream of the server counts as cut off", duration(&d.idle, &d.neverIdle)),
			named("allow_unencrypted", "an http:// URL of another machine", boolean(&d.allowUnencrypted, false)),
		},
	}
}

// secretValue reads a string that may contain secrets. It is not shown.
func secretValue(dst *secret.Text) setting {
	const expect = `a string, or secret("NAME")`
	var found secret.Text
	return setting{
		expect: expect,
		sift: func(r *reader, expr hcl.Expression) hcl.Expression {
			node, ok := expr.(hclsyntax.Expression)
			if !ok || secretCall(expr) == nil {
				return expr
			}
			found, _ = r.secretText(node)
			return hcl.StaticExpr(cty.StringVal("secret"), expr.Range())
		},
		read: func(g given) {
			text, ok := g.str(expect)
			switch {
			case found != nil:
				*dst = found
			case !ok:
			case text == "" || strings.ContainsFunc(text, isControl):
				g.bad("It is empty, or contains a control character.")
			default:
				*dst = secret.Text{{Words: text}}
			}
		},
		show: func() string { return "" },
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// secretHeaders is headers with support for secrets in values.
func secretHeaders(d *remoteDecl) setting {
	s := headers(&d.headers)
	s.sift = func(r *reader, expr hcl.Expression) hcl.Expression {
		expr, d.secretHeaders = r.siftSecrets(expr, "headers", checkHeaderName)
		return expr
	}
	return s
}

// needsCommand reports that a host has neither a command nor a url.
func (r *reader) needsCommand(d *hostDecl, b *hcl.Block, table section) {
	if _, ok := d.at["command"]; ok {
		return
	}
	rng, null := b.DefRange, false
	if body, is := b.Body.(*hclsyntax.Body); is && body.Attributes["command"] != nil {
		rng, null = body.Attributes["command"].Range(), true
	}
	if null || !misspelt(b.Body, "command") {
		r.missing(rng, table, table.settings[0])
	}
}

// remote makes of a host with a url one whose process is this program, as the client of the
// server. It is called before the protocol is used.
func (r *reader) remote(d *hostDecl, b *hcl.Block, table section) {
	at, set := d.at["url"]
	if !set {
		r.needsCommand(d, b, table)
		if rng, ok := d.at["remote"]; ok && !reflect.DeepEqual(d.remote, newRemoteDecl()) {
			r.fail(rng, "remote has no meaning here", "It is about the server at url, which this host does not have. Remove it, or set url.")
		}
		return
	}
	if rng, ok := d.at["command"]; ok {
		r.fail(rng, "command and url", "A host is a program of this machine, or a server elsewhere. Remove one of the two.")
		return
	}
	if _, ok := d.at["protocol"]; !ok {
		d.protocol = servedProtocol
	} else if d.protocol != servedProtocol && d.protocol != noProtocol && d.sound("protocol") {
		r.fail(d.at["protocol"], "url needs another protocol", "A server that is reached over HTTP speaks MCP: protocol = %q.", servedProtocol)
	}
	if rng, ok := d.at["transport"]; ok && d.spec.Transport != hostspec.TransportStdio {
		r.fail(rng, "transport has no meaning here", "A host with url is reached over HTTP. Remove it.")
	}
	u := webURL(d.remote.url)
	if u == nil {
		return // it was reported
	}
	if u.Scheme == "http" && !d.remote.allowUnencrypted && !IsLoopback(u.Hostname()) {
		r.fail(at, "url without encryption", "Whoever is between this machine and %s reads and changes what is sent, the token too. Use https://, or set remote { allow_unencrypted = true }.", u.Hostname())
	}
	if rng, ok := d.at["remote.key"]; ok && d.remote.cert == "" && d.sound("remote.cert") {
		r.fail(rng, "key without cert", "Set cert too: the file with the certificate of that key.")
	}
	self := r.scope.base.Variables["self"].AsString()
	h := &d.spec
	h.Command = []string{self, connectVerb}
	h.Features = append(h.Features, remoteServer{URL: d.remote.url, Args: d.remote.args(h.Limits)})
	d.remote.environment(h)
	if _, set := d.at["unresponsive.ping"]; !set {
		h.Liveness.Ping = remotePing
	}
	if _, set := d.at["unresponsive.after"]; !set {
		h.Liveness.After = remoteAfter
	}
	if _, set := d.at["restart.retry_failed"]; !set {
		h.Restart.RetryFailed = remoteRetry
	}
	if _, confined := d.at["sandbox"]; confined {
		if rng, set := d.at["sandbox.network"]; !set {
			d.confinement.policy.Network = policy.NetworkAllow
		} else if d.confinement.policy.Network == policy.NetworkNone {
			r.fail(rng, "url without network", "The host could not reach %s. Remove it: the default lets the host reach that server and nothing else.", u.Host)
		}
		d.remote.reach(&d.confinement.policy, self, u)
	}
}

// args returns the arguments of the verb.
func (d *remoteDecl) args(lim codec.Limits) []string {
	out := []string{"--connect-timeout", span.Of(d.connect), "--max-message", strconv.Itoa(lim.WithDefaults().Frame)}
	if !d.neverIdle {
		out = append(out, "--idle-timeout", span.Of(d.idle))
	}
	if d.allowUnencrypted {
		out = append(out, "--allow-unencrypted")
	}
	for _, f := range [][2]string{{"--ca", d.ca}, {"--cert", d.cert}, {"--key", d.key}} {
		if f[1] != "" {
			out = append(out, f[0], f[1])
		}
	}
	return append(out, d.url)
}

// environment hands the headers to the verb, one a line.
func (d *remoteDecl) environment(h *supervisor.HostSpec) {
	var text secret.Text
	add := func(name string, value secret.Text) {
		text = append(append(append(text, secret.Part{Words: name + ": "}), value...), secret.Part{Words: "\n"})
	}
	if d.token != nil {
		add("Authorization", append(secret.Text{{Words: "Bearer "}}, d.token...))
	}
	for _, name := range slices.Sorted(maps.Keys(d.headers)) {
		add(name, secret.Text{{Words: d.headers[name]}})
	}
	for _, name := range slices.Sorted(maps.Keys(d.secretHeaders)) {
		add(name, d.secretHeaders[name])
	}
	if text == nil {
		return
	}
	if slices.ContainsFunc(text, func(p secret.Part) bool { return p.Secret != "" }) {
		h.Secrets.Env = maps.Clone(h.Secrets.Env)
		if h.Secrets.Env == nil {
			h.Secrets.Env = map[string]secret.Text{}
		}
		h.Secrets.Env[connectHeaders] = text
		return
	}
	plain := ""
	for _, p := range text {
		plain += p.Words
	}
	h.Env = maps.Clone(h.Env)
	if h.Env == nil {
		h.Env = map[string]string{}
	}
	h.Env[connectHeaders] = plain
}

// reach grants a confined host what it needs for the server, and of the network nothing else,
// unless the policy says more.
func (d *remoteDecl) reach(p *policy.Policy, self string, u *url.URL) {
	p.Exec = append(p.Exec, self)
	for _, file := range []string{d.ca, d.cert, d.key} {
		if file != "" {
			p.Read = append(p.Read, file)
		}
	}
	if p.Network == policy.NetworkAllow {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		p.Allow = append(p.Allow, net.JoinHostPort(u.Hostname(), port))
	}
}

// remoteServer is the feature of a host that its process is the client of a server elsewhere.
type remoteServer struct {
	URL  string
	Args []string // of the verb
}

// Setting implements [supervisor.Feature].
func (remoteServer) Setting() string { return "url" }

// Validate implements [supervisor.Feature].
func (remoteServer) Validate(codec.Protocol) error { return nil }

// Interceptor implements [supervisor.Feature].
func (s remoteServer) Interceptor(*actors.Ref) *actors.Interceptor {
	return &actors.Interceptor{
		Name: "url", Stage: actors.StageWatch, Value: s,
		Starting: func(_ context.Context, start *actors.Start) error {
			start.Args = append(start.Args, s.Args...)
			return nil
		},
		Status: func(st *record.HostStatus) { st.URL = &s.URL },
	}
}
