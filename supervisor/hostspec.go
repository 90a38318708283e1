package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// HostSpec says everything about one host. It is a value: nothing changes it
// after it was handed over. A host's identity is its name.
type HostSpec struct {
	Name       string             // unique within a supervisor, shared with group names
	InstanceOf string             // it is one of several that can stand in for each other, and is named so with -1, -2 and so on; see Apply and Instance
	Job        bool               // it runs to its end: an exit with a success status completes it, and hosts that depend on it wait for that
	Command    []string           // program and arguments; looked up in the supervisor's PATH
	Protocol   codec.Protocol     // nil: none, the process is supervised without speaking to it
	Transport  hostspec.Transport // "" means the protocol's default
	Dir        string             // working folder; "" means the supervisor's
	Env        map[string]string  // added to what InheritEnv names; nothing else is inherited
	InheritEnv []string           // names
	Init       any                // handed to the host in the handshake
	Limits     codec.Limits       // of its messages
	Start      hostspec.StartRule
	Restart    lifecycle.RestartRule
	Liveness   hostspec.LivenessRule
	Requests   hostspec.RequestRule
	Throttle   []throttle.Rule // notifications to it that are thinned out; none by default
	Answers    AnswerRule      // to what the host asks
	Guard      GuardRule       // what it may ask for, and what may be started as it
	Secrets    SecretRule      // values that are only read when a life begins, or it asks for them
	Attach     bool            // opened by the first program that attaches to it, see package attach; it starts lazily
	Stop       hostspec.StopRule
	Log        hostspec.LogRule

	// Prepare is called before each life is started and returns what that life
	// alone is given, such as a port or a token. It must return soon after ctx has
	// ended, which it does when the start is given up. An error ends the start as
	// that of a program which cannot be started does. nil: a life gets no more than
	// the spec says.
	Prepare func(ctx context.Context, life uint64) (Prepared, error)

	// Healthy returns why the host is not healthy, or nil if it is. It is called each
	// Liveness.Ping while the host runs, and must return soon after ctx has ended, which
	// is after Liveness.After. When it has not returned nil for so long, the host is
	// unresponsive, and is killed after Liveness.KillAfter unless a call returns nil
	// before. nil: the host's own signs of life alone count, if its protocol has some.
	Healthy func(ctx context.Context, host *Host) error

	// Features are what packages of their own do for the host, such as checks of its
	// health from outside; see [Feature]. A change of one restarts the host.
	Features []Feature

	// Extensions says which extensions the host has, and that they are looked
	// after; see package extensions/service. nil: none. Such a host starts lazily.
	Extensions *plan.Spec

	// Sandbox confines the host's processes; nil does not. Where it cannot be
	// enforced as strictly as it demands, the host does not start.
	Sandbox *policy.Policy
	// Observe says whether a confined host is watched, so that its status tells
	// what it was denied; default auto.
	Observe hostspec.Observe
	// Resources bound what a life of the host with everything it starts may use
	// up, also without Sandbox.
	Resources policy.Limits
}

// Prepared is what one life of a host is given by the Prepare of its spec.
type Prepared struct {
	Env  map[string]string // wins over the spec's
	Args []string          // follow the spec's Command; all users of a machine can see them
}

// Rules of a HostSpec for what passes between the host and the supervisor.
type (
	// AnswerRule says how requests are answered that a host makes.
	AnswerRule = answer.Rule
	// GuardRule says what a host may ask for, and what may be started as the host.
	GuardRule = guard.HostRule
	// SecretRule says which secrets a host gets.
	SecretRule = secret.Rule
)

// core returns what package actors has to know of a host.
func (s HostSpec) core() hostspec.Spec {
	return hostspec.Spec{
		Name: s.Name, Job: s.Job, Command: s.Command, Protocol: s.Protocol, Transport: s.Transport, Dir: s.Dir,
		Env: s.Env, InheritEnv: s.InheritEnv, Init: s.Init, Limits: s.Limits,
		Start: s.Start, Restart: s.Restart, Liveness: s.Liveness, Requests: s.Requests, Stop: s.Stop, Log: s.Log,
		Sandbox: s.Sandbox, Observe: s.Observe, Resources: s.Resources,
	}
}

