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
	Protocol     string        // by name; "": it speaks none
	QuietAfter   time.Duration // a start without a handshake is reported after so long; 0: never
	KillAfter    time.Duration // unresponsive to killed; 0: never
	Gated        bool          // restarts ask the group: the host depends on others, or shares their fate
	Job          bool          // it runs to its end: an exit with a success status completes it
	Eager        bool          // the group starts the host unasked
	MaxStarting  int           // how many hosts may start at once; 0: any number
}

// slot says whether a start has its start slot.
type slot uint8

const (
	noSlot     slot = iota // needs none, or has given it back
	slotAsked              // the answer follows at once
	slotQueued             // waits for it
	slotHeld
)

// presence says how much there is of the current life.
type presence uint8

const (
	absent  presence = iota // nothing
	alive                   // it was spawned, and has not ended
	ended                   // it has ended, and its actor may be there
	leaving                 // the end of its processes is awaited
)

// Host is the state machine of one host. It is a value: Step returns the next
// one and leaves the old one as it was.
type Host struct {
	rules HostRules
	next  *HostRules // of a Replace, until they are adopted; never changed in place

	state  State
	reason string
	by     By // who asked for the state it is in, or is going to
	life   uint64
	since  time.Time

	presence  presence    // of the current life
	spawnedAt time.Time   // of the current life
	resumes   bool        // the process of the next life was spawned before, at spawnedAt
	again     bool        // somebody wants a start, and it has not come yet
	againBy   By          // who that is
	promised  bool        // the group starts the host by itself
	backedOff bool        // the back-off has run out
	due       string      // the reason of the start for which its schedule has asked last
	asks      bool        // restarting: the group was asked
	waits     string      // what the group waits for before it starts the host
	requested int         // number of the last request that was made to the group
	ops       []operation // whose Done is to follow; never changed in place
	crashes   []time.Time // within the window, oldest first; never changed in place
	streak    int         // ends since the last healthy spell
	retryAt   time.Time   // when the back-off runs out; zero: it does not run
	crashed   uint64      // crashes since New, also those that were cleared
	restarts  uint64      // lives after the first one that the rules, its own or the group's, started
	slow      bool        // the running start is over its time-out
	quiet     bool        // the running start has been without a handshake for QuietAfter
	slot      slot        // of the running start
	silent    bool        // the life gives no sign of life
	sick      bool        // its checks fail
	unready   string      // what the last check of the running start says; "": there was none
	short     bool        // the running start waits for what the supervisor is short of
	lacks     string      // what that is, and how long it waits
	shortFor  int         // starts in a row that it was too short for
	rng       uint64
	moved     bool   // it has had a transition
	tried     bool   // Tried was told
	torn      bool   // its actor is ending
	advised   *Ended // the end that waits for Advice; never changed in place
	refused   int    // transitions the table did not have; tests hold it at 0
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

// Explanation is Reason with whatever else holds up what is to follow.
func (h Host) Explanation() string {
	text := h.Reason()
	if h.slot == slotQueued {
		text += ", " + h.full()
	}
	if h.short {
		text += ", " + h.lacks
	}
	if h.quiet {
		text += "; " + h.noHandshake()
	}
	if h.unready != "" {
		text += "; not healthy yet: " + h.unready
	}
	if h.presence == leaving && h.state != Stopped {
		text += ", when the processes of the last life have ended"
	}
	return text
}

// full says why a start waits for a slot.
func (h Host) full() string {
	if h.rules.MaxStarting == 1 {
		return "waiting for a place: another host is starting"
	}
	return fmt.Sprintf("waiting for a place: %d hosts are starting", h.rules.MaxStarting)
}

// noHandshake says what a start without a handshake usually means.
func (h Host) noHandshake() string {
	text := fmt.Sprintf("no handshake %s after its start: the program does not answer in protocol %q", h.rules.QuietAfter, h.rules.Protocol)
	if h.rules.Protocol == "hostsup" {
		text += " (the default)"
	}
	return text + "; one that speaks no protocol needs protocol = \"none\""
}

// By says who asked for that state; "" when nobody did.
func (h Host) By() By { return h.by }

// Life is the number of the current life, 0 before the first.
func (h Host) Life() uint64 { return h.life }

// Lives reports whether a life has been spawned and has not ended.
func (h Host) Lives(life uint64) bool { return life == h.life && h.presence == alive && !h.torn }

// Present reports whether anything of the current life is there.
func (h Host) Present() bool { return h.presence != absent }

// AwaitsAdvice reports whether the end of the current life is decided later, see
// [Advice].
func (h Host) AwaitsAdvice() bool { return h.advised != nil }

// Since is when it entered the state.
func (h Host) Since() time.Time { return h.since }

// RetryAt returns when the back-off of a restarting host runs out, or the zero time.
func (h Host) RetryAt() time.Time { return h.retryAt }

// Over returns what there is to say of a host whose actor has ended.
func (h Host) Over(now time.Time) Host {
	h.slow, h.quiet, h.unready, h.short, h.slot, h.presence, h.retryAt = false, false, "", false, noSlot, absent, time.Time{}
	if !h.state.AtRest() {
		h.state, h.since, h.reason, h.waits = Stopped, now, "supervisor stopped", ""
	}
	return h
}

// Restarts counts the lives after the first that the rules started: its own, or those of
// its group.
func (h Host) Restarts() uint64 { return h.restarts }

// IsSlow says whether the running start is over its time-out.
func (h Host) IsSlow() bool { return h.slow }

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

// Done reports whether the host is a job whose last run has succeeded.
func (h Host) Done() bool { return h.state == Stopped && h.by == ByDone }

// Crashes counts all crashes of the host, also those that do not count any more.
func (h Host) Crashes() uint64 { return h.crashed }

// CrashesInWindow counts the crashes that still count at now.
func (h Host) CrashesInWindow(now time.Time) int { return len(h.inWindow(now)) }

// Step takes one event and returns the next machine and what to do.
func (h Host) Step(ev Event, now time.Time) (Host, []Effect) {
	s := step{Host: h, now: now}
	if s.torn {
		return s.Host, nil
	}
	switch ev := ev.(type) {
	case Start:
		s.ack = ev.Ack
		s.start(ev.By)
	case Stop:
		s.ack = ev.Ack
		s.stop(ev)
	case Wish:
		s.wish(ev.By)
	case Operate:
		s.operate(ev)
	case Reset:
		s.reset()
	case Replace:
		s.replace(ev)
	case DependencyFailed:
		s.ack = ev.Ack
		s.dependencyFailed(ev.Name)
	case StopRefused:
		s.ack = ev.Ack
		s.keep()
	case Waits:
		s.ack = ev.Ack
		if !s.superseded() && (s.state.AtRest() && s.Pending() || s.state == Restarting && s.asks) {
			s.waits = ev.For
		}
	case SlotGranted:
		s.granted(ev.Life)
	case SlotQueued:
		if ev.Life == s.life && s.slot == slotAsked {
			s.slot = slotQueued
			s.begin(", " + s.full())
		}
	case Ready:
		s.ready(ev.Life)
	case Hung:
		s.hung(ev)
	case Alive:
		s.alive(ev)
	case Ended:
		s.ended(ev)
	case Advice:
		s.advice(ev)
	case Vanished:
		s.vanished(ev)
	case Torn:
		s.tear()
	case Gone:
		s.gone(ev)
	case Fired:
		s.fired(ev.Timer)
	}
	s.outcomes()
	return s.Host, s.out
}
