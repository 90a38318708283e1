package part

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// Kind is what a part of this package is, for people.
const Kind = "exec server"

// KindEvent is the kind of events that tell how an exec server fares.
const KindEvent = "exec_server"

// Spec is an exec server that runs beside the hosts of a supervisor, as one of
// its Parts.
type Spec struct {
	Name string // shares one space of names with hosts and groups
	// Options are those of package server. Launcher is set to the tree's, and so is Log
	// if it is nil. Env is made from the two fields below. Listen "stdio" is refused.
	Options server.Options
	// Env is added to what InheritEnv names of this program's environment: what
	// clients can have their commands inherit. A nil InheritEnv is all of it.
	Env        map[string]string
	InheritEnv []string
	// Backoff spaces the restarts of a server that has ended by itself, which is
	// tried again for as long as the tree runs. The zero value is the default of
	// hosts.
	Backoff lifecycle.Backoff
}

var _ supervisor.Part = Spec{}

// Error reports what is wrong with an exec server. supervisor.Start returns it for one
// that cannot listen; unwrapping it tells an address in use (syscall.EADDRINUSE)
// from others.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("exec server %q: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Identity implements [supervisor.Part].
func (s Spec) Identity() (kind, name string) { return Kind, s.Name }

// Same reports whether two parts are the same exec server when they have their defaults.
// Where in a file a policy stands makes no difference.
func (s Spec) Same(other supervisor.Part) bool {
	o, ok := other.(Spec)
	for _, x := range []*Spec{&s, &o} {
		*x = x.WithDefaults()
		x.Options.Limits.Enforce = cmp.Or(x.Options.Limits.Enforce, policy.Strict)
		if x.Options.Sandbox != nil {
			p := x.Options.Sandbox.WithDefaults(false)
			p.Source = nil
			x.Options.Sandbox = &p
		}
	}
	return ok && reflect.DeepEqual(s, o)
}

// WithDefaults returns the spec with zero fields replaced by the defaults.
func (s Spec) WithDefaults() Spec {
	if s.Backoff == (lifecycle.Backoff{}) {
		s.Backoff = lifecycle.DefaultRestart().Backoff
	}
	return s
}

// Validate implements [supervisor.Part].
func (s Spec) Validate() error {
	if err := hostspec.CheckName(s.Name); err != nil {
		return err
	}
	err := s.Options.Validate()
	if err == nil && strings.HasPrefix(s.Options.Listen, string(server.Stdio)) {
		err = errors.New("listen stdio: the standard streams are the supervisor's")
	}
	if err != nil {
		return &Error{s.Name, err}
	}
	return nil
}

// Open implements [supervisor.Part]: the server listens when it returns.
func (s Spec) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	e, err := open(s.WithDefaults(), t)
	if err != nil {
		return nil, err
	}
	return &supervisor.Opened{
		Props: e.props(), Value: e, Close: e.close,
		Status: func() supervisor.PartStatus { return e.Status().Part() },
	}, nil
}

// environment returns what its commands can inherit of own.
func (s Spec) environment(own []string) []string {
	out := []string{}
	for _, kv := range own {
		name, _, _ := strings.Cut(kv, "=")
		_, set := s.Env[name]
		if !set && (s.InheritEnv == nil || slices.Contains(s.InheritEnv, name)) {
			out = append(out, kv)
		}
	}
	for name, value := range s.Env {
		out = append(out, name+"="+value)
	}
	return out
}
