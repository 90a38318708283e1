package control

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
)

// Error is an error on the wire. Class and Message are always set; the other fields
// are evidence that some classes have. On the client's side errors.Is answers as for
// the supervisor's own error, and errors.As finds a *[codec.Error] (its Data is
// JSON), an *[actors.StateError] and an *[actors.HostError] if the original wrapped
// one.
type Error struct {
	Class   Class  `json:"class"`
	Message string `json:"message"`

	Host   string   `json:"host,omitempty"`
	Method string   `json:"method,omitempty"`
	Hosts  []string `json:"hosts,omitempty"` // NoSuchHost: the existing names

	// NoSuchExtension: the requested id, and the existing ones.
	Extension  string   `json:"extension,omitempty"`
	Extensions []string `json:"extensions,omitempty"`

	// The state of the host, for calls and operations that it did not allow.
	Life   uint64          `json:"life,omitempty"`
	State  lifecycle.State `json:"state,omitempty"`
	Want   lifecycle.State `json:"want,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Exit   *Exit           `json:"exit,omitempty"`

	// InvalidConfig: what is wrong, as hostsup validate prints it.
	Diagnostics string `json:"diagnostics,omitempty"`

	// The host's error response: HostError and NoSuchMethod. Message is then the host's own.
	Name  string          `json:"name,omitempty"`
	Code  int64           `json:"code,omitempty"`
	Stack string          `json:"stack,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Cause *Cause          `json:"cause,omitempty"`
}

// Exit is how a process ended: a code, or a signal's number when that is not 0.
type Exit struct {
	Code   int `json:"code"`
	Signal int `json:"signal,omitempty"`
}

// Cause is the cause of a host's error.
type Cause struct {
	Name    string          `json:"name,omitempty"`
	Message string          `json:"message,omitempty"`
	Code    int64           `json:"code,omitempty"`
	Stack   string          `json:"stack,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Cause   *Cause          `json:"cause,omitempty"`
}

// Error returns the message, or "Name: Message" for a host's own error. It does not
// include the class.
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Message
	}
	if e.Message == "" {
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// Is reports whether target is the supervisor's error that e stands for.
func (e *Error) Is(target error) bool {
	switch {
	case e.Class == TimedOut && target == context.DeadlineExceeded,
		e.Class == Cancelled && target == context.Canceled:
		return true
	}
	s := e.Class.sentinel()
	return s != nil && target == s
}

// As rebuilds the supervisor's typed errors.
func (e *Error) As(target any) bool {
	switch t := target.(type) {
	case **codec.Error:
		if e.Class != HostError && e.Name == "" {
			return false
		}
		*t = e.peer()
	case **actors.StateError:
		if e.Want == "" {
			return false
		}
		*t = &actors.StateError{Host: e.Host, Want: e.Want, State: e.State, Reason: e.Reason}
	case **actors.HostError:
		switch e.Class {
		case Crashed, Unresponsive, Stopped, Failed:
		default:
			return false
		}
		if e.Want != "" {
			return false
		}
		h := &actors.HostError{Host: e.Host, Life: e.Life, Err: e.Class.sentinel(), Reason: e.Reason}
		if e.Exit != nil {
			h.Exit = &lifecycle.ExitStatus{Code: e.Exit.Code, Signal: e.Exit.Signal}
		}
		*t = h
	default:
		return false
	}
	return true
}

func (e *Error) peer() *codec.Error {
	out := &codec.Error{Name: e.Name, Message: e.Message, Code: e.Code, Stack: e.Stack, Data: codec.Raw(e.Data)}
	at := out
	for c := e.Cause; c != nil; c = c.Cause {
		at.Cause = &codec.Error{Name: c.Name, Message: c.Message, Code: c.Code, Stack: c.Stack, Data: codec.Raw(c.Data)}
		at = at.Cause
	}
	return out
}
