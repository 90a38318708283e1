package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Probe is a check of a kind that this package does not know, as httpcheck.Get is. Probes
// of the same type are compared as values.
type Probe interface {
	fmt.Stringer // what is checked: "http http://127.0.0.1:8080/healthz"
	// Validate returns what is wrong with the probe, if anything.
	Validate() error
	// Probe makes one check and returns why the host is not healthy. It must return when
	// ctx ends.
	Probe(ctx context.Context) error
}

// Rule says how a host is checked. Exactly one of Exec, Probe, TCP and Call must be set. A
// rule is a feature of a host, see supervisor.Feature.
type Rule struct {
	// Exec is a program and its arguments. The host is healthy if it ends with status 0.
	// It runs as the host's own process does, in a sandbox of its own under the same
	// policy, and is killed with its process tree at the end of Timeout.
	Exec []string
	// Probe is any other check, such as httpcheck.Get.
	Probe Probe
	// TCP is an address, such as "127.0.0.1:8080". The host is healthy if it accepts a
	// connection.
	TCP string
	// Call is a method, called without parameters. The host is healthy if it returns a
	// result.
	Call string

	Interval  time.Duration // from the end of a check to the next one; default 10 s
	Timeout   time.Duration // of a check; default 2 s
	Threshold int           // checks in a row that fail until the host is unresponsive; default 3
	// StartPeriod is the time from the start of a life in which checks that fail do not
	// count, until the first one succeeds; default 0.
	StartPeriod time.Duration
}

// The defaults of a [Rule].
const (
	defaultInterval  = 10 * time.Second
	defaultTimeout   = 2 * time.Second
	defaultThreshold = 3
)

// WithDefaults returns the rule with zero fields replaced by the defaults that the fields'
// comments name.
func (r Rule) WithDefaults() Rule {
	r.Interval = cmp.Or(r.Interval, defaultInterval)
	r.Timeout = cmp.Or(r.Timeout, defaultTimeout)
	r.Threshold = cmp.Or(r.Threshold, defaultThreshold)
	return r
}

// String returns what is checked, such as "tcp 127.0.0.1:8080".
func (r Rule) String() string {
	switch {
	case len(r.Exec) > 0:
		return "exec " + r.Exec[0]
	case r.Probe != nil:
		return r.Probe.String()
	case r.TCP != "":
		return "tcp " + r.TCP
	}
	return "call " + r.Call
}

// kinds returns the names of the checks that are set.
func (r Rule) kinds() (out []string) {
	for _, k := range []struct {
		name string
		set  bool
	}{{"exec", len(r.Exec) > 0}, {"probe", r.Probe != nil}, {"tcp", r.TCP != ""}, {"call", r.Call != ""}} {
		if k.set {
			out = append(out, k.name)
		}
	}
	return out
}

// CheckAddress returns what is wrong with the address of a TCP check.
func CheckAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return errors.New("expected HOST:PORT")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return nil
}

// Setting implements supervisor.Feature.
func (Rule) Setting() string { return "healthy" }

// Gate implements supervisor.Gate: a host without a protocol is running once a check has
// succeeded.
func (Rule) Gate() {}

// Interceptor implements supervisor.Feature.
func (r Rule) Interceptor(host *actors.Ref) *actors.Interceptor { return New(host, r.WithDefaults()) }

// Validate returns what is wrong with a rule of a host that speaks p (nil: no protocol).
func (r Rule) Validate(p codec.Protocol) error {
	r = r.WithDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if kinds := r.kinds(); len(kinds) != 1 {
		bad("expected exactly one of exec, probe, tcp and call; it has %s", cmp.Or(strings.Join(kinds, ", "), "none"))
	}
	if len(r.Exec) > 0 && r.Exec[0] == "" {
		bad("exec: expected a program and its arguments")
	}
	if r.Probe != nil {
		if err := r.Probe.Validate(); err != nil {
			bad("%s: %w", r.Probe, err)
		}
	}
	if r.TCP != "" {
		if err := CheckAddress(r.TCP); err != nil {
			bad("tcp %q: %w", r.TCP, err)
		}
	}
	if r.Call != "" && p == nil {
		bad("call: a host without a protocol cannot be called")
	}
	for name, d := range map[string]time.Duration{"interval": r.Interval, "timeout": r.Timeout, "start_period": r.StartPeriod} {
		if d < 0 {
			bad("%s %s is negative", name, d)
		}
	}
	if r.Threshold < 1 {
		bad("threshold %d; expected at least 1", r.Threshold)
	}
	return errors.Join(errs...)
}
