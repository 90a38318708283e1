package record

import (
	"time"

	"github.com/hostsup/hostsup/internal/signame"
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

// Status returns the exit in numbers, nil if there was no process.
func (e *ExitInfo) Status() *lifecycle.ExitStatus {
	switch {
	case e.Signal != nil:
		return &lifecycle.ExitStatus{Code: -1, Signal: signame.Number(*e.Signal)}
	case e.Code != nil:
		return &lifecycle.ExitStatus{Code: *e.Code}
	}
	return nil
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

// HealthStatus is the check of a host's health, and the outcome of the last one of the
// present life.
type HealthStatus struct {
	Check    string     `json:"check"`    // what is checked: "tcp 127.0.0.1:8080"
	Healthy  *bool      `json:"healthy"`  // null: none was made yet
	Reason   *string    `json:"reason"`   // why the host is not healthy
	At       *time.Time `json:"at"`       // when the check has ended
	Failures int        `json:"failures"` // in a row; those of the start period are not counted
}

// Redacted returns the status without what r knows. h may be nil.
func (h *HealthStatus) Redacted(r Redactor) *HealthStatus {
	if h == nil || h.Reason == nil {
		return h
	}
	out, reason := *h, r.String(*h.Reason)
	out.Reason = &reason
	return &out
}

// LogStatus says what became of the lines that a host printed, since the start of the
// supervisor. Bytes are those of the files' format. Lines that rotation removed are not lost.
type LogStatus struct {
	Written      uint64  `json:"written"` // lines in its log files
	WrittenBytes uint64  `json:"written_bytes"`
	Lost         uint64  `json:"lost"` // lines that could not be written
	LostBytes    uint64  `json:"lost_bytes"`
	Error        *string `json:"error"` // why they cannot be written at present
}

// HostStatus is one host as `status --json` shows it.
type HostStatus struct {
	Name            string          `json:"name"`
	Group           string          `json:"group"`
	Key             *string         `json:"key"` // of an instance of a template; null for other hosts
	Protocol        string          `json:"protocol"`
	URL             *string         `json:"url"` // of the server elsewhere that it is; null: a program of this machine
	State           lifecycle.State `json:"state"`
	Reason          *string         `json:"reason"`
	Life            uint64          `json:"life"`
	PID             *int            `json:"pid"`
	Restarts        uint64          `json:"restarts"`
	Crashes         uint64          `json:"crashes"` // since the start of the supervisor
	CrashesInWindow int             `json:"crashes_in_window"`
	MaxCrashes      int             `json:"max_crashes"`
	Since           time.Time       `json:"since"`             // when it entered the state
	Started         *time.Time      `json:"started"`           // when the process was started; nil without a process
	Eager           bool            `json:"eager"`             // it starts by itself, not at the first call
	Job             bool            `json:"job"`               // it runs to its end
	Done            bool            `json:"done"`              // it is a job, and its last run has succeeded
	NextRun         *time.Time      `json:"next_run"`          // when its schedule starts it next; null: it has none, or a person has stopped it
	StoppedByPerson bool            `json:"stopped_by_person"` // it is down because a person wanted it so
	CrashID         *string         `json:"crash_id"`          // of its last crash
	Pending         int             `json:"pending"`
	Liveness        string          `json:"liveness"` // ack, ping, check, none
	Health          *HealthStatus   `json:"health"`   // null: there is no such check
	LastExit        *ExitInfo       `json:"last_exit"`
	RSSBytes        *int64          `json:"rss_bytes"`
	CPUSeconds      *float64        `json:"cpu_seconds"`
	Sandbox         SandboxStatus   `json:"sandbox"`
	Slow            bool            `json:"slow"`             // a start over its time-out that is waited for
	RetryInSeconds  *float64        `json:"retry_in_seconds"` // restarting: until the next start
	DependsOn       []string        `json:"depends_on"`
	Noise           uint64          `json:"noise"` // lines of text where messages belong, skipped since the start of the supervisor

	Log      LogStatus        `json:"log"`
	Throttle []ThrottleStatus `json:"throttle"` // in the order of the spec

	StartupSeconds         *float64 `json:"startup_seconds"`          // from its start to ready, of the life that was ready last
	ActivationSeconds      *float64 `json:"activation_seconds"`       // that activating extensions took in this life, together
	Calls                  uint64   `json:"calls"`                    // made to it since the start of the supervisor
	AverageResponseSeconds *float64 `json:"average_response_seconds"` // of those that it has answered, from sent to read
}

// StatusOf returns the part of a host's status that its state machine knows at now.
func StatusOf(m *lifecycle.Host, now time.Time, r Redactor) HostStatus {
	out := HostStatus{
		State: m.State(), Since: m.Since(), Slow: m.IsSlow(), Restarts: m.Restarts(), Crashes: m.Crashes(), CrashesInWindow: m.CrashesInWindow(now),
		StoppedByPerson: m.StoppedByPerson(), Done: m.Done(),
	}
	if reason := r.String(m.Explanation()); reason != "" {
		out.Reason = &reason
	}
	if at := m.RetryAt(); !at.IsZero() && out.State == lifecycle.Restarting {
		left := max(0, at.Sub(now).Seconds())
		out.RetryInSeconds = &left
	}
	return out
}

// GroupStatus is one group as `status --json` shows it.
type GroupStatus struct {
	Name     string             `json:"name"`
	Strategy lifecycle.Strategy `json:"strategy"`
	Hosts    []string           `json:"hosts"` // in order of declaration
}
