package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
)

const (
	execServerBlock = "exec_server"
	execServerKind  = "exec server"
	// defaultExecServer is the name of an exec server without one.
	defaultExecServer = "exec-server"
)

// execServerDecl is an exec server as declared in the file.
type execServerDecl struct {
	spec part.Spec
	places
	confinement confinement
	header      hcl.Range
	noPing      bool
}

func newExecServerDecl() *execServerDecl {
	d := &execServerDecl{confinement: newConfinement()}
	d.spec.Name = defaultExecServer
	d.spec.Options = server.Defaults()
	d.spec.Backoff = lifecycle.DefaultRestart().Backoff
	return d
}

// execServerSection is the table of an exec server.
func execServerSection(d *execServerDecl) section {
	o := &d.spec.Options
	sandbox := sandboxSection(&d.confinement)
	sandbox.doc = "Applies to all requests of clients (commands, files and HTTP), besides the sandboxes that they request."
	// A setting for the status of hosts only.
	sandbox.settings = slices.DeleteFunc(sandbox.settings, func(s setting) bool { return s.name == "observe" })
	limits := limitsSection(&d.confinement.limits)
	limits.doc = "Limits for each command and everything it starts; without a setting there is no limit."
	return section{
		name: execServerBlock, doc: "Runs commands, files and HTTP requests for clients such as Codex.",
		settings: []setting{
			named("listen", "where clients connect; port 0 is any free one", listenURL(&o.Listen)),
			named("allow_unauthenticated", "listen beyond this machine without auth", boolean(&o.Exposed, false)),
			named("env", "variables that are set in the environment that commands can inherit", environment(&d.spec.Env)),
			named("inherit_env", "variables of it that are taken from the supervisor's; default: all but HOSTSUP_SOCKET", inherited(&d.spec.InheritEnv)),
			named("max_sessions", "at a time; default: any number", unlimited(whole(&o.MaxSessions, 1, 1<<20), &o.MaxSessions)),
			named("max_processes", "not closed ones, of all sessions; default: any number", unlimited(whole(&o.MaxProcesses, 1, 1<<22), &o.MaxProcesses)),
			named("max_message", "of a message of a client", size(&o.MaxMessage, 64<<10, 1<<30)),
			named("concurrent_requests", "requests of one connection at a time", whole(&o.Concurrent, 1, 1<<16)),
			named("ping", "between pings of a connection", duration(&o.Ping, &d.noPing)),
			named("pong_wait", "time without an answer to a ping after which a session can be taken over", duration(&o.PongWait, nil)),
			named("refuse_private_http", "no HTTP requests to private addresses and to this machine", boolean(&o.NoPrivateHTTP, false)),
		},
		sections: []section{
			{
				name: "auth", doc: "What a client of a WebSocket must present; one of the four ways.",
				settings: []setting{
					named("token_file", "file with the token", path(&o.Auth.TokenFile, warnMissingSecret)),
					named("token_sha256", "SHA-256 of the token, in hex", text(&o.Auth.TokenSHA256)),
					named("shared_secret_file", "file with the secret of signed tokens (JWT, HS256, with an exp)", path(&o.Auth.JWTSecretFile, warnMissingSecret)),
					named("issuer", "that signed tokens must have", text(&o.Auth.JWTIssuer)),
					named("audience", "that signed tokens must have", text(&o.Auth.JWTAudience)),
					named("max_clock_skew", "by which clocks may differ", duration(&o.Auth.JWTSkew, nil)),
				},
			},
			{
				name: "retention", doc: "What is kept for clients that are behind, or away.",
				settings: []setting{
					named("bytes", "of output, per process; of what a connection was sent already half of that, or 1 MiB", size(&o.Retain, 64<<10, 1<<30)),
					named("budget", "of memory, for the output of all processes beyond the 1 MiB that each has; half of it is for those that pause otherwise", size(&o.Budget, 1<<20, 64<<30)),
					named("when_full", "what a process without a connection does then: wait for its client, or continue and lose its oldest output", choice(&o.WhenFull, server.WhenFulls()...)),
					named("closed", "how long the output of a process that has ended can be read", duration(&o.KeepClosed, nil)),
					named("detached", "how long a session lives on without a connection", duration(&o.KeepDetached, nil)),
					named("detached_max", "the longest that a client can have it live on, as hostsup exec --detach does", duration(&o.KeepAsked, nil)),
				},
			},
			{
				name: "restart", doc: "Restarts of the server itself after an unrequested end; it is always tried again.",
				sections: []section{backoffSection(&d.spec.Backoff)},
			},
			limits,
			sandbox,
		},
	}
}

func listenURL(dst *string) setting {
	const expect = `a URL such as "ws://127.0.0.1:8080" or "unix:///run/exec.sock"`
	return checked(dst, expect, func(g given) {
		if *dst == string(server.Stdio) || *dst == string(server.Stdio)+"://" {
			g.bad("The standard streams are the supervisor's. Expected %s; for stdio there is hostsup exec-server.", expect)
			return
		}
		err := server.Options{Listen: *dst, Exposed: true}.Validate()
		if err != nil {
			g.bad("%q is not %s.", *dst, expect)
		}
	})
}

