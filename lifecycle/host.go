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
	KillAfter    time.Duration // unresponsive to killed; 0: never
	Gated        bool          // restarts wait for the group's Release (one_for_all, rest_for_one)
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

	present   bool        // a life exists (its actor is not gone yet)
	spawnedAt time.Time   // of the current life
	again     bool        // start once the present life is gone
	againBy   By          // who asked for that
	backedOff bool        // the back-off has run out
	released  bool        // the group has let go
	crashes   []time.Time // within the window, oldest first; never changed in place
	streak    int         // ends since the last healthy spell
	restarts  uint64      // lives after the first one that the rules started
	slow      bool        // the running start is over its time-out
	place     place       // of the running start
	rng       uint64
	refused   int // transitions the table did not have; tests hold it at 0
}

// NewHost returns a stopped host. The seed makes its jitter reproducible.
func NewHost(rules HostRules, seed uint64, now time.Time) Host {
	return Host{rules: rules, state: Stopped, since: now, rng: seed}
}

// State is the state it is in.
func (h Host) State() State { return h.state }

// Reason says why it is in that state.
func (h Host) Reason() string { return h.reason }

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

// WaitsForPlace says whether it is starting and has no process yet, as too many
// others are starting.
func (h Host) WaitsForPlace() bool { return h.place == wantsPlace }

// Pending says whether a start follows as soon as the present life is gone.
func (h Host) Pending() bool { return h.again }

// StoppedByPerson says whether the host is down because a person wanted it so;
// a call does not start it then.
func (h Host) StoppedByPerson() bool {
	return (h.state == Stopped || h.state == Stopping) && h.by == ByPerson && !h.again
}

// CrashesInWindow counts the crashes that still count at now.
func (h Host) CrashesInWindow(now time.Time) int { return len(h.inWindow(now)) }

// Step takes one event and returns the next machine and what to do.
func (h Host) Step(ev Event, now time.Time) (Host, []Effect) {
	s := step{Host: h, now: now}
	switch ev := ev.(type) {
	case Start:
		s.start(ev.By)
	case Stop:
		s.stop(ev.By, ev.Reason)
	case Restart:
		s.restart(ev.By)
	case Reset:
		s.crashes, s.streak = nil, 0
		if s.state == Failed {
			s.start(ByPerson)
		}
	case Release:
		s.released = true
		s.resume()
	case DependencyFailed:
		if s.state == Stopped {
			s.to(Failed, fmt.Sprintf("dependency %s failed", ev.Name), ByDependency)
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
		s.gone(ev.Life)
	case Fired:
		s.fired(ev.Timer)
	}
	return s.Host, s.out
}

// step is one Step in progress.
type step struct {
	Host
	now time.Time
	out []Effect
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
	s.do(Transition{From: s.state, To: next, Life: s.life, Reason: reason, By: by})
	s.state, s.reason, s.by, s.since = next, reason, by, s.now
}

func (s *step) start(by By) {
	switch s.state {
	case Failed:
		s.do(CancelTimer{RetryTimer})
		s.crashes, s.streak = nil, 0 // a new window
		s.launch(by)
	case Stopped:
		s.launch(by)
	case Restarting:
		if s.rules.Gated && !s.released {
			s.backedOff = true // go on as soon as the group lets go
			return
		}
		s.do(CancelTimer{BackoffTimer})
		s.launch(by)
	case Stopping:
		s.again, s.againBy = true, by
	}
}

// launch begins a life, now or as soon as the old one is gone.
func (s *step) launch(by By) {
	if s.present {
		s.again, s.againBy = true, by
		return
	}
	s.again = false
	s.life++
	s.slow = false
	if s.rules.Placed {
		s.place = wantsPlace
		s.do(TakePlace{s.life})
		s.to(Starting, startReason(by), by)
		return
	}
	s.to(Starting, startReason(by), by)
	s.spawn()
}

// spawn makes the process of a life that nothing holds up any more.
func (s *step) spawn() {
	s.present, s.spawnedAt = true, s.now
	s.do(SpawnLife{s.life})
	if s.rules.StartTimeout > 0 {
		s.do(SetTimer{StartTimer, s.rules.StartTimeout})
	}
}

func (s *step) placed(life uint64) {
	if life != s.life || s.place != wantsPlace {
		return // it was given back before we heard of it
	}
	s.place = hasPlace
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
	case ByPerson:
		return "asked for"
	case ByCall:
		return "first call"
	case ByDependent:
		return "needed by another host"
	case ByRule:
		return "restart"
	case ByGroup:
		return "restart with its group"
	}
	return "configured"
}

