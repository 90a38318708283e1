package lifecycle

import (
	"fmt"
	"time"
)

// lifeStep is one Step of a Life in progress.
type lifeStep struct {
	Life
	out []LifeEffect
}

func (s *lifeStep) do(e LifeEffect) { s.out = append(s.out, e) }

// leaving reports whether the end of the life has begun by itself: it has a fault,
// or its process is gone.
func (s *lifeStep) leaving() bool { return s.fault.Cause != "" || s.phase == exited }

func (s *lifeStep) await(what awaited, d time.Duration) {
	s.awaits = what
	s.do(SetLifeTimer{d})
}

func (s *lifeStep) awaitNoMore() {
	if s.awaits != awaitNothing {
		s.awaits = awaitNothing
		s.do(CancelLifeTimer)
	}
}

func (s *lifeStep) launch() {
	s.phase = launched
	s.do(Launch)
}

// prepareNoMore ends the preparation, and reports whether it was going on.
func (s *lifeStep) prepareNoMore() bool {
	if s.phase != preparing {
		return false
	}
	s.phase = unbegun
	s.do(CancelPrepare)
	return true
}

// stop begins the way down: drain, goodbye, signal, SIGKILL.
func (s *lifeStep) stop(ev StopAsked) {
	if s.stopping {
		return
	}
	s.stopping = true
	if s.leaving() {
		return
	}
	if s.prepareNoMore() {
		s.end(Fault{Cause: CauseSpawn, Detail: "stopped before it was started"})
		return
	}
	s.ladder = Ladder{Drain: s.rules.Drain, Grace: s.rules.Grace, Talks: s.talks && !s.closed && !ev.Silent}
	s.climb(s.ladder.First())
}

func (s *lifeStep) climb(rung Rung, stay time.Duration) {
	s.rung = rung
	switch rung {
	case RungDrain:
		s.do(DrainCalls)
	case RungGoodbye:
		s.goodbye = true
		s.do(SayGoodbye)
	case RungSignal:
		s.do(SignalProcess)
	case RungKill:
		s.kill()
		return
	}
	s.await(awaitRung, stay)
}

func (s *lifeStep) nextRung() {
	if s.rung == RungDrain && !s.closed { // else the end of the life says what became of the calls
		s.do(CutOffCalls{s.ladder.Drain})
	}
	s.climb(s.ladder.Next(s.rung))
}

// drained goes on with the stop when there is nothing left to wait for.
func (s *lifeStep) drained() {
	if s.rung == RungDrain && !s.leaving() {
		s.nextRung()
	}
}

// mustEnd kills the process for a reason; the life ends with it when the process
// is gone.
func (s *lifeStep) mustEnd(f Fault) {
	if s.leaving() {
		return
	}
	s.fault = f
	s.awaitNoMore()
	s.prepareNoMore()
	if s.phase < launched {
		s.end(f)
		return
	}
	s.kill()
}

func (s *lifeStep) kill() {
	s.do(KillProcess)
	s.await(awaitKill, KillWait)
}

func (s *lifeStep) streamEnded(ev StreamEnded) {
	s.closed = true
	switch {
	case s.fault.Cause != "", s.stopping: // our own doing
		s.ladder.Talks = false
		s.drained() // nothing is answered any more
	case s.phase == exited, ev.Fault.Cause == CauseClosed, ev.Truncated:
		// Most often a sign of an exit, which says more: a host that is killed
		// while it writes leaves a torn frame, too.
		s.suspect = ev.Fault
		if s.phase != exited {
			s.await(awaitExit, closedGrace)
		}
	default:
		s.mustEnd(ev.Fault)
	}
	if s.phase == exited {
		s.conclude()
	}
}

// exit follows the end of the process. What it said before is in the stream still,
// and says more than its exit. The end of the stream comes right behind, as the rest
// of the tree is killed, too, unless somebody out of reach holds it open.
func (s *lifeStep) exit(ev Exited) {
	s.phase, s.status, s.limit = exited, ev.Status, ev.Limit
	s.awaitNoMore()
	if s.connected && !s.closed {
		s.await(awaitStream, lastWords)
		return
	}
	s.conclude()
}

