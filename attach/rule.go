package attach

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// Rule says how the clients of a host share it. It is a feature of a host, see
// supervisor.Live: a change holds from the next request of the host, or change of its state, on.
type Rule struct {
	// Isolate has no client asked what another one's call may have caused. A request
	// of the host that cannot be attributed to one client is refused, once a second
	// client has been attached in the life that makes it. It can be attributed if
	// exactly one client has a call open, or if the request names the task that the
	// host has made of a client's call. Calls that no client makes, such as those of
	// hostsup call, are not counted. Notifications of the host go to all clients.
	Isolate bool

	// Silent has clients not told that the host has crashed, was given up or is back, or
	// that its start takes long. Otherwise a language server's clients get
	// window/showMessage, and those of an MCP server log messages, if it has the capability
	// logging and speaks a revision up to 2025-11-25: of one crash in a minute, and of the
	// rest by their number.
	Silent bool

	// IdleStop is how long the host runs without a client before it is stopped, counted from its
	// start or from when the last client has left; default 0: for ever. The next client, or
	// a call, starts it again. A call that is open keeps it running for another IdleStop, and
	// so does a host that depends on it and runs. An instance for programs of the other
	// generation of MCP goes after that time, or after 10 minutes.
	IdleStop time.Duration

	// Instances gives programs instances of the host, which does not run itself then: hosts of
	// its group, named NAME@1 and so on, that are added when a program needs one, and removed
	// when none has been attached for IdleStop, with PerClient when their program leaves.
	// Programs of an instance work in the same folders: those of a language client's
	// initialize, for others that of [WithDir]. See also [Root]. A change holds for programs
	// that attach after it, but from or to PerKey: then the instances are removed.
	//
	// With PerKey the host is a template, of any protocol, and instances are made for keys by
	// [Instance] and for programs that attach with [WithKey]. They are named NAME@KEY; a key
	// that is no such name is replaced by a text that is made from it. See also [Key] and [Var].
	Instances Sharing

	// Vars are the names of the values that an instance for a key is given, all of which its
	// callers must give; see [Instance]. Only a rule with PerKey has some.
	Vars []string

	// MaxInstances bounds the instances, also those for the other generation of MCP; default
	// [DefaultInstances]. For one more the instance goes that has been without programs for
	// the longest time; without such a one the program is refused with [ErrInstances].
	MaxInstances int
}

var _ supervisor.Live = Rule{}

// Setting implements [supervisor.Feature].
func (r Rule) Setting() string {
	if r.Instances == PerKey {
		return "template"
	}
	return "attach"
}

// Validate implements [supervisor.Feature].
func (r Rule) Validate(p codec.Protocol) error {
	switch {
	case r.IdleStop < 0:
		return fmt.Errorf("idle stop %s is negative", r.IdleStop)
	case r.MaxInstances < 0:
		return fmt.Errorf("%d instances", r.MaxInstances)
	case r.Instances == PerKey:
		return checkVars(r.Vars)
	case len(r.Vars) > 0:
		return fmt.Errorf("it has variables, and no instances for keys")
	case r.Instances != Shared && r.Instances != PerRoot && r.Instances != PerClient:
		return fmt.Errorf("instances %q is unknown", r.Instances)
	}
	if !Can(p) {
		name := "none"
		if p != nil {
			name = p.Name()
		}
		return fmt.Errorf("%w: %s", ErrProtocol, name)
	}
	return nil
}

// Interceptor implements [supervisor.Feature]. It stops a host that is idle. The rest of
// the rule is read by the [Hub], which is made when a program first attaches.
func (r Rule) Interceptor(host *actors.Ref) *actors.Interceptor {
	u := usageOf(host)
	if u == nil {
		u = newUsage(host)
	}
	u.set(r)
	return u.interceptor()
}

// Change implements [supervisor.Live].
func (r Rule) Change(host *actors.Ref) {
	u := usageOf(host)
	if u == nil {
		return
	}
	u.set(r)
	u.mu.Lock()
	i := u.instances
	u.mu.Unlock()
	if i != nil {
		i.do(i.sync)
	}
}

// RuleOf returns the rule of a host, the zero value if it has none.
func RuleOf(spec supervisor.HostSpec) Rule {
	for _, f := range spec.Features {
		if r, is := f.(Rule); is {
			return r
		}
	}
	return Rule{}
}
