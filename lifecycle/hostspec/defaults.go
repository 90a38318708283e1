package hostspec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// WithDefaults returns the spec with zero fields replaced by the defaults that
// the fields' comments name.
func (s Spec) WithDefaults() Spec {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&s.Start.Timeout, 60*time.Second)
	if s.Start.OnTimeout == "" {
		s.Start.OnTimeout = TimeoutCrash
	}
	def := lifecycle.DefaultRestart()
	r := &s.Restart
	if r.Policy == "" {
		r.Policy = def.Policy
	}
	if r.MaxCrashes == 0 {
		r.MaxCrashes = def.MaxCrashes
	}
	set(&r.Window, def.Window)
	if r.Backoff == (lifecycle.Backoff{}) {
		r.Backoff = def.Backoff
	}
	set(&r.Backoff.Initial, def.Backoff.Initial)
	set(&r.Backoff.Max, max(def.Backoff.Max, r.Backoff.Initial))
	set(&r.Backoff.Healthy, def.Backoff.Healthy)
	if r.Backoff.Multiplier == 0 {
		r.Backoff.Multiplier = def.Backoff.Multiplier
	}
	set(&s.Liveness.After, 3*time.Second)
	set(&s.Liveness.Ping, time.Second)
	if s.Protocol != nil && s.Liveness.KillAfter == 0 && s.Protocol.Defaults().NeverKill {
		s.Liveness.NeverKill = true
	}
	set(&s.Liveness.KillAfter, 30*time.Second)
	set(&s.Requests.Timeout, 30*time.Second)
	if s.Requests.MaxPending == 0 {
		s.Requests.MaxPending = 1024
	}
	if s.Requests.WhileDown == "" {
		s.Requests.WhileDown = FailFast
	}
	if s.Stop.Signal == 0 {
		s.Stop.Signal = syscall.SIGTERM
	}
	if s.Protocol != nil {
		set(&s.Stop.Grace, s.Protocol.Defaults().Grace)
	}
	set(&s.Stop.Grace, 5*time.Second)
	if s.Observe == "" {
		s.Observe = ObserveAuto
	}
	if s.Log.MaxSize == 0 {
		s.Log.MaxSize = 16 << 20
	}
	if s.Log.Files == 0 {
		s.Log.Files = 4
	}
	if s.Protocol != nil {
		s.Limits = s.Limits.WithDefaults()
	}
	return s
}

// nameRule is what names of hosts and groups look like: they become parts of
// addresses and file names.
var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })

// ErrSpec is wrapped by everything that Validate finds.
var ErrSpec = errors.New("invalid specification")

// hostRule is that for hosts: the supervisor makes some by itself, whose names
// begin with that of another and a ~ or @.
var hostRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}([~@][A-Za-z0-9._-]{1,120})?$`)
})

// CheckName says what is wrong with the name of a host or group, if anything.
func CheckName(name string) error {
	if !nameRule().MatchString(name) {
		return fmt.Errorf("%w: name %q: expected a letter or digit, then letters, digits, '.', '_' or '-', at most 63 in all", ErrSpec, name)
	}
	return nil
}

// Validate says everything that is wrong with a spec that has its defaults.
// The error joins errors that wrap [ErrSpec].
func (s Spec) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: host %q: %s: %w", ErrSpec, s.Name, field, fmt.Errorf(format, args...)))
	}
	if !hostRule().MatchString(s.Name) {
		errs = append(errs, CheckName(s.Name))
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		bad("command", "expected a program and its arguments")
	}
	if slices.ContainsFunc(s.Command, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		bad("command", "contains a NUL byte")
	}
	for k, v := range s.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			bad("env", "%q is not a name and value that an environment can hold", k)
		}
	}
	switch s.Transport {
	case "", TransportFD, TransportStdio, TransportUnix:
	default:
		bad("transport", "%q is unknown; expected fd, stdio or unix", s.Transport)
	}
	if s.Protocol != nil && s.Init != nil {
		if _, err := s.Protocol.Marshal(s.Init); err != nil {
			bad("init", "cannot be sent: %v", err)
		}
	}
	if s.Protocol == nil && s.Transport != "" {
		bad("transport", "a host without a protocol has none")
	}
	if can := s.Features(); can.Rendezvous != nil {
		if s.Transport != "" {
			bad("transport", "protocol %s has a way of its own to meet its hosts", s.Protocol.Name())
		}
		if s.Sandbox != nil && !can.Inherits {
			bad("sandbox", "a confined host cannot reach the sockets of protocol %s", s.Protocol.Name())
		}
	}
	r := s.Restart
	switch r.Policy {
	case lifecycle.OnCrash, lifecycle.Always, lifecycle.Never:
	default:
		bad("restart policy", "%q is unknown; expected on_crash, always or never", r.Policy)
	}
	if s.Job && r.Policy == lifecycle.Always {
		bad("restart policy", "a job runs to its end; expected on_crash or never")
	}
	if s.Job && s.Start.WhenHealthy {
		bad("healthy", "a job is done when it has ended; it is not checked")
	}
	if r.MaxCrashes < 1 {
		bad("max_crashes", "%d; expected at least 1", r.MaxCrashes)
	}
	if b := r.Backoff; b.Multiplier < 1 || b.Jitter < 0 || b.Jitter > 1 || b.Max < b.Initial {
		bad("backoff", "expected multiplier ≥ 1, jitter between 0 and 1, max ≥ initial")
	}
	for field, d := range map[string]time.Duration{
		"start timeout": s.Start.Timeout, "window": r.Window, "backoff initial": r.Backoff.Initial, "retry_failed": r.RetryFailed,
		"unresponsive after": s.Liveness.After, "unresponsive kill_after": s.Liveness.KillAfter, "unresponsive ping": s.Liveness.Ping,
		"requests timeout": s.Requests.Timeout, "idle_timeout": s.Requests.IdleTimeout, "stop grace": s.Stop.Grace, "stop drain": s.Stop.Drain,
		"log rotate_every": s.Log.RotateEvery, "log max_age": s.Log.MaxAge,
	} {
		if d < 0 {
			bad(field, "%s is negative", d)
		}
	}
	if s.Requests.MaxPending < 1 {
		bad("max_pending", "%d; expected at least 1", s.Requests.MaxPending)
	}
	if s.Requests.WhileDown != FailFast && s.Requests.WhileDown != Queue {
		bad("while_down", "%q is unknown; expected fail or queue", s.Requests.WhileDown)
	}
	if s.Start.OnTimeout != TimeoutCrash && s.Start.OnTimeout != TimeoutWait {
		bad("on_timeout", "%q is unknown; expected crash or wait", s.Start.OnTimeout)
	}
	if s.Stop.Signal < 1 || s.Stop.Signal > 64 {
		bad("stop signal", "%d is no signal", int(s.Stop.Signal))
	}
	switch s.Observe {
	case "", ObserveAuto, ObserveAlways, ObserveNever:
	default:
		bad("observe", "%q is unknown; expected auto, always or never", s.Observe)
	}
	if s.Sandbox != nil && s.Transport == TransportUnix {
		bad("transport", "a confined host cannot reach the supervisor's socket; expected fd or stdio")
	}
	for _, e := range policy.Errors(s.Sandbox.Validate(s.Resources)) {
		bad("sandbox", "%w", e)
	}
	return errors.Join(errs...)
}
