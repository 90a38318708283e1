package lifecycle

import (
	"fmt"
	"time"
)

// HostRules is what the machine of a host needs to know of its configuration.
type HostRules struct {
	Restart      RestartRule
	StartTimeout time.Duration // spawn to ready; 0: none
	WaitSlow     bool          // a start over its time-out is reported and kept
	QuietAfter   time.Duration // a start without a handshake is reported after so long; 0: never
	KillAfter    time.Duration // unresponsive to killed; 0: never
	Gated        bool          // restarts ask the group: the host depends on others, or shares their fate
	Eager        bool          // the group starts the host unasked
	Placed       bool          // each start waits for a place among those that may go on at once
}

// place says whether a start has its place.
type place uint8

const (
	noPlace place = iota // needs none, or has given it back
	wantsPlace
	hasPlace
)

// Host is the state machine of one host. It is a value: Step returns the next
// one and leaves the old one as it was.
type Host struct {
	rules HostRules

	state  State
	reason string
	by     By // who asked for the state it is in, or is going to
	life   uint64
	since  time.Time

	present   bool        // a life exists (not all of it is gone yet)
	spawnedAt time.Time   // of the current life
	again     bool        // somebody wants a start, and it has not come yet
	againBy   By          // who that is
	promised  bool        // the group starts the host by itself
	backedOff bool        // the back-off has run out
	asks      bool        // restarting: the group was asked
	waits     string      // what the group waits for before it starts the host
	said      int         // what the group was told: wishes and stops of a person
	heard     int         // how much of that the group had heard when it last spoke
	ops       []operation // whose Done is to follow; never changed in place
	crashes   []time.Time // within the window, oldest first; never changed in place
	streak    int         // ends since the last healthy spell
	restarts  uint64      // lives after the first one that the rules started
	slow      bool        // the running start is over its time-out
	quiet     bool        // the running start has been without a handshake for QuietAfter
	place     place       // of the running start
	short     bool        // the running start waits for what the supervisor is short of
	shortFor  int         // starts in a row that it was too short for
	rng       uint64
	refused   int // transitions the table did not have; tests hold it at 0
}

// NewHost returns a stopped host. The seed makes its jitter reproducible.
func NewHost(rules HostRules, seed uint64, now time.Time) Host {
	return Host{rules: rules, state: Stopped, promised: rules.Eager, since: now, rng: seed}
}

// State is the state it is in.
func (h Host) State() State { return h.state }

// Reason says why it is in that state, and what it waits for.
func (h Host) Reason() string {
	switch {
	case h.waits == "":
		return h.reason
	case h.reason == "":
		return "waiting for " + h.waits
	}
	return h.reason + ", waiting for " + h.waits
}

// By says who asked for that state; "" when nobody did.
func (h Host) By() By { return h.by }

// Life is the number of the current life, 0 before the first.
func (h Host) Life() uint64 { return h.life }

// Since is when it entered the state.
func (h Host) Since() time.Time { return h.since }

// Restarts counts the lives that the rules started after the first.
func (h Host) Restarts() uint64 { return h.restarts }

// IsSlow says whether the running start is over its time-out.
func (h Host) IsSlow() bool { return h.slow }

// IsQuiet reports whether the running start has been without a handshake for
// QuietAfter.
func (h Host) IsQuiet() bool { return h.quiet }

// SpawnedAt returns when the process of the current life was started, or the
// zero time before the first life.
func (h Host) SpawnedAt() time.Time { return h.spawnedAt }

// Pending says whether a start of a host that is down, or on its way down, is to
// follow unless something is in the way of it.
func (h Host) Pending() bool { return h.again || h.promised }

// StoppedByPerson says whether the host is down because a person wanted it so;
// a call does not start it then.
func (h Host) StoppedByPerson() bool {
	return (h.state == Stopped || h.state == Stopping) && h.by == ByPerson && !h.again
}

// IsShort reports whether it is starting and waits for something that the
// supervisor was short of, and has no process until then.
func (h Host) IsShort() bool { return h.short }

// CrashesInWindow counts the crashes that still count at now.
func (h Host) CrashesInWindow(now time.Time) int { return len(h.inWindow(now)) }

// Step takes one event and returns the next machine and what to do.
func (h Host) Step(ev Event, now time.Time) (Host, []Effect) {
	s := step{Host: h, now: now}
	switch ev := ev.(type) {
	case Start:
		s.start(ev.By)
	case Stop:
		s.stop(ev)
	case Wish:
		s.wish(ev.By)
	case Operate:
		s.operate(ev)
	case Reset:
		s.crashes, s.streak = nil, 0
		if s.state == Failed {
			s.wish(ByPerson)
		}
	case Heard:
		s.heard++
	case DependencyFailed:
		s.dependencyFailed(ev.Name)
	case Waits:
		if s.heard == s.said && (s.state.AtRest() && s.Pending() || s.state == Restarting && s.asks) {
			s.waits = ev.For
		}
	case Placed:
		s.placed(ev.Life)
	case Ready:
		s.ready(ev.Life)
	case Hung:
		if ev.Life == s.life && s.state == Running {
			s.to(Unresponsive, fmt.Sprintf("no sign of life for %s", round(ev.Silent)), "")
			if s.rules.KillAfter > 0 {
				s.do(SetTimer{KillTimer, s.rules.KillAfter})
			}
		}
	case Alive:
		if ev.Life == s.life && s.state == Unresponsive {
			s.do(CancelTimer{KillTimer})
			s.to(Running, "answers again", "")
		}
	case Ended:
		s.ended(ev)
	case Gone:
		s.gone(ev)
	case Fired:
		s.fired(ev.Timer)
	}
	s.outcomes()
	return s.Host, s.out
}
