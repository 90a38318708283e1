package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
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
		s.givePlace()
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
		s.launch(by)
	case Restarting:
		if s.rules.Gated && !s.asks {
			return // meant for the restart before this one
		}
		s.do(CancelTimer{BackoffTimer})
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
	if s.state == Restarting && by == ByRule {
		s.restarts++
	}
	s.again, s.promised = false, false
	s.life++
	s.slow, s.quiet, s.shortFor = false, false, 0
	s.againBy = by
	if s.rules.MaxStarting > 0 {
		s.place = asksPlace
		s.do(TakePlace{s.life})
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
	s.to(Starting, startReason(by)+waits, by)
	s.reason = startReason(by)
}

// spawn makes the process of a life that nothing holds up any more.
func (s *step) spawn() {
	s.presence, s.spawnedAt, s.retryAt = alive, s.now, time.Time{}
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
	if s.rules.MaxStarting > 0 && s.place == noPlace { // it was slow, and has given its place back
		s.place = asksPlace
		s.do(TakePlace{s.life})
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
	s.slow, s.quiet = false, false
}

func (s *step) placed(life uint64) {
	if life != s.life || s.place != asksPlace && s.place != queuedPlace {
		return // it was given back before we heard of it
	}
	s.place = hasPlace
	s.begin("")
	s.spawn()
}

// givePlace lets another host start.
func (s *step) givePlace() {
	if s.place != noPlace {
		s.place = noPlace
		s.do(GivePlace{s.life})
	}
}

func startReason(by By) string {
	switch by {
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
	}
	return "configured"
}

func (s *step) stop(e Stop) {
	if e.By == ByGroup {
		if s.stopByGroup(e) {
			s.down(e.By, e.Reason)
		}
		return
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
		if !s.Present() { // it has waited for a place, or for what the supervisor lacked
			s.to(Stopped, reason, by)
			break
		}
		s.do(StopLife{s.life})
	}
	s.stopped()
}

func (s *step) restart(by By) {
	switch s.state {
	case Starting, Running, Unresponsive:
		if s.place == queuedPlace {
			return // the life to come is as new as can be
		}
		if s.short && !s.Present() {
			s.do(CancelTimer{ShortTimer})
			s.tryAgain()
			return
		}
		// Asked for at once, so that what it depends on starts meanwhile.
		s.ask(by)
		s.down(by, "restart asked for")
	default:
		s.wish(by)
	}
}

func (s *step) ready(life uint64) {
	if !s.Lives(life) || s.state != Starting {
		return
	}
	s.endStart()
	s.to(Running, "ready", "")
}

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
	slices.SortStableFunc(s.out, func(a, b Effect) int { return cmp.Compare(tells(a), tells(b)) })
}

// tells returns 1 for an effect that makes something known, 0 for others.
func tells(e Effect) int {
	switch e.(type) {
	case Transition, Tried, AskStart, TellStop, Done, Shortage, Unadvised:
		return 1
	}
	return 0
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

// tear gives back what the host has of others.
func (s *step) tear() {
	s.torn, s.advised = true, nil
	s.givePlace()
	for t := range Timer(Timers) {
		s.do(CancelTimer{t})
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
	if s.now.Sub(s.spawnedAt) >= s.rules.Restart.Backoff.Healthy {
		s.streak = 0
	}
	reason := e.Reason()
	if e.Cause == CauseExit && s.rules.Restart.success(e.Status) {
		if s.state == Running {
			s.ownExit(reason)
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

// ownExit follows an exit with a success status of a running host.
func (s *step) ownExit(reason string) {
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
	switch {
	case s.state == Stopping && e.Left != "" && !s.Pending():
		s.to(Failed, e.Left, "") // it is not stopped, and somebody has to look
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

func (s *step) fired(t Timer) {
	switch t {
	case StartTimer:
		if s.state != Starting || !s.Present() || s.short {
			return
		}
		if s.rules.WaitSlow {
			s.slow = true
			s.givePlace()
			s.do(Slow{s.life, s.rules.StartTimeout})
			s.firstTry()
			return
		}
		s.do(KillLife{s.life, CauseTimeout, fmt.Sprintf("not ready %s after its start", round(s.rules.StartTimeout))})
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
