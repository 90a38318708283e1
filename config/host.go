package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/health"
	"github.com/hostsup/hostsup/intercept/hook"
	"github.com/hostsup/hostsup/intercept/schedule"
	"github.com/hostsup/hostsup/internal/span"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
	"sync"
)

// hostDecl is a host as declared in the file.
type hostDecl struct {
	spec     supervisor.HostSpec
	protocol string // its name
	kind     string
	speech   speech
	group    string // name of its group
	key      string // of for_each or instances; "" without
	envFile  map[string]string
	places
	deps        []given // elements of depends_on
	forwards    []forwardTo
	confinement confinement
	extensions  extensionsDecl
	reconnect   reconnectDecl
	health      healthDecl
	hooks       hooksDecl
	schedule    scheduleDecl
	sharing     attach.Rule
	recycle     recycleDecl
	survive     bool
	sharers     sharers
	remote      remoteDecl
	template    *templateDecl // nil: it is a host
}

func newHostDecl() *hostDecl {
	return &hostDecl{spec: defaultHost(), kind: kindService, protocol: defaultProtocol, speech: speech{noise: noiseSkip}, confinement: newConfinement(), remote: newRemoteDecl(), extensions: newExtensionsDecl(), reconnect: newReconnectDecl(), health: healthDecl{rule: health.Rule{}.WithDefaults()}, hooks: hooksDecl{timeout: hook.DefaultTimeout}, schedule: scheduleDecl{schedule.Rule{Overlap: schedule.Skip}}, sharers: newSharers(), recycle: newRecycleDecl()}
}

// host reads a host block. The name of the result is valid even if the rest is wrong.
func (r *reader) host(b *hcl.Block, group string) *hostDecl {
	return r.hostOr(newHostDecl(), b, group)
}

// hostOr reads a block of a host, or of a template.
func (r *reader) hostOr(d *hostDecl, b *hcl.Block, group string) *hostDecl {
	d.group = group
	d.spec.Name = b.Labels[0]
	if hasInstances(b.Body) {
		r.scope.setRoot(cty.StringVal(attach.Root))
		defer r.scope.setRoot(cty.NilVal)
	}
	table := hostSection(d)
	if d.template != nil {
		table = d.template.extends(table)
	}
	d.places = r.section(b.Body, b.DefRange, table, replyHeader, forwardHeader, throttleHeader)
	r.remote(d, b, table)
	r.kind(d)
	r.questions(b.Body, d)
	d.speech.editor = r.editor(d)
	d.spec.Protocol = protocols[d.protocol](d.speech)
	h := &d.spec
	h.Env = withEnvFile(h.Env, d)
	r.speech(d, table)
	r.extensions(b.Body, d)
	r.reconnecting(d)
	r.answers(b.Body, d)
	r.throttled(b.Body, d)
	r.backoff(d.places, h.Restart.Backoff)
	r.resolveCommand(d)
	r.storing(d)
	resolved := r.confined(&d.confinement, d.places)
	h.Sandbox, h.Resources, h.Observe = d.confinement.sandbox(), d.confinement.limits, d.confinement.observe
	if h.Sandbox != nil && h.Transport == hostspec.TransportUnix {
		r.fail(d.at["transport"], "invalid value for transport", "A confined host cannot reach the supervisor's socket. Use \"fd\" or \"stdio\".")
	}
	r.healthy(d)
	r.recycled(d)
	r.hooks(d)
	r.survives(d)
	r.template(d)
	r.reachable(resolved, d)
	return d
}

// backoff compares the first delay with the longest.
func (r *reader) backoff(p places, back lifecycle.Backoff) {
	if back.Initial <= back.Max || !p.sound("restart.backoff.initial", "restart.backoff.max") {
		return
	}
	initial, max := span.Of(back.Initial), span.Of(back.Max)
	if at, ok := p.at["restart.backoff.max"]; ok {
		r.fail(at, "invalid value for max", "The longest wait (%s) is shorter than the first one (initial, %s).", max, initial)
	} else {
		r.fail(p.at["restart.backoff.initial"], "invalid value for initial", "The first wait (%s) is longer than the longest (max, which is %s by default). Set max too.", initial, max)
	}
}

// speech completes the settings that only a host with a protocol has.
func (r *reader) speech(d *hostDecl, table section) {
	h := &d.spec
	if h.Protocol == nil {
		r.silent(d, table)
		h.Limits = codec.Limits{}
		return
	}
	r.spoken(d)
	if at, ok := d.at["messages.max_string"]; !ok {
		h.Limits.String = h.Limits.Frame
	} else if h.Limits.String > h.Limits.Frame && d.sound("messages.max_string", "messages.max_size") {
		r.fail(at, "invalid value for max_string", "A string of %s cannot be part of a message of %s (max_size).",
			showSize(int64(h.Limits.String)), showSize(int64(h.Limits.Frame)))
	}
}

