package lifecycle

import (
	"fmt"
	"time"
)

// What follows the end of a life: the crash window, the back-off, and the next life.

// ended follows the end of a life.
func (s *step) ended(e Ended) {
	if !s.Lives(e.Life) {
		return
	}
	s.presence = ended
	if e.Asked == 0 || s.state != Starting && !s.state.Up() {
		s.settle(e)
		return
	}
	s.advised = &e
	if s.state == Starting {
		s.endStart()
	}
	s.do(CancelTimer{KillTimer})
	s.do(SetTimer{AdviceTimer, AdviceWait})
}

// advice takes what somebody has to say about the end of a life.
func (s *step) advice(a Advice) {
	switch {
	case s.advised != nil && a.Life == s.advised.Life:
		e := *s.advised
		e.Asked, e.Cleared = e.Asked-1, e.Cleared || a.Cleared
		s.advised = &e
		if e.Asked == 0 {
			s.do(CancelTimer{AdviceTimer})
			s.settleAdvised()
		}
	case a.Cleared: // too late for the decision
		s.reset()
	}
}

// settleAdvised decides what follows an end that has waited for advice.
func (s *step) settleAdvised() {
	e := *s.advised
	s.advised = nil
	s.settle(e)
}

// vanished follows the end of the actor of a life.
func (s *step) vanished(v Vanished) {
	switch {
	case v.Life != s.life || s.presence != ended:
	case s.advised != nil:
		e := *s.advised
		e.Rest, s.advised = v.Rest, &e
	default:
		s.leave(v.Rest)
	}
}

// settle decides what follows the end of a life.
func (s *step) settle(e Ended) {
	if e.Cleared {
		s.reset()
	}
	s.end = true
	s.decide(e)
	s.end = false
	if e.Cleared {
		s.reset()
	}
	s.leave(e.Rest)
	// The next life begins before anybody is told of the end of this one.
	var told []Effect
	rest := s.out[:0]
	for _, e := range s.out {
		if tells(e) {
			told = append(told, e)
		} else {
			rest = append(rest, e)
		}
	}
	s.out = append(rest, told...)
}

// tells reports whether an effect makes something known.
func tells(e Effect) bool {
	switch e.(type) {
	case Transition, Tried, AskStart, TellStop, Done, Shortage, Unadvised:
		return true
	}
	return false
}

// reset clears the crash window and the back-off.
func (s *step) reset() {
	s.crashes, s.streak = nil, 0
	if s.state == Failed {
		s.wish(ByPerson)
	}
}

// leave follows what is left of a life that has ended.
func (s *step) leave(r Rest) {
	switch r {
	case RestTree:
		s.presence = leaving
		s.do(AwaitTree{s.life})
	case RestNothing:
		s.gone(Gone{Life: s.life})
	}
}

// decide asks the rules what follows the end of a life.
func (s *step) decide(e Ended) {
	switch s.state {
	case Starting, Running, Unresponsive:
	default:
		return // asked for, or already decided
	}
	s.endStart()
	if e.Cause == CauseShortage && s.state == Starting {
		s.shortage(e.Detail)
		return
	}
	s.do(CancelTimer{KillTimer})
	s.spell()
	reason := e.Reason()
	if e.Cause == CauseExit && s.rules.Restart.success(e.Status) {
		if s.state == Running {
			s.ownExit(e.Status, reason)
			return
		}
		if s.state == Starting {
			reason += " before it was ready"
		} else {
			reason += " while unresponsive"
		}
	}
	s.crash(e.Cause, reason)
}

// spell starts the count of ends anew if the life that ends has run for long enough.
func (s *step) spell() {
	if s.now.Sub(s.spawnedAt) >= s.rules.Restart.Backoff.Healthy {
		s.streak = 0
	}
}

// ownExit follows an exit with a success status of a running host.
func (s *step) ownExit(status ExitStatus, reason string) {
	if s.rules.Job {
		s.crashes, s.streak = nil, 0 // they were those of this run
		done := "done in " + round(s.now.Sub(s.spawnedAt)).String()
		if status != (ExitStatus{}) {
			done += ": " + reason
		}
		s.to(Stopped, done, ByDone)
		return
	}
	if s.rules.Restart.Policy != Always {
		s.to(Stopped, reason, BySelf)
		return
	}
	s.retry(reason, "")
}

// crash counts a crash and asks the rules.
func (s *step) crash(cause Cause, reason string) {
	r := s.rules.Restart
	s.crashes = append(append([]time.Time(nil), s.inWindow(s.now)...), s.now)
	s.crashed++
	s.to(Crashed, reason, "")
	switch {
	case r.Policy == Never:
		s.to(Stopped, reason, BySelf)
	case cause == CauseVersion, cause == CauseRefused:
		s.to(Failed, reason+": not tried again", "")
	case len(s.crashes) >= r.MaxCrashes:
		s.to(Failed, fmt.Sprintf("%s: crash %d in %s, given up", reason, len(s.crashes), round(r.Window)), "")
		if r.RetryFailed > 0 {
			s.do(SetTimer{RetryTimer, r.RetryFailed})
		}
	default:
		s.retry(reason, fmt.Sprintf(", crash %d of %d in %s", len(s.crashes), r.MaxCrashes, round(r.Window)))
	}
}

// retry goes to restarting and sets the back-off.
func (s *step) retry(reason, budget string) {
	wait := s.rules.Restart.Backoff.Delay(s.streak, s.random())
	s.streak++
	when := "again now"
	if wait > 0 {
		when = "again in " + round(wait).String()
	}
	s.to(Restarting, reason+": "+when+budget, "")
	s.backedOff, s.asks = wait == 0, false
	if wait > 0 {
		s.retryAt = s.now.Add(wait)
		s.do(SetTimer{BackoffTimer, wait})
	}
	s.resume()
}

// resume starts the next life of a restarting host when nothing of its own holds
// it any more.
func (s *step) resume() {
	if s.state != Restarting || !s.backedOff || s.Present() {
		return
	}
	switch {
	case !s.rules.Gated:
		s.launch(ByRule)
	case !s.asks:
		s.ask(ByRule)
	}
}

func (s *step) gone(e Gone) {
	if e.Life != s.life || !s.Present() {
		return
	}
	s.presence = absent
	s.adopt()
	switch {
	case s.state == Stopping && e.Left != "" && !s.Pending():
		s.to(Failed, e.Left, s.by) // it is not stopped, and somebody has to look
	case s.state == Stopping:
		s.to(Stopped, s.reason, s.by)
	case s.state == Stopped && e.Left != "":
		s.finish(func(o operation) bool { return o.op == OpStop }, false, Stopping, e.Left)
	}
	s.stopped()
	switch {
	case s.short:
		s.do(SetTimer{ShortTimer, s.shortWait()})
	case !s.again:
		s.resume()
	case s.state == Restarting && !s.rules.Gated:
		s.do(CancelTimer{BackoffTimer})
		s.launch(s.againBy)
	default:
		s.ask(s.againBy) // a start that came before was none
	}
}

// inWindow returns the crashes that still count at now, oldest first.
func (h Host) inWindow(now time.Time) []time.Time {
	for i, t := range h.crashes {
		if now.Sub(t) < h.rules.Restart.Window {
			return h.crashes[i:]
		}
	}
	return nil
}

// random returns a number in [0,1) and moves the seed on (splitmix64, by
// Steele, Lea and Flood).
func (s *step) random() float64 {
	s.rng += 0x9e3779b97f4a7c15
	z := s.rng
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}
