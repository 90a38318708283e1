package activation

import (
	"errors"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// State is the state of an extension.
type State string

// The states of an extension.
const (
	Inactive   State = "inactive"
	Activating State = "activating" // waits for its host or its dependencies, or is being activated
	Active     State = "active"
	Broken     State = "failed"
	Removed    State = "removed" // only as the target of a change
)

// Causes of an [Error]; test with errors.Is.
var (
	ErrFailed     = errors.New("activation failed")
	ErrMissing    = errors.New("unknown dependency")
	ErrDependency = errors.New("dependency failed")
	ErrNoHost     = errors.New("runs in no host")
	ErrHostDown   = errors.New("host is down")
	ErrUnknown    = errors.New("no such extension")
	ErrLoop       = errors.New("needs itself")
	ErrRefused    = errors.New("refused") // it is not among the installed extensions; see package extensions
	ErrNotBegun   = errors.New("its host did not begin to activate it")
	ErrActivating = errors.New("still being activated") // only of a bounded [Request]
)

// Error is why an extension is not active.
type Error struct {
	ID     extensions.ID // "" while no extension is known, because the host did not start
	Cause  error         // one of the sentinels
	On     extensions.ID // the dependency, for ErrMissing and ErrDependency
	Detail string        // from the host; for ErrHostDown its name, and after ": " why, if that is known
}

// DownHost returns the name of the host of an ErrHostDown, and why it is down, "" if that is not known.
// The name is "" for other errors.
func (e *Error) DownHost() (name, cause string) {
	if !errors.Is(e.Cause, ErrHostDown) {
		return "", ""
	}
	name, cause, _ = strings.Cut(e.Detail, ": ")
	return name, cause
}

func (e *Error) Error() string {
	text := e.Cause.Error()
	if e.ID != "" {
		text = string(e.ID) + ": " + text
	}
	if e.On != "" {
		text += " " + string(e.On)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Status is the state of an extension with its details.
type Status struct {
	ID     extensions.ID
	Host   string // "" if it runs in no host
	State  State
	Since  time.Time
	Asked  bool // the host was asked to activate it, in this life
	Reason Reason
	Times  Times           // if it is active
	Err    *Error          // if it has failed
	Waits  []extensions.ID // the dependencies that it waits for, while it is activating
}

// HostSpec describes a host to the machine.
type HostSpec struct {
	Name  string
	Eager bool // started at Boot, not at the first event
	// Own means that the host itself does the startup of its extensions: "*",
	// workspaceContains and onStartupFinished start the host but are not sent to it.
	Own bool
	// Tells means that the host announces its extensions when it is up. A request
	// waits for a first start in progress, and fails if that start fails.
	Tells bool
}

// Rules of a machine. The zero value is usable.
type Rules struct {
	// Startup is the longest time that onStartupFinished waits; default 10 s. For
	// hosts that do the startup themselves, a request of an event of the startup
	// fails twice that time after the host is up. See also Bounded of [Request].
	Startup time.Duration
	// MaxEvents is how many events without an extension are remembered for later
	// extensions; default 4096. Events with an extension always are.
	MaxEvents int
	Hosts     []HostSpec // other hosts have the zero HostSpec
}
