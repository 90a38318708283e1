package extensions

import "encoding/json"

// Verb is an operation of a person on an extension.
type Verb string

// The operations.
const (
	Enable  Verb = "enable"
	Disable Verb = "disable" // it is not activated, and ended if it was
	Isolate Verb = "isolate" // it gets a host of its own
	Release Verb = "release" // it may come back from there
)

// Declarative is the state of an extension without code: hosts have its contributions,
// such as themes and grammars, and there is nothing to activate.
const Declarative = "declarative"

// Status is the state of an extension.
type Status struct {
	Host       string      `json:"host"`  // the host that specifies the extension
	Place      string      `json:"place"` // the host where it runs; "" (null as JSON) if it runs in none
	ID         string      `json:"id"`
	Version    string      `json:"version"`
	State      string      `json:"state"`      // inactive, activating, active, failed, disabled, declarative
	Why        string      `json:"why"`        // the reason of the state; may be "" (null)
	Activation *Activation `json:"activation"` // null unless it is active
	Blame      Blame       `json:"blame"`
	Figures
}

// Figures has the counters and measurements of an extension.
type Figures struct {
	ActivationSeconds      *float64 `json:"activation_seconds"`       // the duration of its activation; null unless it is active
	Calls                  uint64   `json:"calls"`                    // of its commands, since the start of the supervisor
	AverageResponseSeconds *float64 `json:"average_response_seconds"` // of those that were answered
	RSSBytes               *int64   `json:"rss_bytes"`                // of its host, if it is alone there; otherwise null
}

// Activation is how an extension became active.
type Activation struct {
	Event            string  `json:"event"`
	Startup          bool    `json:"startup"`
	CodeLoading      float64 `json:"code_loading_ms"`
	ActivateCall     float64 `json:"activate_call_ms"`
	ActivateResolved float64 `json:"activate_resolved_ms"`
}

// Blame is the evidence against an extension.
type Blame struct {
	SuspectIn   int    `json:"suspect_in"` // crashes since the start of the supervisor
	Quarantined bool   `json:"quarantined"`
	Decision    string `json:"decision"` // the last one about it; may be "" (null)
}

// MarshalJSON implements json.Marshaler; absent values are null.
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Host       string      `json:"host"`
		Place      *string     `json:"place"`
		ID         string      `json:"id"`
		Version    string      `json:"version"`
		State      string      `json:"state"`
		Why        *string     `json:"why"`
		Activation *Activation `json:"activation"`
		Blame      Blame       `json:"blame"`
		Figures
	}{s.Host, orNull(s.Place), s.ID, s.Version, s.State, orNull(s.Why), s.Activation, s.Blame, s.Figures})
}

// MarshalJSON implements json.Marshaler; absent values are null.
func (b Blame) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		SuspectIn   int     `json:"suspect_in"`
		Quarantined bool    `json:"quarantined"`
		Decision    *string `json:"decision"`
	}{b.SuspectIn, b.Quarantined, orNull(b.Decision)})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
