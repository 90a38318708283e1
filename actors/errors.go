package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
)

// What a call or a verb can end with, besides the host's own *[codec.Error].
// Test with errors.Is; the typed errors below carry the evidence.
var (
	ErrCrashed      = errors.New("host crashed")
	ErrUnresponsive = errors.New("host was killed for being unresponsive")
	ErrTimeout      = errors.New("timed out")
	ErrCancelled    = errors.New("cancelled")
	ErrOverloaded   = errors.New("too many requests pending")
	ErrStopped      = errors.New("host is stopped")
	ErrFailed       = errors.New("host has failed")
	ErrCutOff       = fmt.Errorf("call was cut off: %w", ErrStopped) // it was under way at a stop, and not answered in StopRule.Drain
	ErrNoSuchMethod = errors.New("no such method")
	ErrNoProtocol   = errors.New("host speaks no protocol")
	ErrNoHost       = errors.New("no such host")
	ErrNameTaken    = errors.New("name is taken")
	ErrClosed       = errors.New("supervisor is stopped")
)

// HostError tells that a host could not take or finish a call because of the
// state it was in. It wraps one of ErrCrashed, ErrUnresponsive, ErrStopped,
// ErrCutOff (which is ErrStopped, too) and ErrFailed.
type HostError struct {
	Host   string
	Life   uint64 // the life the call went to; 0 when it went to none
	Err    error
	Reason string                // why: "exit 3", "killed by SIGKILL"
	Exit   *lifecycle.ExitStatus // how the process ended; nil when it did not, or is not known
}

// Error returns `host "ts": host crashed: killed by SIGKILL`.
func (e *HostError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("host %q: %v", e.Host, e.Err)
	}
	return fmt.Sprintf("host %q: %v: %s", e.Host, e.Err, e.Reason)
}

// Unwrap returns the sentinel.
func (e *HostError) Unwrap() error { return e.Err }

// CallError tells what became of one call that the host is not to blame for.
// It wraps one of ErrTimeout, ErrCancelled, ErrOverloaded, ErrNoSuchMethod and
// ErrNoProtocol. A timed-out one is also context.DeadlineExceeded, a cancelled
// one also context.Canceled.
type CallError struct {
	Host   string
	Method string
	Err    error
	Detail string
	Cause  *codec.Error // ErrNoSuchMethod: what the host answered
}

// Error returns `call sleep of host "ts": timed out after 5s`.
func (e *CallError) Error() string {
	text := fmt.Sprintf("call %s of host %q: %v", e.Method, e.Host, e.Err)
	if e.Detail != "" {
		text += " " + e.Detail
	}
	return text
}

// Unwrap returns the sentinel and what it stands for elsewhere.
func (e *CallError) Unwrap() []error {
	out := []error{e.Err}
	switch {
	case errors.Is(e.Err, ErrTimeout):
		out = append(out, context.DeadlineExceeded)
	case errors.Is(e.Err, ErrCancelled):
		out = append(out, context.Canceled)
	}
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	return out
}

// StateError tells that a verb did not get a host where it should be.
type StateError struct {
	Host   string
	Want   lifecycle.State
	State  lifecycle.State // where it is instead
	Reason string
}

// Error returns `host "ts" is failed, not running: exit 3`.
func (e *StateError) Error() string {
	text := fmt.Sprintf("host %q is %s, not %s", e.Host, e.State, e.Want)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is says that a StateError about a failed or stopped host is ErrFailed or ErrStopped.
func (e *StateError) Is(target error) bool {
	switch target {
	case ErrFailed:
		return e.State == lifecycle.Failed
	case ErrStopped:
		return e.State == lifecycle.Stopped || e.State == lifecycle.Stopping
	case ErrCrashed:
		return e.State == lifecycle.Crashed || e.State == lifecycle.Restarting
	}
	return false
}
