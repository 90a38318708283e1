package record

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
)

// Event is one line of history: a state change of a host, or what happened to
// a group or the supervisor (Host is nil then).
type Event struct {
	Seq     uint64           `json:"seq"` // per supervisor, from 1, without gaps
	Time    time.Time        `json:"time"`
	Kind    string           `json:"kind"` // see the Kind constants
	Group   *string          `json:"group"`
	Host    *string          `json:"host"`
	Life    *uint64          `json:"life"`
	PID     *int             `json:"pid"`
	From    *lifecycle.State `json:"from"`
	To      *lifecycle.State `json:"to"`
	Reason  string           `json:"reason"`
	Exit    *ExitInfo        `json:"exit"`
	CrashID *string          `json:"crash_id"`
	PIDs    []int            `json:"pids,omitempty"` // KindStuck: the processes that are left
	// Extension is whose event it is; Decision, a blame.Decision as JSON, what was
	// decided about some.
	Extension string          `json:"extension,omitempty"`
	Decision  json.RawMessage `json:"decision,omitempty"`
	Lost      uint64          `json:"-"` // set alone on a reader that fell behind: events it missed
}

// Transition returns the change of a host's state that the event is about; ok is
// false for an event of another kind. from is "" for the first of a host.
func (e Event) Transition() (from, to lifecycle.State, ok bool) {
	if e.Kind != KindState || e.To == nil {
		return "", "", false
	}
	if e.From != nil {
		from = *e.From
	}
	return from, *e.To, true
}

// Kinds of events.
const (
	KindState      = "state"      // a host changed its state
	KindTakenBack  = "taken_back" // a process that outlived its supervisor is this one's
	KindStuck      = "stuck"      // processes of a life have not ended although they were killed; nothing waits for them any longer
	KindShortage   = "shortage"   // the supervisor was short of something to start a host with, and tries again
	KindSlow       = "slow"       // a start has had no handshake for 5 s, or is over its time-out and waited for
	KindAdded      = "added"      // a host or group was added
	KindRemoved    = "removed"    // a host or group was removed
	KindReplaced   = "replaced"   // a host has another configuration
	KindReloaded   = "reloaded"   // another configuration of the whole tree was applied
	KindReset      = "reset"      // a crash window was cleared by a person
	KindEscalated  = "escalated"  // a host's failure reached its group or the root
	KindSupervisor = "supervisor" // the supervisor itself: ready, stopping
	KindDenied     = "denied"     // a confined host was refused something; the first time in a life
	KindExtension  = "extension"  // an extension changed its state or its host, or has something wrong with it
	KindSettings   = "settings"   // a settings file of extensions cannot be read, or can again
	KindWorkspace  = "workspace"  // extensions changed the folders of their workspace, or were refused its trust
	KindMessage    = "message"    // an extension said something to its user, or asked, or what it asked was decided
	KindStatus     = "status"     // an entry in the status bar of extensions has another text
	KindProgress   = "progress"   // a progress that extensions show has begun or ended
	KindUnseen     = "unseen"     // an extension wants to show something that only a window could show
	KindUnadvised  = "unadvised"  // what follows the end of a life was decided without the advice that was asked for
	KindBlame      = "blame"      // it was decided whose fault a crash is, or who is put apart
	// A host's output cannot be written to its log files, for example because the disk is
	// full, and can again. A log that fails over and over has at most one pair a minute,
	// after a few at its beginning.
	KindLogFailed    = "log_failed"
	KindLogRecovered = "log_recovered"
)
