package activation

import (
	"errors"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// State is the state of an extension.
type State string

// The states of an extension.
const (
	Inactive   State = "inactive"
	Activating State = "activating" // waits for its host or what it needs, or is being activated
	Active     State = "active"
	Broken     State = "failed"
	Removed    State = "removed" // only as the end of a change
)

// Why an extension is not active; test with errors.Is. [Error] says more.
var (
	ErrFailed     = errors.New("activation failed")
	ErrMissing    = errors.New("unknown dependency")
	ErrDependency = errors.New("dependency failed")
	ErrNoHost     = errors.New("runs in no host")
	ErrHostDown   = errors.New("host is down")
	ErrUnknown    = errors.New("no such extension")
	ErrLoop       = errors.New("needs itself")
	ErrNotBegun   = errors.New("its host did not begin to activate it")
)

// Error says why an extension is not active.
type Error struct {
	ID     extensions.ID // "" while no extension is known, because the host did not start
	Cause  error         // one of the sentinels
	On     extensions.ID // ErrMissing, ErrDependency: which one
	Detail string        // what the host said
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

// Status is what is known of an extension.
type Status struct {
	ID     extensions.ID
	Host   string // "": none
	State  State
	Since  time.Time
	Asked  bool // the host was asked to activate it, in this life
	Reason Reason
	Times  Times           // when it is active
	Err    *Error          // when it has failed
	Waits  []extensions.ID // what it still needs, while it is activating
}

// HostSpec is what the machine has to know of a host.
type HostSpec struct {
	Name  string
	Eager bool // started at Boot, and not at the first event
	// Own says that the host does the startup of its extensions by itself: "*",
	// workspaceContains and onStartupFinished start it and are not said to it.
	Own bool
	// Tells says that the host itself tells which extensions live in it, when it
	// is up. A request waits for the first start, where that is under way, and
	// fails where that has failed.
	Tells bool
}

// Rules of a machine. The zero value is usable.
type Rules struct {
	// Startup is the time after which onStartupFinished does not wait any longer;
	// default 10 s. Hosts that do the startup by themselves have twice that from
	// the time when they are up until a request of an event of the startup fails.
	Startup time.Duration
	// MaxEvents is how many events that no extension wants yet are remembered for
	// extensions that come later; default 4096. Others always are.
	MaxEvents int
	Hosts     []HostSpec // those that are not named are neither eager nor start by themselves
}
