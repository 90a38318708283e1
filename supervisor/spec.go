package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
)

// Spec is what a supervisor runs: an immutable value. Zero fields mean the
// defaults.
type Spec struct {
	Groups   []GroupSpec
	Parts    []Part   // beside the hosts: exec servers and others; they are open when Start returns
	StateDir string   // log files and crash reports; "" keeps both in memory only
	OnFailed OnFailed // default stay
	// MaxStarting is how many hosts start at once, from spawn to ready; those that
	// come later are starting, too, and wait for a place in the order in which they
	// came, their start time-outs with them. 0: any number. A start gives its place
	// back when the host is ready, has ended or is stopped, or is over its time-out
	// and waited for.
	MaxStarting int
	Config      string // path of the file it came from; shown in status
	Socket      string // control socket; shown in status
	// Secrets say where the values are that hosts name in theirs. Nothing of it
	// is looked at before a host needs one. nil: there are none.
	Secrets SecretStore
	// SecretCache is how long a value stays in memory after it was read, or after
	// the end of the life that was given it; default 5 min.
	SecretCache time.Duration
	// Users are the user and group ids that confined hosts are given, each one
	// of its own, where the supervisor is root. The zero value is the default
	// range of package sandbox.
	Users sandbox.Range
}

// SecretStore says where the values of secrets are. Package intercept/secret/stores
// has one for the keyring of the system and for a file encrypted with age.
type SecretStore interface {
	// Open returns what secrets are read through in one tree. It must not touch
	// the store: that is done when a secret is first asked for.
	Open() (secret.Source, error)
}

// OnFailed says what a host that has given up means for the whole.
type OnFailed string

// The two answers.
const (
	Stay OnFailed = "stay" // the supervisor goes on (default)
	Exit OnFailed = "exit" // the supervisor stops; Err reports ErrHostFailed
)

// Alone wraps a host into a group of its own, with the host's name.
func Alone(h HostSpec) GroupSpec {
	return GroupSpec{Name: h.Name, Strategy: lifecycle.OneForOne, Hosts: []HostSpec{h}}
}

// WithDefaults returns the spec with zero fields replaced by the defaults.
func (s Spec) WithDefaults() Spec {
	if s.OnFailed == "" {
		s.OnFailed = Stay
	}
	if s.SecretCache == 0 {
		s.SecretCache = secret.DefaultCache
	}
	s.Groups = slices.Clone(s.Groups)
	for i, g := range s.Groups {
		s.Groups[i] = g.withDefaults()
	}
	return s
}

// Validate says everything that is wrong with a spec that has its defaults:
// an error that joins errors wrapping [ErrSpec] or being a
// *[lifecycle.OrderError]; nil when it can be run.
func (s Spec) Validate() error {
	var errs []error
	taken := make(map[string]string)
	claim := func(name, what string) {
		if other, ok := taken[name]; ok {
			errs = append(errs, fmt.Errorf("%w: %s %q: the name belongs to a %s already", ErrSpec, what, name, other))
		}
		taken[name] = what
	}
	for _, g := range s.Groups {
		if err := hostspec.CheckName(g.Name); err != nil {
			errs = append(errs, err)
		}
		alone := len(g.Hosts) == 1 && g.Hosts[0].Name == g.Name
		if !alone {
			claim(g.Name, "group")
		}
		switch g.Strategy {
		case lifecycle.OneForOne, lifecycle.OneForAll, lifecycle.RestForOne:
		default:
			errs = append(errs, fmt.Errorf("%w: group %q: strategy %q is unknown; expected one_for_one, one_for_all or rest_for_one", ErrSpec, g.Name, g.Strategy))
		}
		members := make([]lifecycle.Member, 0, len(g.Hosts))
		for _, h := range g.Hosts {
			claim(h.Name, "host")
			if err := s.check(h); err != nil {
				errs = append(errs, err)
			}
			members = append(members, lifecycle.Member{Name: h.Name, DependsOn: h.Start.DependsOn})
		}
		if _, err := lifecycle.Order(members); err != nil {
			errs = append(errs, err)
		}
	}
	kinds := make(map[string]bool) // of parts without a name
	for _, p := range s.Parts {
		switch kind, name := p.Identity(); {
		case name != "":
			claim(name, kind)
		case kinds[kind]:
			errs = append(errs, fmt.Errorf("%w: there are two parts of kind %q", ErrSpec, kind))
		default:
			kinds[kind] = true
		}
		if err := p.Validate(); err != nil && !errors.Is(err, ErrSpec) {
			errs = append(errs, fmt.Errorf("%w: %w", ErrSpec, err))
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	if s.MaxStarting < 0 {
		errs = append(errs, fmt.Errorf("%w: max_starting: %d is negative", ErrSpec, s.MaxStarting))
	}
	if s.SecretCache < 0 {
		errs = append(errs, fmt.Errorf("%w: secrets: cache %s is negative", ErrSpec, s.SecretCache))
	}
	if s.OnFailed != Stay && s.OnFailed != Exit {
		errs = append(errs, fmt.Errorf("%w: on_failed %q is unknown; expected stay or exit", ErrSpec, s.OnFailed))
	}
	return errors.Join(errs...)
}

// check returns what is wrong with a host of the spec, or one to be added to it.
func (s Spec) check(h HostSpec) error {
	if err := h.Validate(); err != nil {
		return err
	}
	if s.Secrets == nil && len(h.Secrets.Env)+len(h.Secrets.Owned) > 0 {
		return fmt.Errorf("%w: host %q: it names secrets, and the supervisor has no store of secrets", ErrSpec, h.Name)
	}
	return nil
}
