package lifecycle

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestRandomWalk feeds a host whatever can happen in any order and holds it to
// its promises: no transition outside the table, never two lives at once, no
// end state that a start does not leave.
func TestRandomWalk(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		rules := HostRules{Restart: DefaultRestart(), StartTimeout: time.Minute, KillAfter: 30 * time.Second, Gated: seed%3 == 0, WaitSlow: seed%2 == 0, MaxStarting: max(0, 2-int(seed%5))}
		rules.Restart.Policy = []Policy{OnCrash, Always, Never}[r.IntN(3)]
		rules.Restart.RetryFailed = time.Duration(r.IntN(2)) * time.Minute
		now := time.Unix(1, 0)
		h := NewHost(rules, seed, now)
		alive := uint64(0) // the life whose actor exists
		slot := uint64(0)  // the life that has a slot, or waits for one
		asked := false     // a slot was asked for, without an answer yet
		requested := 0     // number of the last request to the group
		acked := 0         // number of the last that it has acted on
		short := false     // the next life has the slot of the one before
		state := h.State()
		for range 2000 {
			now = now.Add(time.Duration(r.IntN(40_000)) * time.Millisecond)
			life := h.Life() - uint64(r.IntN(2))
			all := []Event{
				Start{ByPerson, acked}, Stop{By: ByPerson, Reason: "x"}, Stop{ByGroup, "x", r.IntN(2) == 0, acked}, Stop{By: ByTree, Reason: "x"},
				Wish{ByCall}, Operate{OpStart, ByPerson, 1, ""}, Operate{OpStop, ByPerson, 2, ""}, Operate{OpRestart, ByPerson, 3, ""}, Operate{OpStart, ByProgram, 4, ""}, Operate{OpStart, BySchedule, 5, "02:00"}, Operate{OpRestart, BySchedule, 6, "02:00"}, Operate{OpStop, ByProgram, 7, ""}, StopRefused{acked}, Stop{By: ByProgram, Reason: "idle", Ack: acked}, Reset{}, DependencyFailed{"db", acked}, Waits{"db", acked},
				SlotGranted{life}, Ready{life}, Hung{life, time.Second, ""}, Alive{Life: life}, Fired{StartTimer}, Fired{KillTimer}, Fired{BackoffTimer}, Fired{RetryTimer},
				Ended{Life: life, Cause: CauseExit}, Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: 3}}, Ended{Life: life, Cause: CauseVersion},
				Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: 3}, Rest: RestNothing}, Ended{Life: life, Cause: CauseExit, Status: ExitStatus{Code: 3}, Cleared: true, Rest: RestTree},
				Ended{Life: life, Cause: CauseShortage}, Ended{Life: life, Cause: CauseRefused}, Fired{ShortTimer},
			}
			if acked < requested && r.IntN(5) == 0 {
				acked++
			}
			ev := all[r.IntN(len(all))]
			switch {
			case asked: // the answer comes before anything else
				ev, asked = []Event{SlotGranted{h.Life()}, SlotQueued{h.Life()}}[r.IntN(2)], false
			case r.IntN(4) == 0 && h.presence == ended:
				ev = Vanished{alive, []Rest{RestTree, RestNothing}[r.IntN(2)]}
			case r.IntN(4) == 0 && h.presence >= ended:
				ev = Gone{Life: alive}
			}
			before, lived := h.Life(), h.Lives(h.Life())
			var effects []Effect
			h, effects = h.Step(ev, now)
			switch e := ev.(type) {
			case Gone:
				alive = 0
			case Ended:
				if e.Rest == RestNothing && e.Life == before && lived {
					alive = 0
				}
			case Vanished:
				if e.Rest == RestNothing {
					alive = 0
				}
			}
			if h.refused != 0 {
				t.Fatalf("seed %d: %T in %s: a transition the table does not have", seed, ev, state)
			}
			for _, e := range effects {
				switch e := e.(type) {
				case Transition:
					if e.From != state || !Allowed(e.From, e.To) {
						t.Fatalf("seed %d: told %s -> %s while in %s", seed, e.From, e.To, state)
					}
					state = e.To
				case AskStart:
					requested = e.Number
				case TellStop:
					requested = e.Number
				case SpawnLife:
					if alive != 0 {
						t.Fatalf("seed %d: life %d spawned while life %d is there", seed, e.Life, alive)
					}
					alive = e.Life
					if short && slot != 0 {
						slot = e.Life
					}
					short = false
					if rules.MaxStarting > 0 && slot != e.Life {
						t.Fatalf("seed %d: life %d spawned without a slot", seed, e.Life)
					}
				case TakeSlot:
					if slot != 0 || rules.MaxStarting == 0 {
						t.Fatalf("seed %d: a slot for life %d while life %d has one", seed, e.Life, slot)
					}
					slot, asked = e.Life, true
				case Shortage:
					short = true
				case GiveSlot:
					if slot != e.Life {
						t.Fatalf("seed %d: the slot of life %d given back, that of life %d is held", seed, e.Life, slot)
					}
					slot = 0
				}
			}
			if slot != 0 && !asked && (state != Starting || h.IsSlow()) {
				t.Fatalf("seed %d: a slot is held in %s", seed, state)
			}
			if state != h.State() {
				t.Fatalf("seed %d: told %s, is %s", seed, state, h.State())
			}
		}
	}
}

