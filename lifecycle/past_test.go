package lifecycle

import (
	"testing"
	"time"
)

// TestPast has a host go on where another one has ended, one crash before it is given up.
func TestPast(t *testing.T) {
	rule := DefaultRestart()
	now := time.Unix(1000, 0)
	run := func(h Host, events ...Event) Host {
		for _, e := range events {
			now = now.Add(time.Second)
			h, _ = h.Step(e, now)
		}
		return h
	}
	crash := func(life uint64) []Event {
		return []Event{Ready{Life: life}, Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: 1}, Rest: RestNothing}}
	}
	h := run(NewHost(HostRules{Restart: rule}, 1, now), Start{By: ByPerson})
	h = run(h, crash(1)...)
	h = run(h, Fired{Timer: BackoffTimer})
	h = run(h, crash(2)...)
	p := PastOf(&h)
	if p.Life != 2 || len(p.Crashes) != 2 || p.Streak != 2 {
		t.Fatalf("%+v, %s", p, h.State())
	}
	next := NewHost(HostRules{Restart: rule}, 1, now)
	Resume(&next, p)
	next = run(next, Start{By: ByTree})
	if next.Life() != 3 || next.State() != Starting || next.CrashesInWindow(now) != 2 {
		t.Errorf("life %d, %s, %d crashes", next.Life(), next.State(), next.CrashesInWindow(now))
	}
	if next = run(next, crash(3)...); next.State() != Failed {
		t.Errorf("after the third crash in the window: %s, %s", next.State(), next.Reason())
	}
	if got := PastOf(&h); len(got.Crashes) != 2 {
		t.Errorf("the old machine has changed: %+v", got)
	}
}

// TestPastProcessKeepsItsAge has a life go on whose process was spawned before, for as long as a healthy one.
func TestPastProcessKeepsItsAge(t *testing.T) {
	rule := DefaultRestart()
	now := time.Unix(100000, 0)
	for age, want := range map[time.Duration]int{0: 3, rule.Backoff.Healthy: 1} {
		h := NewHost(HostRules{Restart: rule}, 1, now)
		p := Past{Life: 4, Streak: 2}
		if age > 0 {
			p.Spawned = now.Add(-age)
		}
		Resume(&h, p)
		for _, e := range []Event{Start{By: ByTree}, Ready{Life: 5}, Ended{Life: 5, Cause: CauseExit, Status: ExitStatus{Code: 1}, Rest: RestNothing}} {
			h, _ = h.Step(e, now)
		}
		if got := PastOf(&h).Streak; got != want {
			t.Errorf("a process of %s: %d ends in a row, expected %d", age, got, want)
		}
	}
}
