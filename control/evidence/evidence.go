package evidence

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/lifecycle/record"
)

// Window is the time before a crash of which a report holds messages, events and samples.
const Window = 10 * time.Second

// Evidence is what a [Keeper] adds to a crash report.
type Evidence struct {
	Likeness Likeness `json:"likeness"`
	Program  string   `json:"program,omitempty"` // name and version that the host has told in its handshake
	Version  string   `json:"version"`           // of hostsup
	Window   float64  `json:"window_seconds"`    // before the crash
	// Timeline holds the window, oldest first, and the first messages of the life before it.
	Timeline []Moment `json:"timeline"`
	LeftOut  int      `json:"left_out,omitempty"` // messages of the window that were not kept, because there were too many
}

// Kinds of a [Moment].
const (
	KindSent     = "sent"     // a message to the host
	KindReceived = "received" // a message of the host
	KindEvent    = "event"    // an event of the host
	KindSample   = "sample"   // resources of its process tree
)

// Moment is one entry of a timeline. The fields depend on Kind.
type Moment struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`

	// Of messages.
	Type    string          `json:"type,omitempty"` // request, notification, response
	ID      uint32          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Size    int             `json:"size,omitempty"`    // bytes of the parameters
	Params  json.RawMessage `json:"params,omitempty"`  // without secrets
	Cut     bool            `json:"cut,omitempty"`     // the parameters were not kept: they were too large, or JSON cannot say them
	Opening bool            `json:"opening,omitempty"` // one of the first messages of the life, before the window

	// Of events: the kind of the event and its reason.
	Event  string `json:"event,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason,omitempty"`

	// Of samples. Unknown figures are left out.
	Memory  *int64   `json:"rss_bytes,omitempty"`
	CPU     *float64 `json:"cpu_cores,omitempty"`
	Pending *int     `json:"pending,omitempty"`
}

// Of returns the evidence of a report; ok is false if it has none that can be read.
func Of(r *record.CrashReport) (e Evidence, ok bool) {
	return e, len(r.Evidence) > 0 && json.Unmarshal(r.Evidence, &e) == nil
}

// Sent returns the messages to the host, oldest first.
func (e *Evidence) Sent() (sent []Moment) {
	for _, m := range e.Timeline {
		if m.Kind == KindSent {
			sent = append(sent, m)
		}
	}
	return sent
}
