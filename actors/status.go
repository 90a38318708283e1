package actors

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/denial"
)

// ExitInfo is how the last life of a host ended, for status and events.
type ExitInfo struct {
	Code   *int      `json:"code"`   // null when a signal ended it or it never ran
	Signal *string   `json:"signal"` // "SIGKILL"; null when it exited by itself
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// SandboxStatus says which level of confinement is in force.
type SandboxStatus struct {
	Level   string          `json:"level"`             // of package policy; "none" when nothing is enforced
	Missing []string        `json:"missing"`           // what a stronger level, or the limits, would have on top
	Weaker  []string        `json:"weaker,omitempty"`  // the limits ("memory", "tasks", "cpu") that are held by weaker means than asked for, or not at all
	Denials []denial.Denial `json:"denials,omitempty"` // what the life that was started last was refused
}

// ThrottleStatus is a rule for notifications to a host, and what became of them
// since the start of the supervisor.
type ThrottleStatus struct {
	Method    string  `json:"method"`
	Every     float64 `json:"every_seconds"`
	Key       string  `json:"key"`       // "": all of the method are one
	Sent      uint64  `json:"sent"`      // written to the host
	Coalesced uint64  `json:"coalesced"` // replaced by a later one before that
	Dropped   uint64  `json:"dropped"`   // held when the life ended without a goodbye
	Held      int     `json:"held"`      // now
}

// HostStatus is one host as `status --json` shows it.
type HostStatus struct {
	Name            string          `json:"name"`
	Group           string          `json:"group"`
	Protocol        string          `json:"protocol"`
	State           lifecycle.State `json:"state"`
	Reason          *string         `json:"reason"`
	Life            uint64          `json:"life"`
	PID             *int            `json:"pid"`
	Restarts        uint64          `json:"restarts"`
	CrashesInWindow int             `json:"crashes_in_window"`
	MaxCrashes      int             `json:"max_crashes"`
	Since           time.Time       `json:"since"`             // when it entered the state
	Started         *time.Time      `json:"started"`           // when the process was started; nil without a process
	Eager           bool            `json:"eager"`             // it starts by itself, not at the first call
	StoppedByPerson bool            `json:"stopped_by_person"` // it is down because a person wanted it so
	CrashID         *string         `json:"crash_id"`          // of its last crash
	Pending         int             `json:"pending"`
	Liveness        string          `json:"liveness"` // ack, ping, none
	LastExit        *ExitInfo       `json:"last_exit"`
	RSSBytes        *int64          `json:"rss_bytes"`
	CPUSeconds      *float64        `json:"cpu_seconds"`
	Sandbox         SandboxStatus   `json:"sandbox"`
	Slow            bool            `json:"slow"`             // a start over its time-out that is waited for
	RetryInSeconds  *float64        `json:"retry_in_seconds"` // restarting: until the next start
	DependsOn       []string        `json:"depends_on"`
	Noise           uint64          `json:"noise"` // lines of text where messages belong, skipped since the start of the supervisor

	Throttle []ThrottleStatus `json:"throttle"` // in the order of the spec

	StartupSeconds         *float64 `json:"startup_seconds"`          // from its start to ready, of the life that was ready last
	ActivationSeconds      *float64 `json:"activation_seconds"`       // that activating extensions took in this life, together
	Calls                  uint64   `json:"calls"`                    // made to it since the start of the supervisor
	AverageResponseSeconds *float64 `json:"average_response_seconds"` // of those that it has answered, from sent to read
}

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
	KindStuck      = "stuck"      // processes of a life have not ended although they were killed; nothing waits for them any longer
	KindShortage   = "shortage"   // the supervisor was short of something to start a host with, and tries again
	KindSlow       = "slow"       // a start has had no handshake for 5 s, or is over its time-out and waited for
	KindAdded      = "added"      // a host or group was added
	KindRemoved    = "removed"    // a host or group was removed
	KindReset      = "reset"      // a crash window was cleared by a person
	KindEscalated  = "escalated"  // a host's failure reached its group or the root
	KindSupervisor = "supervisor" // the supervisor itself: ready, stopping
	KindDenied     = "denied"     // a confined host was refused something; the first time in a life
	KindExtension  = "extension"  // an extension changed its state or its host, or has something wrong with it
	KindUnadvised  = "unadvised"  // what follows the end of a life was decided without the advice that was asked for
	KindBlame      = "blame"      // it was decided whose fault a crash is, or who is put apart
	KindOutput     = "output"     // something about a host's output: noise, a log file that cannot be written
)

// CrashReport is what is kept of one crash.
type CrashReport struct {
	ID       string          `json:"id"`
	Time     time.Time       `json:"time"`
	Host     string          `json:"host"`
	Group    string          `json:"group"`
	Life     uint64          `json:"life"`
	PID      int             `json:"pid"`
	Command  []string        `json:"command"`
	State    lifecycle.State `json:"state"` // when it happened
	Reason   string          `json:"reason"`
	Exit     *ExitInfo       `json:"exit"`
	Core     bool            `json:"core"`
	Uptime   float64         `json:"uptime_seconds"`
	User     float64         `json:"user_seconds"`
	System   float64         `json:"system_seconds"`
	MaxRSS   int64           `json:"max_rss_bytes"`
	Crashes  int             `json:"crashes_in_window"`
	Next     string          `json:"next"`     // what the rules said: "restart now", "restart in 200ms", "given up"
	Pending  int             `json:"pending"`  // requests that were answered "crashed"
	Lines    []ReportLine    `json:"lines"`    // the last 200 lines of its output
	Messages []Header        `json:"messages"` // the last 50 message headers, oldest first
	Protocol string          `json:"protocol"`
	Noise    []byte          `json:"bad_bytes,omitempty"` // the first bytes that broke the protocol

	Denials []denial.Denial `json:"denials,omitempty"` // what its sandbox refused the life, with the line of policy that would allow it

	Extensions json.RawMessage `json:"extensions,omitempty"` // of a host that has some: [Advice].Extensions
}

// ReportLine is one line of output in a crash report.
type ReportLine struct {
	Time   time.Time `json:"time"`
	Stream string    `json:"stream"` // stdout, stderr
	Text   string    `json:"text"`
}

// Header is one message without its payload.
type Header struct {
	Time   time.Time `json:"time"`
	Dir    string    `json:"dir"` // "sent" to the host, "received" from it
	Kind   string    `json:"kind"`
	ID     uint32    `json:"id,omitempty"`
	Method string    `json:"method,omitempty"`
	Size   int       `json:"size"`
}

// GroupStatus is one group as `status --json` shows it.
type GroupStatus struct {
	Name     string             `json:"name"`
	Strategy lifecycle.Strategy `json:"strategy"`
	Hosts    []string           `json:"hosts"` // in order of declaration
}
