package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/plan"
)

// Spec says which extensions a host has; see [plan.Spec].
type Spec = plan.Spec

// What a call can end with; test with errors.Is. [ActivationError] says more of
// one.
var (
	ErrNoExtensions     = errors.New("host has no extensions")
	ErrNoFolders        = errors.New("no folders with extensions")
	ErrUnknownExtension = errors.New("no such extension")
	ErrVerb             = errors.New("unknown verb; expected enable, disable, isolate or release")
	ErrNotActive        = errors.New("not active")
	ErrClosed           = errors.New("extensions are no longer looked after")
)

// Verb is what a person can ask for an extension.
type Verb string

// The verbs.
const (
	Enable  Verb = "enable"
	Disable Verb = "disable" // it is not activated, and ended if it was
	Isolate Verb = "isolate" // it gets a host of its own
	Release Verb = "release" // it may come back from there
)

// Status is what there is to say of an extension.
type Status struct {
	Host       string      `json:"host"`  // whose extension it is, by the spec
	Place      string      `json:"place"` // the host it lives in; "" (null as JSON) when it runs in none
	ID         string      `json:"id"`
	Version    string      `json:"version"`
	State      string      `json:"state"`      // inactive, activating, active, failed, disabled
	Why        string      `json:"why"`        // of the state; "" (null) when there is nothing to say
	Activation *Activation `json:"activation"` // null unless it is active
	Blame      Blame       `json:"blame"`
	Figures
}

// Figures are what was counted and measured of an extension.
type Figures struct {
	ActivationSeconds      *float64 `json:"activation_seconds"`       // what its activation took; null unless it is active
	Calls                  uint64   `json:"calls"`                    // of its commands, since the start of the supervisor
	AverageResponseSeconds *float64 `json:"average_response_seconds"` // of those that were answered
	RSSBytes               *int64   `json:"rss_bytes"`                // of its host, where nobody else lives in that; else null
}

// Activation is how an extension became active.
type Activation struct {
	Event            string  `json:"event"`
	Startup          bool    `json:"startup"`
	CodeLoading      float64 `json:"code_loading_ms"`
	ActivateCall     float64 `json:"activate_call_ms"`
	ActivateResolved float64 `json:"activate_resolved_ms"`
}

// Blame is what speaks against an extension.
type Blame struct {
	SuspectIn   int    `json:"suspect_in"` // crashes since the start of the supervisor
	Quarantined bool   `json:"quarantined"`
	Decision    string `json:"decision"` // the last that concerned it; "" (null) when there is none
}

// MarshalJSON implements json.Marshaler: what is absent is null.
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

// MarshalJSON implements json.Marshaler: what is absent is null.
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

// ActivationError tells which extensions are not active that an event was for,
// and why. It is [ErrNotActive].
type ActivationError struct {
	Event string
	Errs  []*activation.Error
}

func (e *ActivationError) Error() string {
	parts := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		parts[i] = err.Error()
	}
	return fmt.Sprintf("%s: %s", e.Event, strings.Join(parts, "; "))
}

// Unwrap returns [ErrNotActive] and the reasons.
func (e *ActivationError) Unwrap() []error {
	out := []error{ErrNotActive}
	for _, err := range e.Errs {
		out = append(out, err)
	}
	return out
}