func warnMissingSecret(g given, file string) {
	if g.isMissing(file) {
		g.warn(g.rng, "file does not exist", "There is no %s (yet). The supervisor cannot start until that changes.", file)
	}
}

// execServers reads the exec_server blocks, whose name is optional, and removes them
// from the body.
func (r *reader) execServers(body *hclsyntax.Body) (rest *hclsyntax.Body, blocks []*hcl.Block) {
	out := *body
	out.Blocks = nil
	for _, b := range body.Blocks {
		if b.Type != execServerBlock {
			out.Blocks = append(out.Blocks, b)
			continue
		}
		if len(b.Labels) > 1 {
			r.fail(b.LabelRanges[1], execServerBlock+" with more than one name", "Write %s %q { … }.", execServerBlock, b.Labels[0])
			continue
		}
		block := b.AsHCLBlock()
		if len(b.Labels) == 0 {
			block.Labels, block.LabelRanges = []string{defaultExecServer}, []hcl.Range{b.TypeRange}
		}
		blocks = append(blocks, block)
	}
	return &out, blocks
}

// execServer reads one block.
func (r *reader) execServer(t *tree, b *hcl.Block) *execServerDecl {
	r.checkName(execServerKind, b)
	r.take(t, execServerKind, b)
	d := newExecServerDecl()
	d.spec.Name, d.header = b.Labels[0], b.DefRange
	before := len(r.diags)
	d.places = r.section(b.Body, b.DefRange, execServerSection(d))
	o := &d.spec.Options
	if _, ok := d.at["inherit_env"]; ok && d.spec.InheritEnv == nil {
		d.spec.InheritEnv = []string{}
	}
	if d.noPing {
		o.Ping = -1
	}
	r.backoff(d.places, d.spec.Backoff)
	r.confined(&d.confinement, d.places)
	o.Sandbox, o.Limits = d.confinement.sandbox(), d.confinement.limits
	if r.diags[before:].HasErrors() {
		return d // further errors would be noise
	}
	// Files of secrets may be created later; their content is not checked here.
	probe := *o
	if probe.Auth.TokenFile != "" && probe.Auth.TokenSHA256 == "" && probe.Auth.JWTSecretFile == "" {
		probe.Auth.TokenFile, probe.Auth.TokenSHA256 = "", someSHA256
	}
	if probe.Auth.JWTSecretFile != "" && probe.Auth.TokenSHA256 == "" {
		probe.Auth.JWTSecretFile, probe.Auth.JWTSecret = "", make([]byte, 64)
	}
	if rng, ok := d.at["auth"]; ok && probe.Auth.TokenSHA256 == "" && len(probe.Auth.JWTSecret) == 0 {
		r.fail(rng, "auth without a secret", "It names no secret that a client must present. Set token_file, token_sha256 or shared_secret_file.")
		return d
	}
	if err := probe.Validate(); err != nil {
		rng, detail := d.blame(err), upperFirst(err.Error())+"."
		if errors.Is(err, server.ErrExposed) {
			detail += " Add an auth block, listen at 127.0.0.1, or set allow_unauthenticated = true."
		}
		r.fail(rng, fmt.Sprintf("exec server %q cannot be run like this", d.spec.Name), "%s", detail)
	}
	return d
}

const someSHA256 = "0000000000000000000000000000000000000000000000000000000000000000"

// blame returns the position of the setting that an error of the options is about.
func (d *execServerDecl) blame(err error) hcl.Range {
	var file *fs.PathError
	paths := []string{"listen"}
	switch {
	case errors.As(err, &file) && d.spec.Options.Auth.TokenFile == file.Path:
		paths = []string{"auth.token_file"}
	case errors.As(err, &file) && d.spec.Options.Auth.JWTSecretFile == file.Path:
		paths = []string{"auth.shared_secret_file"}
	case errors.Is(err, server.ErrAuth):
		paths = []string{"auth.token_sha256", "auth.shared_secret_file", "auth.token_file", "auth"}
	}
	for _, p := range paths {
		if at, ok := d.at[p]; ok {
			return at
		}
	}
	return d.header
}

// Blame returns the position in the file that causes an error of an exec server
// although the text is valid (its address is in use, its token cannot be read). It
// returns nil for other errors.
func (f *File) Blame(err error) hcl.Diagnostics {
	var ee *part.Error
	if !errors.As(err, &ee) {
		return nil
	}
	for _, d := range f.execServers {
		if d.spec.Name != ee.Name {
			continue
		}
		rng := d.blame(ee.Err)
		diags := hcl.Diagnostics{{Severity: hcl.DiagError, Summary: fmt.Sprintf("exec server %q cannot start", ee.Name),
			Detail: upperFirst(ee.Err.Error()) + ".", Subject: &rng}}
		return finish(diags, f.units)
	}
	return nil
}
