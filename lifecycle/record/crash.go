package record

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox/denial"
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

	Extensions json.RawMessage `json:"extensions,omitempty"` // of a host that has some: what features say of them
	Evidence   json.RawMessage `json:"evidence,omitempty"`   // what a program has added, see supervisor.WithEvidence
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