// conclude decides why the life has ended. The process is gone.
func (s *lifeStep) conclude() {
	if s.awaits == awaitOutput {
		return
	}
	s.awaitNoMore()
	f := s.fault
	switch {
	case f.Cause == "" && s.suspect.Cause != "" && s.suspect.Cause != CauseClosed && s.status.Signal == 0:
		f = s.suspect
	case f.Cause == "", f.Cause == CauseClosed && s.status.Signal != sigkill:
		// The second: it was on its way out when we lost patience.
		f = Fault{Cause: CauseExit, Detail: s.limit}
		if s.limit == "" {
			f.Detail = s.cutShort()
		}
	}
	failed := !s.stopping && s.status.Signal == 0 && s.status.Code != 0 // programs print why
	if f.Cause != CauseExit || f.Detail != "" || !failed && !s.rules.Explains || s.stopping && s.status == (ExitStatus{}) {
		s.end(f)
		return
	}
	if !s.read && (failed || !s.stopping && s.status.Signal != 0) { // what it printed last may explain the end
		s.await(awaitOutput, OutputWait)
		s.do(ReadOutput)
		return
	}
	s.do(Explain{s.status, s.talks})
}

// crashSignals are those that end a process for an error of its own: ILL, TRAP, ABRT,
// BUS, FPE and SEGV.
var crashSignals = map[int]bool{4: true, 5: true, 6: true, 7: true, 8: true, 11: true}

// cutShort says, of a process that a stop has ended by force, what it did not end within;
// "" for others. The signal is no force for a host that got no goodbye.
func (s *lifeStep) cutShort() string {
	var waited string
	switch l := s.ladder; {
	case !s.stopping || s.status.Signal == 0 || crashSignals[s.status.Signal] || l.Grace <= 0:
		return ""
	case s.rung == RungSignal && s.goodbye:
		waited = fmt.Sprintf("%s of its goodbye", l.Grace/2)
	case s.rung == RungKill && s.goodbye:
		waited = fmt.Sprintf("%s of its goodbye and %s of the signal", l.Grace/2, l.Grace-l.Grace/2)
	case s.rung == RungKill:
		waited = fmt.Sprintf("%s of the signal", l.Grace)
	default:
		return ""
	}
	return fmt.Sprintf("%s: it did not end within %s", s.status, waited)
}

// explained ends the life with what is known of its exit.
func (s *lifeStep) explained(ev Explained) {
	f := Fault{Cause: CauseExit}
	if ev.Meaning != "" {
		f.Detail = fmt.Sprintf("%s: %s", s.status, ev.Meaning)
		if s.status == (ExitStatus{}) {
			f.Cause = CauseClosed // not the good end that it looks like
		}
		if ev.Final && !s.stopping {
			f.Cause = CauseVersion
		}
	}
	s.end(f)
}

// partEnded follows the end of a part. Parts end after their life; one that does
// not has a defect, and takes the life with it.
func (s *lifeStep) partEnded(ev PartEnded) {
	f := Fault{Cause: CauseInternal, Detail: "the actor of the process ended"}
	if ev.Connection {
		f.Detail = "the actor of the connection ended"
	}
	switch {
	case ev.Connection && s.phase != exited:
		s.mustEnd(f)
	case ev.Connection && !s.closed: // it is why the process ended, if that did so by itself
		s.closed, s.suspect = true, f
		s.conclude()
	case ev.Connection, s.phase == exited:
	case s.fault.Cause != "":
		s.end(s.fault)
	default:
		s.end(f)
	}
}

func (s *lifeStep) timeout() {
	what := s.awaits
	s.awaits = awaitNothing
	switch what {
	case awaitRung:
		s.nextRung()
	case awaitExit:
		s.mustEnd(s.suspect)
	case awaitKill:
		s.stuck()
	case awaitStream:
		s.conclude()
	case awaitOutput:
		s.read = true
		s.conclude()
	}
}

// stuck ends a life whose process does not end although it was killed.
func (s *lifeStep) stuck() {
	if s.phase < spawned { // its start takes long, which has a bound of its own
		s.kill()
		return
	}
	f := s.fault
	if f.Cause == "" {
		f.Cause = CauseStuck
	}
	s.do(EndLife{Fault: f, Expected: s.stopping, Stuck: true})
	s.phase = over
}

func (s *lifeStep) end(f Fault) {
	s.awaitNoMore()
	s.do(EndLife{Fault: f, Expected: s.stopping})
	s.phase = over
}
