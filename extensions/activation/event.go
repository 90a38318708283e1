package activation

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Reason says why an extension is activated. It encodes as the protocol of VS
// Code's host has it.
type Reason struct {
	Startup bool          // the start of the editor, not something that was done in it
	ID      extensions.ID // whose event it was: another than the activated one for what that needs
	Event   string        // "api" for one that was asked for by its id
}

// MarshalJSON implements json.Marshaler.
func (r Reason) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Startup bool                  `json:"startup"`
		ID      extensions.Identifier `json:"extensionId"`
		Event   string                `json:"activationEvent"`
	}{r.Startup, extensions.Identifier{Value: string(r.ID), Lower: r.ID}, r.Event})
}

// Times is how long the steps of an activation took.
type Times struct {
	CodeLoading      time.Duration // reading the code
	ActivateCall     time.Duration // the synchronous part of activate
	ActivateResolved time.Duration // until what it returned was settled
}

// Event is what happened. The types below are all there are.
type Event interface{ event() }

// Boot begins the startup. What was requested before waits for nothing.
type Boot struct{}

// Installed tells which extensions there are, and in which host each runs; one
// that is missing in Where runs in none. It is sent before Boot, and whenever
// either changes.
type Installed struct {
	List  []extensions.Extension
	Where map[extensions.ID]string
}

// Request asks for an activation event, like "onCommand:hello.greet". When
// all who wanted it are active or have failed, Settled follows with the same
// tag; a tag of 0 is not answered. "onLanguage:x" requests "onLanguage", too. An
// event of the startup waits for hosts that do that by themselves and are starting.
type Request struct {
	Event string
	Tag   uint64
}

// RequestExtension asks for one extension. From is who asks: an extension that
// needs it, or "".
type RequestExtension struct {
	ID   extensions.ID
	From extensions.ID
	Tag  uint64
}

// HostUp tells that a life of a host takes activations.
type HostUp struct {
	Host string
	Life uint64
}

// Next says what follows the end of a host's life.
type Next string

// What can follow.
const (
	NextIdle    Next = "idle"    // it stays down until something concerns it
	NextRestart Next = "restart" // another life is on its way
	NextNever   Next = "never"   // it is given up, until somebody starts it
)

// HostDown tells that a life has ended, or that a start has failed.
type HostDown struct {
	Host  string
	Next  Next
	Cause string
}

// Began tells that a host activates an extension; Reason is only heard for
// one that was not asked of it, and may be empty where only Done tells it.
type Began struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Reason Reason
}

// Done tells that an extension is active.
type Done struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Times  Times
	Reason Reason // heard as that of Began
}

// Failed tells that an extension could not be activated.
type Failed struct {
	Host    string
	Life    uint64
	ID      extensions.ID
	Cause   string
	Missing extensions.ID // the dependency that is unknown, if that is the cause
}

// Found answers a Search: the event that matched, "" when none has.
type Found struct {
	ID    extensions.ID
	Event string
}

// Fired tells that the timer set by [SetTimer] has run out.
type Fired struct{}

func (Boot) event()             {}
func (Installed) event()        {}
func (Request) event()          {}
func (RequestExtension) event() {}
func (HostUp) event()           {}
func (HostDown) event()         {}
func (Began) event()            {}
func (Done) event()             {}
func (Failed) event()           {}
func (Found) event()            {}
func (Fired) event()            {}

// Effect is what the caller has to do. The types below are all there are.
type Effect interface{ effect() }

// StartHost asks for a host that is idle.
type StartHost struct {
	Host string
	Why  string
}

// Activate asks a host to activate an extension now; everything that it needs
// is active.
type Activate struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Reason Reason
}

// Deactivate asks a host to end an extension that it runs no longer. A host
// that cannot do so has to be restarted.
type Deactivate struct {
	Host string
	Life uint64
	ID   extensions.ID
}

// Changed tells that the state of an extension has changed.
type Changed struct {
	ID       extensions.ID
	Host     string
	From, To State
	Why      string
}

// Settled answers a Request. Errs tells of those that are not active now, in
// the order of the registry.
type Settled struct {
	Tag  uint64
	Errs []*Error
}

// Search asks for a look into the workspace (see package workspace); Found
// answers.
type Search struct {
	ID     extensions.ID
	Events []string // all of them begin with workspaceContains:
}

// SetTimer and CancelTimer run the one timer of the machine.
type (
	SetTimer    struct{ After time.Duration }
	CancelTimer struct{}
)

func (StartHost) effect()   {}
func (Activate) effect()    {}
func (Deactivate) effect()  {}
func (Changed) effect()     {}
func (Settled) effect()     {}
func (Search) effect()      {}
func (SetTimer) effect()    {}
func (CancelTimer) effect() {}
