package survive

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// Rule is the feature of a host that outlives its supervisor. It needs Linux, a tree with a state
// folder and a [Part], transport stdio or no protocol, and a host that is
// not confined; otherwise the host does not start, and the reason is an [ErrUnfit].
type Rule struct{ on machine }

var _ supervisor.Feature = Rule{}

// ErrUnfit means that a host cannot outlive its supervisor as it is configured. The message names
// the reason.
var ErrUnfit = errors.New("the host cannot survive its supervisor")

// name is that of the feature and of its interceptor.
const name = "survive"

// Setting implements supervisor.Feature.
func (Rule) Setting() string { return name }

// Validate implements supervisor.Feature.
func (Rule) Validate(p codec.Protocol) error {
	if !supported {
		return fmt.Errorf("%w: it needs Linux, and this is %s", ErrUnfit, runtime.GOOS)
	}
	if p == nil {
		return nil
	}
	if framings[p.Name()] != nil {
		return nil
	}
	return fmt.Errorf("%w: the connection in protocol %q is one to sockets of the supervisor", ErrUnfit, p.Name())
}

// Fit returns what is wrong with a host that has the feature: an error that wraps ErrUnfit, and the
// name of the setting that is to be changed.
func Fit(s *hostspec.Spec) (setting string, err error) {
	if err := (Rule{}).Validate(s.Protocol); err != nil {
		return "protocol", err
	}
	unfit := func(setting, format string, args ...any) (string, error) {
		return setting, fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, args...))
	}
	switch t := s.TransportInForce(); {
	case s.Protocol != nil && t != hostspec.TransportStdio:
		return unfit("transport", "transport %q ends with the supervisor; expected \"stdio\"", t)
	case s.Sandbox != nil:
		return unfit("sandbox", "a confined host is not in this version")
	case s.Job:
		return unfit("kind", "a job runs to its end")
	}
	return "", nil
}

// Interceptor implements supervisor.Feature.
func (r Rule) Interceptor(ref *actors.Ref) *actors.Interceptor {
	h := hostOf(ref)
	if h == nil {
		h = newHost(ref, r.on)
	}
	// Before hooks, which must know whether the process is taken back.
	return &actors.Interceptor{
		Name: name, Stage: actors.StageAdmit, Value: h, Starting: h.starting, Begin: h.begin, Changed: h.transition, Reset: h.changed, Closed: h.closed,
	}
}

// hostOf returns what keeps the lives of a host; nil without the feature.
func hostOf(ref *actors.Ref) *host {
	h, _ := ref.Interceptor(name).(*host)
	return h
}