func (s *step) stop(by By, reason string) {
	s.again = false
	switch s.state {
	case Stopped:
		// Whose wish it is counts: a call does not start what a person stopped.
		s.by = by
	case Failed:
		s.do(CancelTimer{RetryTimer})
		s.to(Stopped, reason, by)
	case Restarting:
		s.do(CancelTimer{BackoffTimer})
		s.to(Stopping, reason, by)
		if !s.present {
			s.to(Stopped, reason, by)
		}
	case Stopping:
		if by == ByPerson || by == ByTree {
			s.by = by
		}
	case Starting, Running, Unresponsive:
		s.do(CancelTimer{StartTimer})
		s.do(CancelTimer{KillTimer})
		s.to(Stopping, reason, by)
		if !s.present { // it has waited for a place
			s.to(Stopped, reason, by)
			return
		}
		s.do(StopLife{s.life})
	}
}

func (s *step) restart(by By) {
	switch s.state {
	case Stopped, Failed:
		s.start(by)
	case Restarting:
		s.start(by)
	default:
		if s.place == wantsPlace {
			return // the life to come is as new as can be
		}
		s.stop(by, "restart asked for")
		s.again, s.againBy = true, by
	}
}

func (s *step) ready(life uint64) {
	if life != s.life || s.state != Starting || s.place == wantsPlace {
		return
	}
	s.do(CancelTimer{StartTimer})
	s.slow = false
	s.to(Running, "ready", "")
}

// ended decides what follows the end of a life.
func (s *step) ended(e Ended) {
	if e.Life != s.life || s.place == wantsPlace {
		return
	}
	switch s.state {
	case Starting, Running, Unresponsive:
	default:
		return // asked for, or already decided
	}
	s.do(CancelTimer{StartTimer})
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
	case cause == CauseVersion:
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
	s.backedOff, s.released = wait == 0, false
	if wait > 0 {
		s.do(SetTimer{BackoffTimer, wait})
	}
	s.resume()
}

// resume starts the next life of a restarting host when nothing holds it.
func (s *step) resume() {
	if s.state != Restarting || !s.backedOff || s.rules.Gated && !s.released {
		return
	}
	s.launch(ByRule)
	if s.state == Starting {
		s.restarts++
	}
}

func (s *step) gone(life uint64) {
	if life != s.life || !s.present {
		return
	}
	s.present = false
	if s.state == Stopping {
		s.to(Stopped, s.reason, s.by)
	}
	if !s.again {
		return
	}
	restarting := s.state == Restarting
	s.launch(s.againBy)
	if restarting {
		s.restarts++
	}
}

func (s *step) fired(t Timer) {
	switch t {
	case StartTimer:
		if s.state != Starting {
			return
		}
		if s.rules.WaitSlow {
			s.slow = true
			s.givePlace()
			s.do(Slow{s.life, s.rules.StartTimeout})
			return
		}
		s.do(KillLife{s.life, CauseTimeout, fmt.Sprintf("not ready %s after its start", round(s.rules.StartTimeout))})
	case KillTimer:
		if s.state == Unresponsive {
			s.do(KillLife{s.life, CauseUnresponsive, fmt.Sprintf("killed: unresponsive for %s", round(s.rules.KillAfter))})
		}
	case BackoffTimer:
		s.backedOff = true
		s.resume()
	case RetryTimer:
		if s.state == Failed {
			s.start(ByRule)
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
