package guard

import (
	"context"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// HostRule says what a host may ask for, and what may be started as the host.
// The zero value allows everything.
type HostRule struct {
	Permissions []string // names of those that are granted; nil: no request takes one
	RateLimit   *Rate    // of its requests; nil: none
	Roots       []string // folders in which the paths of its requests have to lie; nil: anywhere
	SHA256      []string // checksums, one of which the executable has to have before each start; nil: any
}

// Names of errors by which a host's requests are refused.
const (
	NamePermissionDenied = "PermissionDenied" // the message names the permission
	NameRateLimited      = "RateLimited"
	NamePathDenied       = "PathDenied"
)

// gate enforces the rule of one host.
type gate struct {
	host    *actors.Ref
	grants  *Grants
	limiter *Limiter
	paths   *PathRules
}

// New returns the interceptor of a rule that was validated, nil for one that allows
// everything.
func New(rule HostRule, host *actors.Ref) *actors.Interceptor {
	i := &actors.Interceptor{Name: "guard", Stage: actors.StageAdmit}
	if rule.SHA256 != nil {
		i.Starting = func(_ context.Context, s *actors.Start) error { return Verify(s.Path, rule.SHA256) }
	}
	w := &gate{host: host}
	if rule.Permissions != nil {
		g, _ := ParseGrants(rule.Permissions, nil) // Validate has seen the names; of others nothing is granted
		w.grants = &g
	}
	if rule.RateLimit != nil {
		w.limiter = NewLimiter(*rule.RateLimit)
	}
	if rule.Roots != nil {
		if w.paths, _ = NewPathRules(rule.Roots); w.paths == nil {
			w.paths = &PathRules{} // roots that are gone hold no path
		}
	}
	if w.grants != nil || w.limiter != nil || w.paths != nil {
		i.Inbound = w.inbound
	} else if i.Starting == nil {
		return nil
	}
	return i
}

func (w *gate) inbound(life uint64, m *codec.Message) (v actors.Verdict) {
	if m.Kind != codec.Request {
		return v
	}
	if e := w.check(m, w.host.Spec().Protocol); e != nil {
		w.host.Log().Warn("a request of the host is refused", "method", m.Method, "life", life, "reason", e.Error())
		v.Err = e
	}
	return v
}

// Validate says what is wrong with the rule for a host of protocol p, nil for one
// without.
func (r HostRule) Validate(p codec.Protocol, bad func(field, format string, args ...any)) {
	if p == nil && (r.Permissions != nil || r.RateLimit != nil || r.Roots != nil) {
		bad("guard", "a host without a protocol asks nothing")
	}
	if _, err := ParseGrants(r.Permissions, nil); err != nil {
		bad("permissions", "%w", err)
	}
	if r.Roots != nil {
		if _, err := NewPathRules(r.Roots); err != nil {
			bad("roots", "%w", err)
		}
	}
	for _, d := range r.SHA256 {
		if err := CheckDigest(d); err != nil {
			bad("sha256", "%w", err)
		}
	}
}

// check returns why a request of the host is refused, or nil.
func (w *gate) check(m *codec.Message, p codec.Protocol) *codec.Error {
	if w.limiter != nil {
		if err := w.limiter.Check(w.host.Now()); err != nil {
			return &codec.Error{Name: NameRateLimited, Message: err.Error()}
		}
	}
	if w.grants != nil {
		if err := w.grants.Check(m.Method); err != nil {
			return &codec.Error{Name: NamePermissionDenied, Message: err.Error()}
		}
	}
	if w.paths != nil {
		if err := w.within(m, p); err != nil {
			return &codec.Error{Name: NamePathDenied, Message: fmt.Sprintf("%.64q: %v", m.Method, err)}
		}
	}
	return nil
}

// within looks at every path that the parameters name.
func (w *gate) within(m *codec.Message, p codec.Protocol) error {
	check := w.paths.CheckParams(m.Method, p.Defaults().URIObjects)
	if err := p.Walk(m.Params, check); err != nil {
		return fmt.Errorf("the paths in its parameters cannot be seen: %w", err)
	}
	return check.Err()
}