// with returns the spec with what package actors knows of the host.
func (s HostSpec) with(c hostspec.Spec) HostSpec {
	s.Name, s.Job, s.Command, s.Protocol, s.Transport, s.Dir = c.Name, c.Job, c.Command, c.Protocol, c.Transport, c.Dir
	s.Env, s.InheritEnv, s.Init, s.Limits = c.Env, c.InheritEnv, c.Init, c.Limits
	s.Start, s.Restart, s.Liveness, s.Requests, s.Stop, s.Log = c.Start, c.Restart, c.Liveness, c.Requests, c.Stop, c.Log
	s.Sandbox, s.Observe, s.Resources = c.Sandbox, c.Observe, c.Resources
	return s
}

// WithDefaults returns the spec with zero fields replaced by the defaults that
// the fields' comments name.
func (s HostSpec) WithDefaults() HostSpec {
	s = s.with(s.core().WithDefaults())
	if s.Attach || s.Extensions != nil {
		s.Start.Lazy = true
	}
	if s.Protocol == nil && gated(s.Features) {
		s.Start.WhenHealthy = true
	}
	return s
}

// Validate returns everything that is wrong with a spec that has its defaults: an
// error that joins errors wrapping [ErrSpec].
func (s HostSpec) Validate() error {
	errs := []error{s.core().Validate()}
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: host %q: %s: %w", ErrSpec, s.Name, field, fmt.Errorf(format, args...)))
	}
	if s.Extensions != nil {
		protocol := "none"
		if s.Protocol != nil {
			protocol = s.Protocol.Name()
		}
		if err := s.Extensions.Validate(protocol); err != nil {
			bad("extensions", "%w", err)
		}
	}
	if s.Job && (s.Attach || s.Extensions != nil) {
		bad("kind", "a job runs to its end; it has neither attach nor extensions")
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(s.Name, s.InstanceOf+"-"), 10, 16); s.InstanceOf != "" && (err != nil || n == 0) && s.Name != s.InstanceOf+spareSuffix {
		bad("instances", "expected the name %s-N", s.InstanceOf)
	}
	s.validateFeatures(bad)
	throttle.Validate(s.Throttle, s.Protocol, bad)
	s.Answers.Validate(s.Protocol, bad)
	s.Guard.Validate(s.Protocol, bad)
	s.Secrets.Validate(s.Protocol, s.Env, bad)
	return errors.Join(errs...)
}

// Equal reports whether both specs describe the same host when they have their
// defaults. Functions cannot be compared: of Prepare, Healthy and Answers.Handlers only
// counts which there are. Protocols are equal if they were made in the same way.
func (s HostSpec) Equal(other HostSpec) bool {
	a, b := s.WithDefaults(), other.WithDefaults()
	return hostspec.EqualProtocols(a.Protocol, b.Protocol) && (a.Prepare == nil) == (b.Prepare == nil) &&
		(a.Healthy == nil) == (b.Healthy == nil) && sameHandlers(a, b) && len(differingFeatures(a.Features, b.Features)) == 0 && reflect.DeepEqual(a.comparable(), b.comparable())
}

// sameHandlers reports whether two specs have handlers for the same methods.
func sameHandlers(a, b HostSpec) bool {
	return maps.EqualFunc(a.Answers.Handlers, b.Answers.Handlers, func(actors.Handler, actors.Handler) bool { return true })
}

// comparable returns a spec that has its defaults without what cannot be compared as a
// value, or makes no difference.
func (s HostSpec) comparable() HostSpec {
	s.Protocol, s.Prepare, s.Healthy, s.Features, s.Answers.Handlers = nil, nil, nil, nil, nil
	s.Resources.Enforce = cmp.Or(s.Resources.Enforce, policy.Strict)
	if s.Sandbox != nil {
		p := s.Sandbox.WithDefaults(false)
		p.Source = nil // where it stands in a file
		s.Sandbox = &p
	}
	return s
}

