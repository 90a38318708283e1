package lifecycle

import (
	"fmt"
	"time"
)

// How a host starts: whom it asks, and what a start waits for.

// wish asks the group for a start. Nobody is asked for what goes on already.
func (s *step) wish(by By) {
	switch s.state {
	case Stopping:
		if s.by == ByTree {
			return
		}
		s.ask(by)
	case Stopped, Failed, Restarting:
		s.ask(by)
	}
}

func (s *step) ask(by By) {
	s.again, s.againBy = true, by
	s.asks = s.state == Restarting
	s.requested++
	s.do(AskStart{by, s.requested})
}

// superseded reports whether the host has made a request since the group decided
// on the present command.
func (s *step) superseded() bool { return s.ack < s.requested }

func (s *step) start(by By) {
	if s.superseded() {
		return
	}
	switch s.state {
	case Failed:
		s.do(CancelTimer{RetryTimer})
		s.crashes, s.streak = nil, 0 // a new window
		s.launch(by)
	case Stopped:
		if s.rules.Job {
			s.crashes, s.streak = nil, 0 // each run has a window of its own
		}
		s.launch(by)
	case Restarting:
		if s.rules.Gated && !s.asks {
			return // meant for the restart before this one
		}
		s.do(CancelTimer{BackoffTimer})
		if by == BySchedule {
			s.crashes, s.streak = nil, 0 // it is another run
		}
		s.launch(by)
	}
}

// dependencyFailed gives up what is to start.
func (s *step) dependencyFailed(name string) {
	if s.superseded() {
		return
	}
	reason := fmt.Sprintf("dependency %s failed", name)
	switch s.state {
	case Stopped, Restarting:
		s.again, s.promised = false, false
		s.do(CancelTimer{BackoffTimer})
		s.to(Failed, reason, ByDependency)
	case Failed:
		s.again, s.promised, s.waits = false, false, ""
		s.refuse(reason)
	}
}

// launch begins a life, or has it begin as soon as the old one is gone.
func (s *step) launch(by By) {
	if s.Present() {
		s.again, s.againBy = true, by
		return
	}
	if s.life > 0 && (by == ByRule || by == ByGroup || by == ByDependency) {
		s.restarts++
	}
	s.again, s.promised = false, false
	s.life++
	s.slow, s.quiet, s.shortFor = false, false, 0
	s.againBy = by
	if s.rules.MaxStarting > 0 {
		s.slot = slotAsked
		s.do(TakeSlot{s.life})
		return
	}
	s.begin("")
	s.spawn()
}

// begin tells that a start has begun, and what it waits for.
func (s *step) begin(waits string) {
	if s.state == Starting {
		return // another try
	}
	by := s.againBy
	s.to(Starting, s.startReason(by)+waits, by)
	s.reason = s.startReason(by)
}

// spawn makes the process of a life that nothing holds up any more.
func (s *step) spawn() {
	s.presence, s.retryAt = alive, time.Time{}
	if !s.resumes {
		s.spawnedAt = s.now
	}
	s.resumes = false
	s.silent, s.sick = false, false
	s.do(SpawnLife{s.life})
	if s.rules.StartTimeout > 0 {
		s.do(SetTimer{StartTimer, s.rules.StartTimeout})
	}
	if q := s.rules.QuietAfter; q > 0 && (s.rules.StartTimeout == 0 || q < s.rules.StartTimeout) {
		s.do(SetTimer{QuietTimer, q})
	}
}

// shortage follows a life that could not be made because the supervisor lacked
// something itself: the start goes on with another try, and nothing is counted.
func (s *step) shortage(detail string) {
	s.short = true
	s.shortFor++
	s.lacks = fmt.Sprintf("%s; again in %s", detail, s.shortWait())
	s.do(Shortage{s.life, detail, s.shortWait()})
	s.firstTry()
	s.finish(func(o operation) bool { return o.op != OpStop }, false, s.state, detail)
}

// shortages spaces the tries of a start that the supervisor is too short for.
var shortages = Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 2}

func (s *step) shortWait() time.Duration { return shortages.Delay(s.shortFor, 0.5) }

// tryAgain makes another life for a start that the supervisor was too short for.
func (s *step) tryAgain() {
	s.short = false
	s.life++
	if s.rules.MaxStarting > 0 && s.slot == noSlot { // it was slow, and has given its place back
		s.slot = slotAsked
		s.do(TakeSlot{s.life})
		return
	}
	s.spawn()
}

// endStart cancels the timers of a start.
func (s *step) endStart() {
	if s.short {
		s.short = false
		s.do(CancelTimer{ShortTimer})
	}
	s.do(CancelTimer{StartTimer})
	if s.rules.QuietAfter > 0 {
		s.do(CancelTimer{QuietTimer})
	}
	s.slow, s.quiet, s.unready = false, false, ""
}

func (s *step) granted(life uint64) {
	if life != s.life || s.slot != slotAsked && s.slot != slotQueued {
		return // it was given back before we heard of it
	}
	s.slot = slotHeld
	s.begin("")
	s.spawn()
}

// giveSlot lets another host start.
func (s *step) giveSlot() {
	if s.slot != noSlot {
		s.slot = noSlot
		s.do(GiveSlot{s.life})
	}
}

func (s *step) startReason(by By) string {
	switch by {
	case BySchedule:
		return s.due
	case ByPerson, ByProgram:
		return "asked for"
	case ByCall:
		return "first call"
	case ByDependent:
		return "needed by another host"
	case ByRule:
		return "restart"
	case ByGroup:
		return "restart with its group"
	case ByDependency:
		return "what it needs is running again"
	case ByReplace:
		return "its configuration was replaced"
	}
	return "configured"
}

func (s *step) ready(life uint64) {
	if !s.Lives(life) || s.state != Starting {
		return
	}
	s.endStart()
	s.to(Running, "ready", "")
}
