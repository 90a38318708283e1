package actors

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/guard"
)

// GuardRule says what a host may ask for, and what may be started as the host.
// The zero value allows everything; see package intercept/guard for what the parts mean.
type GuardRule struct {
	Permissions []string    // names of those that are granted; nil: no request takes one
	RateLimit   *guard.Rate // of its requests; nil: none
	Roots       []string    // folders in which the paths of its requests have to lie; nil: anywhere
	SHA256      []string    // checksums, one of which the executable has to have before each start; nil: any
}

// Names of errors by which a host's requests are refused.
const (
	NamePermissionDenied = "PermissionDenied" // the message names the permission
	NameRateLimited      = "RateLimited"
	NamePathDenied       = "PathDenied"
)

// warden enforces the rule of one host.
type warden struct {
	grants  *guard.Grants
	limiter *guard.Limiter
	paths   *guard.PathRules
}

// newWarden makes what a rule that was validated needs; nil for one that
// allows everything.
func newWarden(rule GuardRule) *warden {
	if rule.Permissions == nil && rule.RateLimit == nil && rule.Roots == nil {
		return nil
	}
	w := &warden{}
	if rule.Permissions != nil {
		g, _ := guard.ParseGrants(rule.Permissions, nil) // Validate has seen the names; of others nothing is granted
		w.grants = &g
	}
	if rule.RateLimit != nil {
		w.limiter = guard.NewLimiter(*rule.RateLimit)
	}
	if rule.Roots != nil {
		if w.paths, _ = guard.NewPathRules(rule.Roots); w.paths == nil {
			w.paths = &guard.PathRules{} // roots that are gone hold no path
		}
	}
	return w
}

func (r GuardRule) validate(p codec.Protocol, bad func(field, format string, args ...any)) {
	if p == nil && (r.Permissions != nil || r.RateLimit != nil || r.Roots != nil) {
		bad("guard", "a host without a protocol asks nothing")
	}
	if _, err := guard.ParseGrants(r.Permissions, nil); err != nil {
		bad("permissions", "%w", err)
	}
	if r.Roots != nil {
		if _, err := guard.NewPathRules(r.Roots); err != nil {
			bad("roots", "%w", err)
		}
	}
	for _, d := range r.SHA256 {
		if err := guard.CheckDigest(d); err != nil {
			bad("sha256", "%w", err)
		}
	}
}

// check returns why a request of the host is refused, or nil.
func (w *warden) check(m *codec.Message, p codec.Protocol) *codec.Error {
	if w == nil {
		return nil
	}
	if w.limiter != nil {
		if err := w.limiter.Check(time.Now()); err != nil {
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
func (w *warden) within(m *codec.Message, p codec.Protocol) error {
	check := w.paths.CheckParams(m.Method, p.Defaults().URIObjects)
	if err := p.Walk(m.Params, check); err != nil {
		return fmt.Errorf("the paths in its parameters cannot be seen: %w", err)
	}
	return check.Err()
}

// verify looks at the executable that is about to be started.
func (r GuardRule) verify(path string) error {
	if r.SHA256 == nil {
		return nil
	}
	return guard.Verify(path, r.SHA256)
}
