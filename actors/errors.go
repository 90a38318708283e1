package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	ErrCutOff       = fmt.Errorf("call was cut off: %w", ErrStopped)     // it was under way at a stop, and not answered in StopRule.Drain
	ErrNoRoom       = errors.New("there is no room for another process") // of Interceptor.Starting: the start is tried again, and is no crash
	ErrNoSuchMethod = errors.New("no such method")
	ErrNoProtocol   = errors.New("host speaks no protocol")
	ErrReserved     = errors.New("the method is reserved for the supervisor, which opens and ends the connection by it")
	ErrUnsendable   = errors.New("the host's protocol cannot carry the message")
	ErrNoHost       = errors.New("no such host")
	ErrNameTaken    = errors.New("name is taken")
	ErrClosed       = errors.New("supervisor is stopped")
)

// What a HostError wraps when the host is there no more.
var (
	errRemoved = &stoppedFor{"host was removed", ErrNoHost}
	errEnded   = &stoppedFor{"supervisor is stopping or has stopped", ErrClosed}
)

// stoppedFor is ErrStopped and why it is so.
type stoppedFor struct {
	text string
	why  error
}

func (e *stoppedFor) Error() string   { return e.text }
func (e *stoppedFor) Unwrap() []error { return []error{ErrStopped, e.why} }

// HostError tells that a host could not take or finish a call because of the
// state it was in. It wraps one of ErrCrashed, ErrUnresponsive, ErrStopped,
// ErrCutOff (which is ErrStopped, too) and ErrFailed. The ErrStopped of a host
// that was removed is also ErrNoHost, and that of a host whose supervisor is
// stopping or has stopped is also ErrClosed.
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
// It wraps one of ErrTimeout, ErrCancelled, ErrOverloaded, ErrNoSuchMethod,
// ErrNoProtocol, ErrReserved and ErrUnsendable. A timed-out one is also context.DeadlineExceeded, a cancelled
// one also context.Canceled.
type CallError struct {
	Host   string
	Method string
	Err    error
	Detail string
	Cause  error // ErrNoSuchMethod: the host's *codec.Error; ErrUnsendable: the *codec.FrameError; else nil
}

// Error returns `call sleep of host "ts": timed out after 5s`.
func (e *CallError) Error() string {
	method := e.Method
	if len(method) > shownMethod {
		method = strings.ToValidUTF8(method[:shownMethod], "") + "…"
	}
	text := fmt.Sprintf("call %s of host %q: %v", method, e.Host, e.Err)
	if e.Detail != "" {
		text += " " + e.Detail
	}
	return text
}

// shownMethod is how many bytes of a method's name an error shows.
const shownMethod = 128

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

// unsendable is the error for a message that the wire cannot carry; any other err
// is returned as it is.
func (r *Ref) unsendable(method string, err error) error {
	var frame *codec.FrameError
	if !errors.As(err, &frame) {
		return err
	}
	return &CallError{Host: r.spec().Name, Method: method, Err: ErrUnsendable, Detail: "(" + frame.Error() + ")", Cause: frame}
}

// reserved returns the error for a method that callers must not send, or nil.
func (r *Ref) reserved(method string) error {
	if r.spec().can.Reserved != nil && r.spec().can.Reserved(method) {
		return &CallError{Host: r.spec().Name, Method: method, Err: ErrReserved, Detail: "(stop or restart the host instead)"}
	}
	return nil
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
