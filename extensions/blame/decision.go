package blame

import (
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// Verdict is what was decided.
type Verdict string

// The verdicts.
const (
	Noted     Verdict = "noted"     // a crash with its suspects; nothing follows yet
	HostFault Verdict = "host"      // a crash that is no extension's fault
	Isolated  Verdict = "isolated"  // put apart
	Bisected  Verdict = "bisected"  // suspects were halved
	Cleared   Verdict = "cleared"   // no longer suspected, and let home
	Confirmed Verdict = "confirmed" // it has crashed alone
	Exhausted Verdict = "exhausted" // the budget of the trials is spent
	Unsolved  Verdict = "unsolved"  // the trials have shown nothing
	Spell     Verdict = "spell"     // the host hung and came back
)

// Suspect is an extension and what speaks against it, the strongest first.
type Suspect struct {
	ID    extensions.ID `json:"id"`
	Score int           `json:"score"` // 8 for being activated or 90 % of the processor, 4 for calls or half of it, 2 for uncaught errors, 0 for being there
	// Returned is how often a call like the one in flight has ended before
	// without harm, which speaks for it among those of the same score.
	Returned int      `json:"returned"`
	Why      []string `json:"why"`
}

// Evidence is one crash.
type Evidence struct {
	Time     time.Time `json:"time"`
	Cell     string    `json:"cell"`
	Life     uint64    `json:"life"`
	Reason   string    `json:"reason"`
	Suspects []Suspect `json:"suspects"`
	// Vague says that nothing pointed to anybody: the suspects are all whose
	// activation had begun.
	Vague bool `json:"vague"`

	begun map[extensions.ID]bool
}

// Decision is one step of the machine, for events and crash reports.
type Decision struct {
	Seq      int             `json:"seq"` // counts up from 1
	Time     time.Time       `json:"time"`
	Verdict  Verdict         `json:"verdict"`
	Cell     string          `json:"cell"` // where it happened
	IDs      []extensions.ID `json:"ids"`  // whom it concerns
	Why      string          `json:"why"`
	Evidence []Evidence      `json:"evidence,omitempty"`
}