func TestDelay(t *testing.T) {
	b := DefaultRestart().Backoff
	for n, want := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		if got := b.Delay(n, 0.5); got != want {
			t.Errorf("delay %d = %s, want %s", n, got, want)
		}
	}
	if lo, hi := b.Delay(2, 0), b.Delay(2, 0.999999); lo != 160*time.Millisecond || hi < 239*time.Millisecond || hi > 240*time.Millisecond {
		t.Errorf("jitter runs from %s to %s, want 160ms to 240ms", lo, hi)
	}
	if got := b.Delay(1_000_000, 0.5); got != b.Max {
		t.Errorf("a long streak waits %s, want the cap %s", got, b.Max)
	}
}

// TestCrashLoopIsSlowedDown is the promise to a machine with a broken host:
// with a hundred crashes allowed, one that ends at once is started at most ten
// times in ten seconds, although its first restart does not wait.
func TestCrashLoopIsSlowedDown(t *testing.T) {
	for seed := range uint64(200) {
		rules := HostRules{Restart: DefaultRestart()}
		rules.Restart.MaxCrashes = 100
		begin := time.Unix(1, 0)
		now := begin
		h := NewHost(rules, seed, now)
		starts := 0
		var pending []Event = []Event{Start{By: ByTree}}
		for len(pending) > 0 && now.Sub(begin) < 10*time.Second {
			ev := pending[0]
			pending = pending[1:]
			var effects []Effect
			h, effects = h.Step(ev, now)
			for _, e := range effects {
				switch e := e.(type) {
				case SpawnLife:
					starts++
					pending = append(pending, Ready{e.Life}, Ended{Life: e.Life, Cause: CauseExit, Status: ExitStatus{Code: 1}}, Gone{Life: e.Life})
				case SetTimer:
					now = now.Add(e.After)
					pending = append(pending, Fired{e.Timer})
				}
			}
		}
		if starts > 10 || starts < 5 {
			t.Fatalf("seed %d: %d starts in 10 s", seed, starts)
		}
	}
}

func TestLiveness(t *testing.T) {
	const s = int64(time.Second)
	l := NewLiveness(3*time.Second, time.Second)
	read := func(owed, sign, now int64, want Verdict) {
		t.Helper()
		var got Verdict
		if l, got, _ = l.Read(owed, sign, now); got != want {
			t.Fatalf("at %d s: verdict %d, want %d", now/s, got, want)
		}
	}
	read(0, 0, 1*s, Same)
	read(0, 0, 2*s, Same)            // idle
	read(2*s, 0, 3*s, Same)          // owed since 2 s
	read(2*s, 0, 4*s, Same)          //
	read(2*s, 0, 5*s, NowHung)       // three seconds of silence
	read(2*s, 0, 6*s, Same)          // said once
	read(2*s, 65*s/10, 7*s, NowBack) // a sign
	read(2*s, 65*s/10, 8*s, Same)
	// The supervisor itself was stopped for a minute: not the host's silence.
	read(2*s, 65*s/10, 68*s, Same)
	read(2*s, 65*s/10, 69*s, Same)
	read(2*s, 65*s/10, 70*s, Same)
	read(2*s, 65*s/10, 71*s, NowHung)
	read(0, 65*s/10, 72*s, NowBack)
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		l     Ladder
		rungs []Rung
		total time.Duration
	}{
		{Ladder{Grace: 5 * time.Second, Talks: true}, []Rung{RungGoodbye, RungSignal, RungKill}, 5 * time.Second},
		{Ladder{Grace: 5 * time.Second}, []Rung{RungSignal, RungKill}, 5 * time.Second},
		{Ladder{Talks: true}, []Rung{RungKill}, 0},
		{Ladder{Drain: time.Minute, Grace: 5 * time.Second, Talks: true}, []Rung{RungDrain, RungGoodbye, RungSignal, RungKill}, 65 * time.Second},
		{Ladder{Drain: time.Minute, Grace: 5 * time.Second}, []Rung{RungSignal, RungKill}, 5 * time.Second},
		{Ladder{Drain: time.Minute, Talks: true}, []Rung{RungDrain, RungKill}, time.Minute},
	} {
		rung, stay := c.l.First()
		got, total := []Rung{rung}, stay
		for rung != RungKill {
			rung, stay = c.l.Next(rung)
			got, total = append(got, rung), total+stay
		}
		if len(got) != len(c.rungs) || total != c.total {
			t.Errorf("%+v: %v in %s, want %v in %s", c.l, got, total, c.rungs, c.total)
		}
	}
}

func TestTransitionsAreClosed(t *testing.T) {
	for from, tos := range transitions {
		for _, to := range tos {
			if !to.Valid() {
				t.Errorf("%s -> %s leads out of the table", from, to)
			}
		}
	}
	if len(transitions) != len(States()) {
		t.Errorf("%d states in the table, want %d", len(transitions), len(States()))
	}
}