// sameFeatures reports whether another configuration leaves the interceptors of a host as
// they are. Functions may be others.
func (s HostSpec) sameFeatures(next HostSpec) bool {
	functions := func(x HostSpec) bool { return x.Prepare != nil || x.Healthy != nil || len(x.Answers.Handlers) > 0 }
	return !functions(s) && !functions(next) && hostspec.EqualProtocols(s.Protocol, next.Protocol) &&
		same(s.Throttle, next.Throttle) && same(s.Answers, next.Answers) && same(s.Guard, next.Guard) && same(s.Secrets, next.Secrets) &&
		same(s.Extensions, next.Extensions) && !fixedFeaturesDiffer(s.Features, next.Features)
}

// restarts reports whether another configuration restarts the host.
func (s HostSpec) restarts(next HostSpec) bool {
	a, b := s.core(), next.core()
	return a.Restarts(&b) || !s.sameFeatures(next)
}

// relimits reports whether another configuration changes no more of a process than limits
// that can change while it runs.
func (h *Host) relimits(s, next HostSpec) bool {
	if same(s.Resources, next.Resources) || s.Extensions != nil {
		return false
	}
	s.Resources.Memory, s.Resources.Tasks, s.Resources.CPU = next.Resources.Memory, next.Resources.Tasks, next.Resources.CPU
	return !s.restarts(next) && h.ref.Limit(next.Resources, true) == nil
}

// partsDiffer reports whether what a [Part] does for a host of another configuration is
// something else.
func (s HostSpec) partsDiffer(next HostSpec) bool {
	name := func(p codec.Protocol) string {
		if p == nil {
			return ""
		}
		return p.Name()
	}
	extended := s.Extensions != nil || next.Extensions != nil
	return s.Attach != next.Attach || name(s.Protocol) != name(next.Protocol) || extended && s.restarts(next)
}

// specOf returns the present configuration of a host. That of one which a message of
// package actors has added has no features.
func specOf(host *actors.Ref) HostSpec {
	core := host.Spec()
	var s HostSpec
	if r, ok := core.Origin.(*rest); ok {
		s.Throttle, s.Answers, s.Guard, s.Secrets, s.Attach = r.Throttle, r.Answers, r.Guard, r.Secrets, r.Attach
		s.Prepare, s.Healthy, s.Features, s.Extensions, s.InstanceOf = r.Prepare, r.Healthy, r.Features, r.Extensions, r.InstanceOf
	}
	return s.with(core.Spec)
}

// rest has the fields of a HostSpec that package actors does not know. A second copy of
// the others would take a kibibyte for each host.
type rest struct {
	Throttle   []throttle.Rule
	Answers    AnswerRule
	Guard      GuardRule
	Secrets    SecretRule
	Attach     bool
	Prepare    func(ctx context.Context, life uint64) (Prepared, error)
	Healthy    func(ctx context.Context, host *Host) error
	Features   []Feature
	Extensions *plan.Spec
	InstanceOf string
}

func (s HostSpec) rest() *rest {
	return &rest{s.Throttle, s.Answers, s.Guard, s.Secrets, s.Attach, s.Prepare, s.Healthy, s.Features, s.Extensions, s.InstanceOf}
}

// GroupSpec is a named set of hosts with a strategy for shared fate. The order of
// Hosts is the order of declaration: where dependencies leave a choice, it is
// the order of starts, and what "rest" means in rest_for_one.
type GroupSpec struct {
	Name     string
	Strategy lifecycle.Strategy // default one_for_one
	Hosts    []HostSpec
}

// withDefaults is WithDefaults of all hosts, in a list of its own.
func (g GroupSpec) withDefaults() GroupSpec {
	if g.Strategy == "" {
		g.Strategy = lifecycle.OneForOne
	}
	hosts := make([]HostSpec, len(g.Hosts))
	for i, h := range g.Hosts {
		hosts[i] = h.WithDefaults()
	}
	g.Hosts = hosts
	return g
}
