package blame

import (
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Verdict is the kind of a [Decision].
type Verdict string

// The verdicts.
const (
	Noted     Verdict = "noted"     // a crash with its suspects; no action yet
	HostFault Verdict = "host"      // a crash that is no extension's fault
	Isolated  Verdict = "isolated"  // alone in a cell: on trial first, in quarantine after a trial
	Bisected  Verdict = "bisected"  // suspects were halved
	Cleared   Verdict = "cleared"   // no longer a suspect, and moved home
	Confirmed Verdict = "confirmed" // crashed alone
	Exhausted Verdict = "exhausted" // the budget of the trials is spent
	Unsolved  Verdict = "unsolved"  // the trials had no result
	Spell     Verdict = "spell"     // the host hung and came back
)

// Suspect is an extension with the evidence against it, the strongest first.
type Suspect struct {
	ID    extensions.ID `json:"id"`
	Score int           `json:"score"` // 8 for being activated, for 90 % of the processor or of the memory, and for a direct trace; 4 for calls or half of them; 2 for uncaught errors, 0 for presence
	// Returned is how often calls of the method in flight have returned before; among
	// suspects of the same score more is better.
	Returned int      `json:"returned"`
	Why      []string `json:"why"`
	// Weight is log2 of how much likelier what was seen is if the extension caused the crash;
	// those of several crashes are added. Without a trace it is below 0.
	Weight float64 `json:"weight"`
}

// Evidence is one crash.
type Evidence struct {
	Time     time.Time `json:"time"`
	Cell     string    `json:"cell"`
	Life     uint64    `json:"life"`
	Reason   string    `json:"reason"`
	Suspects []Suspect `json:"suspects"`
	// Vague means that there was no evidence: the suspects are all extensions whose
	// activation had begun.
	Vague bool `json:"vague"`

	begun   map[extensions.ID]bool
	weights map[extensions.ID]float64 // of those that had begun
	direct  bool                      // a profile, or something of the crash itself, leads to an extension
	kind    Kind
}

// Decision is one step of the machine, for events and crash reports.
type Decision struct {
	Seq      int             `json:"seq"` // from 1 on, without gaps
	Time     time.Time       `json:"time"`
	Verdict  Verdict         `json:"verdict"`
	Cell     string          `json:"cell"` // the cell of the crash
	IDs      []extensions.ID `json:"ids"`  // the extensions concerned
	Why      string          `json:"why"`
	Evidence []Evidence      `json:"evidence,omitempty"`
}
