package attach

import (
	"fmt"

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
}

var _ supervisor.Live = Rule{}

// Setting implements [supervisor.Feature].
func (Rule) Setting() string { return "attach" }

// Validate implements [supervisor.Feature].
func (Rule) Validate(p codec.Protocol) error {
	if !Can(p) {
		name := "none"
		if p != nil {
			name = p.Name()
		}
		return fmt.Errorf("%w: %s", ErrProtocol, name)
	}
	return nil
}

// Interceptor implements [supervisor.Feature]. It does nothing: the [Hub], which is made
// when a program first attaches, reads the rule.
func (Rule) Interceptor(*actors.Ref) *actors.Interceptor {
	return &actors.Interceptor{Name: "attach rule", Stage: actors.StageServe}
}

// Change implements [supervisor.Live].
func (Rule) Change(*actors.Ref) {}

// ruleOf returns the rule of a host, the zero value if it has none.
func ruleOf(spec supervisor.HostSpec) Rule {
	for _, f := range spec.Features {
		if r, is := f.(Rule); is {
			return r
		}
	}
	return Rule{}
}