// spoken checks the settings that depend on the protocol.
func (r *reader) spoken(d *hostDecl) {
	h := &d.spec
	def := h.Protocol.Defaults()
	own := h.Protocol.Features().Rendezvous != nil
	switch at, set := d.at["transport"]; {
	case own && set:
		r.fail(at, "transport has no meaning here", "Protocol %q has its own transport. Remove it.", d.protocol)
	case h.Transport == "":
		h.Transport = hostspec.Transport(def.Transport)
	}
	if at, confined := d.at["sandbox"]; own && confined && d.protocol != vscodeProtocol {
		r.fail(at, "a confined host cannot be reached", "The sockets of protocol %q are outside of its sandbox. Remove one of the two.", d.protocol)
	}
	if _, set := d.at["unresponsive.kill_after"]; !set && def.NeverKill {
		h.Liveness.NeverKill = true
	}
	if _, set := d.at["stop.grace"]; !set && def.Grace > 0 {
		h.Stop.Grace = def.Grace
	}
	if at, set := d.at["unresponsive.method"]; set && (d.protocol == defaultProtocol || d.protocol == "dscode" || d.protocol == "vscode") {
		r.fail(at, "method has no meaning here", "Protocol %q has a ping of its own, or none. Remove it.", d.protocol)
	}
	if at, set := d.at["stdout_noise"]; set && d.protocol != "jsonrpc-lines" && d.speech.noise != noiseSkip {
		r.fail(at, "stdout_noise has no meaning here", "Only protocol = %q distinguishes text from messages. Remove it.", "jsonrpc-lines")
	}
	if at, set := d.at["init"]; set && (d.protocol == "msgpack-rpc" || d.protocol == "dscode") {
		r.fail(at, "init has no meaning here", "Protocol %q has no handshake that could carry it. Remove it.", d.protocol)
	}
	if h.Attach {
		r.shared(d)
		if d.template == nil && !reflect.DeepEqual(d.sharing, attach.Rule{}) {
			h.Features = append(h.Features, d.sharing)
		}
		if !attach.Can(h.Protocol) {
			r.fail(d.at["attach"], "programs cannot attach here", "Programs can attach to hosts that speak %q, %q or %q, not %q.", "jsonrpc-headers", "jsonrpc-lines", "msgpack-rpc", d.protocol)
		}
		if at, set := d.at["attach.notify"]; set && d.protocol == "msgpack-rpc" {
			r.fail(at, "notify has no meaning here", "Protocol %q has no message that could tell somebody. Remove it.", d.protocol)
		}
		if at, set := d.at["start.eager"]; set && !h.Start.Lazy {
			r.fail(at, "eager has no meaning here", "A host with attach starts when the first program attaches to it. Remove one of the two.")
		}
		h.Start.Lazy = true
	}
}

// silent refuses settings that have no effect for a host without a protocol.
func (r *reader) silent(d *hostDecl, table section) {
	_, checked := d.at["healthy"]
	_, waits := d.at["pre_start"]
	var refuse func(path string, whole bool)
	refuse = func(path string, whole bool) {
		at, ok := d.at[path]
		if !ok || checked && checkedSettings[path] || waits && path == "start.timeout" {
			return
		}
		if checked && path == "unresponsive" { // one of its settings has a meaning
			for _, name := range []string{"after", "kill_after", "method", "ping"} {
				refuse(path+"."+name, false)
			}
			return
		}
		kind := "argument"
		if whole {
			kind = "block"
		}
		name := path[strings.LastIndexByte(path, '.')+1:]
		r.fail(at, fmt.Sprintf("%s %q has no meaning here", kind, name), "A host with protocol = %q receives no messages. Remove %q, or choose another protocol.", noProtocol, name)
	}
	table.unspoken("", refuse)
}

// resolveCommand makes a program that is named by a relative path absolute: from dir
// if it is set, as the system would, else from the folder of the file, so that the
// supervisor's working folder does not matter.
func (r *reader) resolveCommand(d *hostDecl) {
	if len(d.spec.Command) == 0 {
		return
	}
	program := d.spec.Command[0]
	if isLate(program) {
		return
	}
	if !strings.ContainsRune(filepath.ToSlash(program), '/') {
		r.lookedUp(d, program)
		return
	}
	if !filepath.IsAbs(program) {
		base := d.spec.Dir
		if base == "" {
			base = r.dir
		}
		program = filepath.Join(base, program)
		d.spec.Command[0] = program
	}
	if isLate(program) {
		return
	}
	if r.isMissing(program) {
		r.warn(d.at["command"], "program does not exist", "There is no %s (yet). Host %q cannot start until that changes.", program, d.spec.Name)
		return
	}
	r.lookedUp(d, program)
}

// lookedUp warns of a program that is not in PATH, or that cannot be run.
func (r *reader) lookedUp(d *hostDecl, program string) {
	if r.lookPath == nil {
		return
	}
	_, err := r.lookPath(program, "", r.programs)
	switch {
	case errors.Is(err, fs.ErrPermission):
		r.warn(d.at["command"], "program cannot be run", "%s. Host %q cannot start until that changes.", upperFirst(err.Error()), d.spec.Name)
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(program) == program:
		r.warn(d.at["command"], "program does not exist", "There is no %s (yet) in any folder of PATH, which the supervisor searches. Host %q cannot start until that changes. Install it, or write its whole path.", program, d.spec.Name)
	}
}

func warnMissingDir(g given, dir string) {
	if !isLate(dir) && g.isMissing(dir) {
		g.warn(g.rng, "folder does not exist", "There is no %s (yet). The host cannot start until that changes.", dir)
	}
}

// isMissing reports whether a path is known not to exist.
func (r *reader) isMissing(path string) bool {
	if r.stat == nil {
		return false
	}
	_, err := r.stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// nameGaps matches what a name must not contain.
var nameGaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// checkName reports an invalid name of a host or group: names become parts of file
// names, and are typed in a terminal.
func (r *reader) checkName(kind string, b *hcl.Block) {
	name, rng := b.Labels[0], b.LabelRanges[0]
	if hostspec.CheckName(name) == nil {
		return
	}
	detail := "A name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit."
	better := strings.Trim(nameGaps().ReplaceAllString(name, "-"), "._-")
	if hostspec.CheckName(better) == nil {
		detail += fmt.Sprintf(" %q would do.", better)
	}
	article := "a"
	if kind == execServerKind {
		article = "an"
	}
	r.fail(rng, fmt.Sprintf("invalid name of %s %s", article, kind), "%s", detail)
}
