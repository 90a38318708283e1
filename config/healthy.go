package config

import (
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/intercept/health"
	"github.com/hostsup/hostsup/intercept/health/httpcheck"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// optional makes a setting of a command one that may be left out.
func optional(s setting) setting {
	s.required = false
	return s
}

// healthDecl is a healthy block.
type healthDecl struct {
	rule health.Rule
	http httpcheck.Get
}

func healthySection(d *healthDecl) section {
	rule := &d.rule
	startPeriod := duration(&rule.StartPeriod, nil)
	startPeriod.show = func() string { return "" }
	return section{
		name: "healthy", doc: "How it is checked from outside: one of exec, http, tcp and call.",
		settings: []setting{
			named("exec", "program and its arguments, run as the host is; status 0 is healthy", optional(command(&rule.Exec))),
			named("http", "asked for with GET; a status of 2xx or 3xx is healthy", checkedText(&d.http.URL, `a URL such as "http://127.0.0.1:8080/healthz"`, func(s string) error { return httpcheck.Get{URL: s}.Validate() })),
			named("expect", "text that the body of the answer to http must contain", text(&d.http.Expect)),
			named("tcp", "address that must accept a connection", checkedText(&rule.TCP, `an address such as "127.0.0.1:8080"`, health.CheckAddress)),
			named("call", "method that must return a result; called without parameters", text(&rule.Call)),
			named("interval", "from the end of a check to the next; at most 1s while a host without a protocol starts", duration(&rule.Interval, nil)),
			named("timeout", "of a check", duration(&rule.Timeout, nil)),
			named("threshold", "failures in a row until the host is unresponsive", whole(&rule.Threshold, 1, 1_000_000)),
			named("start_period", "from the start of the process; checks that fail do not count until it is over or one succeeds; default: none", startPeriod),
		},
	}
}

// checkedText reads a string that check accepts.
func checkedText(dst *string, expect string, check func(string) error) setting {
	return setting{expect: expect,
		read: func(g given) {
			s, ok := g.str(expect)
			if !ok {
				return
			}
			if err := check(s); err != nil {
				g.bad("%q is not %s: %v.", s, expect, err)
				return
			}
			*dst = s
		},
		show: func() string { return "" },
	}
}

// healthy completes and checks the healthy block of a host.
func (r *reader) healthy(d *hostDecl) {
	at, given := d.at["healthy"]
	if !given {
		return
	}
	h := &d.spec
	rule := &d.health.rule
	h.Start.WhenHealthy = h.Protocol == nil
	rule.Exec = r.beside(d, rule.Exec)
	if d.health.http.URL != "" {
		rule.Probe = d.health.http
	}
	h.Features = append(h.Features, *rule)
	var kinds []string
	for _, kind := range []string{"exec", "http", "tcp", "call"} {
		if _, set := d.at["healthy."+kind]; set {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		r.fail(at, "healthy without a check", "Write one of exec, http, tcp and call.")
	case 1:
	default:
		r.fail(d.at["healthy."+kinds[1]], "more than one check", "The block has %s already. Remove one of the two.", kinds[0])
	}
	if at, set := d.at["healthy.expect"]; set && rule.Probe == nil && d.sound("healthy.http") {
		r.fail(at, "expect has no meaning here", "Only the answer to http has a body. Remove it.")
	}
	if at, set := d.at["healthy.call"]; set && h.Protocol == nil {
		r.fail(at, "call has no meaning here", "A host with protocol = %q cannot be called. Use exec, http or tcp, or choose another protocol.", noProtocol)
	}
	for _, kind := range []string{"http", "tcp"} {
		if at, set := d.at["healthy."+kind]; set && h.Sandbox != nil && h.Sandbox.Network != policy.NetworkHost {
			r.fail(at, kind+" has no meaning here", "The host is confined to a network of its own, which the supervisor cannot reach. Use exec or call, or network = %q.", policy.NetworkHost)
		}
	}
}

// beside makes a program that is named by a relative path absolute, as that of the host.
func (r *reader) beside(d *hostDecl, args []string) []string {
	if len(args) == 0 || filepath.IsAbs(args[0]) || !strings.ContainsRune(filepath.ToSlash(args[0]), '/') {
		return args
	}
	base := d.spec.Dir
	if base == "" {
		base = r.dir
	}
	args[0] = filepath.Join(base, args[0])
	return args
}

// checkedSettings are those of a host without a protocol that have a meaning if it is
// checked.
var checkedSettings = map[string]bool{"start.timeout": true, "start.on_timeout": true, "unresponsive.kill_after": true}
