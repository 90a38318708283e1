package activation

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Reason is why an extension is activated. It encodes as the protocol of VS Code's
// host expects.
type Reason struct {
	Startup bool          // because of the start of the editor, not of an action in it
	ID      extensions.ID // the extension that declares the event: a dependent, for a dependency
	Event   string        // "api" if the extension was requested by its id
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
	ActivateResolved time.Duration // until the promise that it returned was settled
}

// Event is an input of the machine; the types below implement it.
type Event interface{ event() }

// Boot begins the startup. Requests before it do not wait for it.
type Boot struct{}

// Installed lists the extensions and the host of each; an extension that is not in
// Where runs in no host. It must come before Boot, and whenever either changes.
type Installed struct {
	List  []extensions.Extension
	Where map[extensions.ID]string
}

// Request requests an activation event, like "onCommand:hello.greet". When all
// extensions that declare it are active or have failed, Settled follows with the
// same tag; a tag of 0 gets no answer. "onLanguage:x" requests "onLanguage" too. An
// event of the startup waits for starting hosts that do the startup themselves.
type Request struct {
	Event string
	Tag   uint64
	// Bounded means that Settled follows six times [Rules].Startup after the request at the latest for
	// extensions that are still being activated, or that long after their host was asked, if that is
	// later: they have the error [ErrActivating]. Their activation goes on.
	Bounded bool
}

// RequestExtension requests one extension. From is the extension that needs it, or "".
type RequestExtension struct {
	ID   extensions.ID
	From extensions.ID
	Tag  uint64
}

// HostUp reports that a life of a host accepts activations.
type HostUp struct {
	Host string
	Life uint64
}

// Next is what follows the end of a host's life.
type Next string

// The values of Next.
const (
	NextIdle    Next = "idle"    // the host stays down until an event concerns it
	NextRestart Next = "restart" // another life is starting
	NextNever   Next = "never"   // the host has failed, until a person starts it
)

// HostDown reports that a life has ended, or that a start has failed.
type HostDown struct {
	Host  string
	Next  Next
	Cause string
}

// Began reports that a host activates an extension. Reason is used only if the
// machine did not ask for it, and may be empty if only Done has it.
type Began struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Reason Reason
}

// Done reports that an extension is active.
type Done struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Times  Times
	Reason Reason // as in Began
}

// Failed reports that an extension could not be activated.
type Failed struct {
	Host    string
	Life    uint64
	ID      extensions.ID
	Cause   string
	Missing extensions.ID // the unknown dependency, if that is the cause
}

// Found answers a Search with the event that matched; "" if none did.
type Found struct {
	ID    extensions.ID
	Event string
}

// Fired reports that the timer set by [SetTimer] has expired.
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

// Effect is an instruction for the caller; the types below implement it.
type Effect interface{ effect() }

// StartHost starts an idle host.
type StartHost struct {
	Host string
	Why  string
}

// Activate makes a host activate an extension, whose dependencies are all active. A
// host that has reported Failed for the extension in this life, because a dependency was
// missing, may have to be restarted.
type Activate struct {
	Host   string
	Life   uint64
	ID     extensions.ID
	Reason Reason
}

// Deactivate makes a host end an extension that no longer belongs to it. A host that
// cannot do so must be restarted.
type Deactivate struct {
	Host string
	Life uint64
	ID   extensions.ID
}

// Changed reports that the state of an extension has changed.
type Changed struct {
	ID       extensions.ID
	Host     string
	From, To State
	Why      string
}

// Settled answers a Request. Errs has the extensions that are not active now, in the
// order of the registry.
type Settled struct {
	Tag  uint64
	Errs []*Error
}

// Search makes the caller search the workspace (see package workspace); Found answers.
type Search struct {
	ID     extensions.ID
	Events []string // all of them begin with workspaceContains:
}

// SetTimer and CancelTimer control the one timer of the machine.
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
