package lifecycle

import (
	"fmt"
	"time"
)

// step is one Step in progress.
type step struct {
	Host
	now time.Time
	out []Effect
	ack int  // of the present command
	end bool // what follows from the end of a life is being decided
}

func (s *step) do(e Effect) { s.out = append(s.out, e) }

// to changes the state. A transition that the table does not have is a defect
// of this package; it is not carried out, so that no caller ever sees one.
func (s *step) to(next State, reason string, by By) {
	if !Allowed(s.state, next) {
		s.refused++
		return
	}
	if s.state == Starting {
		s.giveSlot()
	}
	s.do(Transition{From: s.state, To: next, Life: s.life, Reason: reason, By: by, First: !s.moved, End: s.end})
	s.state, s.reason, s.by, s.since, s.waits, s.moved = next, reason, by, s.now, "", true
	switch next {
	case Running, Crashed, Failed:
		s.firstTry()
	}
}

// firstTry tells, once, that the first start has had its outcome.
func (s *step) firstTry() {
	if !s.tried {
		s.tried = true
		s.do(Tried{})
	}
}

func (s *step) stop(e Stop) {
	switch e.By {
	case ByGroup:
		if s.stopByGroup(e) {
			s.down(e.By, e.Reason)
		}
		return
	case ByProgram: // as the group has allowed
		if s.superseded() { // somebody has made another request of it meanwhile
			s.keep()
			return
		}
		if s.state.AtRest() {
			return // the operation ends when nothing is left of the life, or has ended
		}
	}
	s.again, s.promised, s.waits = false, false, ""
	if e.By == ByPerson {
		s.requested++
		s.do(TellStop{s.requested})
	}
	if e.By == ByTree && s.state == Stopped {
		s.finish(func(o operation) bool { return o.op != OpStop }, false, s.state, e.Reason)
	}
	s.down(e.By, e.Reason)
}

// stopByGroup takes what the group says of a host that it stops, and reports
// whether the host has anything to end for it. A wish that the group has not
// acted on stays.
func (s *step) stopByGroup(e Stop) bool {
	if s.state == Starting || s.state.Up() {
		s.promised = e.Back
		return true
	}
	if e.Back {
		return false // it is down, or about to be
	}
	if !s.superseded() {
		s.again, s.promised, s.waits = false, false, ""
		switch {
		case s.state == Stopped:
			s.reason, s.by = e.Reason, e.By
		case s.state == Failed && s.by == ByDependency:
			s.to(Stopped, e.Reason, e.By) // what it needs is not failed any more
		}
		s.refuse(e.Reason)
	}
	return s.state == Restarting
}

// down ends the present life, or the wait for the next one.
func (s *step) down(by By, reason string) {
	switch s.state {
	case Stopped:
		// Whose wish it is counts: a call does not start what a person stopped.
		s.by = by
		if by == ByPerson {
			s.reason = reason // it is what keeps the host down from now on
		}
	case Failed:
		s.do(CancelTimer{RetryTimer})
		s.crashes, s.streak = nil, 0 // as with a start
		s.to(Stopped, reason, by)
	case Restarting:
		s.do(CancelTimer{BackoffTimer})
		s.to(Stopping, reason, by)
		if !s.Present() {
			s.to(Stopped, reason, by)
		}
	case Stopping:
		s.by = by
	case Starting, Running, Unresponsive:
		s.endStart()
		s.do(CancelTimer{KillTimer})
		s.to(Stopping, reason, by)
		if !s.Present() { // it has waited for a start slot, or for what the supervisor lacked
			s.to(Stopped, reason, by)
			break
		}
		s.spell()
		s.do(StopLife{s.life})
	}
	s.stopped()
}

// replace takes the rules of a new configuration.
func (s *step) replace(e Replace) {
	s.next = &e.Rules
	if !e.Restart || !s.Present() {
		s.adopt()
	}
	switch {
	case s.state.AtRest() || s.state == Stopping:
		done := s.Done() && !e.Restart // it need not run again
		if (s.state == Failed || e.Rules.Eager && !s.Pending() && !done) && s.by != ByPerson {
			s.wish(ByReplace)
		}
	case e.Restart:
		s.crashes, s.streak = nil, 0 // they were those of another configuration
		s.restart(ByReplace, "its configuration is replaced")
	}
}

// adopt has the rules of a Replace hold.
func (s *step) adopt() {
	if s.next != nil {
		s.rules, s.next = *s.next, nil
		s.do(Adopt{})
	}
}

func (s *step) restart(by By, reason string) {
	switch s.state {
	case Starting, Running, Unresponsive:
		if s.slot == slotQueued {
			return // the life to come is as new as can be
		}
		if s.short && !s.Present() {
			s.do(CancelTimer{ShortTimer})
			s.tryAgain()
			return
		}
		// Asked for at once, so that what it depends on starts meanwhile.
		s.ask(by)
		s.down(by, reason)
	default:
		s.wish(by)
	}
}

// hung follows evidence that a life does nothing any more.
func (s *step) hung(e Hung) {
	if !s.Lives(e.Life) || !s.state.Up() {
		if s.Lives(e.Life) && s.state == Starting {
			s.unready = e.Check
		}
		return
	}
	reason := fmt.Sprintf("no sign of life for %s", round(e.For))
	if e.Check != "" {
		s.sick = true
		reason = fmt.Sprintf("not healthy for %s: %s", round(e.For), e.Check)
	} else {
		s.silent = true
	}
	if s.state == Running {
		s.to(Unresponsive, reason, "")
		if s.rules.KillAfter > 0 {
			s.do(SetTimer{KillTimer, s.rules.KillAfter})
		}
	}
}

// alive follows evidence that it does something again.
func (s *step) alive(e Alive) {
	if !s.Lives(e.Life) {
		return
	}
	if e.Check {
		s.sick = false
	} else {
		s.silent = false
	}
	if s.state == Unresponsive && !s.sick && !s.silent {
		s.do(CancelTimer{KillTimer})
		s.to(Running, "answers again", "")
	}
}

// tear gives back what the host has of others.
func (s *step) tear() {
	s.torn, s.advised = true, nil
	s.giveSlot()
	for t := range Timer(Timers) {
		s.do(CancelTimer{t})
	}
}

func (s *step) fired(t Timer) {
	switch t {
	case StartTimer:
		if s.state != Starting || !s.Present() || s.short {
			return
		}
		if s.rules.WaitSlow {
			s.slow = true
			s.giveSlot()
			s.do(Slow{s.life, s.rules.StartTimeout})
			s.firstTry()
			return
		}
		detail := fmt.Sprintf("not ready %s after its start", round(s.rules.StartTimeout))
		if s.unready != "" {
			detail += ": " + s.unready
		}
		s.do(KillLife{s.life, CauseTimeout, detail})
	case QuietTimer:
		if s.state == Starting {
			s.quiet = true
			s.do(Quiet{s.life, s.noHandshake()})
		}
	case KillTimer:
		if s.state == Unresponsive {
			s.do(KillLife{s.life, CauseUnresponsive, fmt.Sprintf("killed: unresponsive for %s", round(s.rules.KillAfter))})
		}
	case ShortTimer:
		if s.short && !s.Present() {
			s.tryAgain()
		}
	case BackoffTimer:
		s.backedOff = true
		s.resume()
	case RetryTimer:
		if s.state == Failed {
			s.wish(ByRule)
		}
	case AdviceTimer:
		if s.advised != nil {
			s.do(Unadvised{s.life})
			s.settleAdvised()
		}
	}
}

// round cuts a duration to what a person reads.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
