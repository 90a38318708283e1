package blame

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/require"
)

// guilt describes when the culprit of a world crashes its host.
type guilt struct {
	name       string
	activating bool // already while it is activated
	together   bool // only while another call is in flight beside its own
	hang       bool // it hangs, and is killed for that
	profile    bool // and a profile shows that it uses the processor
	silent     bool // some time after its activation, without evidence
	noise      bool // what is in flight then is not its own
	homeMax    int  // the allowed number of crashes at home
}

// world runs extensions in cells like a supervisor.
type world struct {
	t       *testing.T
	m       *Machine
	rng     *rand.Rand
	culprit extensions.ID
	how     guilt
	now     time.Time
	lives   map[string]*running
	next    uint64
	timer   time.Time
	log     []Decision

	homeCrashes, crashes, maxLives int
}

type running struct {
	life  uint64
	begun map[extensions.ID]bool
	calls map[uint64]extensions.ID
}

func (w *world) step(ev Event) {
	for _, e := range w.m.Step(ev, w.now) {
		switch e := e.(type) {
		case Record:
			w.log = append(w.log, e.Decision)
		case SetTimer:
			w.timer = w.now.Add(e.After)
		case CancelTimer:
			w.timer = time.Time{}
		case Close:
			delete(w.lives, e.Cell)
		case Move:
			if r := w.lives[e.From]; r != nil {
				delete(r.begun, e.ID) // the host was down, or no longer needs it
				for n, id := range r.calls {
					if id == e.ID {
						delete(r.calls, n)
					}
				}
			}
		}
	}
	w.maxLives = max(w.maxLives, w.m.Lives())
}

// use activates an extension and calls it.
func (w *world) use(id extensions.ID) {
	w.now = w.now.Add(time.Second)
	if !w.timer.IsZero() && !w.now.Before(w.timer) {
		w.timer = time.Time{}
		w.step(Fired{})
	}
	cell := w.m.Cells()[id]
	r := w.lives[cell]
	if r == nil {
		w.next++
		r = &running{w.next, map[extensions.ID]bool{}, map[uint64]extensions.ID{}}
		w.lives[cell] = r
		w.step(LifeStarted{cell, r.life})
	}
	if !r.begun[id] {
		r.begun[id] = true
		w.step(Began{cell, r.life, id})
		if id == w.culprit && w.how.activating {
			w.down(cell, r)
			return
		}
		w.step(Finished{cell, r.life, id})
	}
	if w.how.silent {
		if r.begun[w.culprit] && w.rng.IntN(4) == 0 {
			if w.how.noise {
				w.next++
				w.step(CallBegan{cell, r.life, w.next, id, "noise", 0})
			}
			w.down(cell, r)
		}
		return
	}
	w.next++
	r.calls[w.next] = id
	w.step(CallBegan{cell, r.life, w.next, id, "command", 0})
	mine, others := 0, 0
	for _, by := range r.calls {
		if by == w.culprit {
			mine++
		} else {
			others++
		}
	}
	if mine > 0 && !w.how.activating && (others > 0 || !w.how.together) {
		w.down(cell, r)
		return
	}
	for n := range r.calls {
		if w.rng.IntN(3) == 0 {
			delete(r.calls, n)
			w.step(CallEnded{cell, r.life, n})
		}
	}
}

func (w *world) down(cell string, r *running) {
	w.crashes++
	if cell == Home {
		w.homeCrashes++
	}
	delete(w.lives, cell)
	kind := Exit
	if w.how.hang {
		kind = Hang
		w.step(Hung{cell, r.life})
		if w.how.profile {
			w.step(Profile{cell, r.life, []Share{{w.culprit, 0.97}, {"x.0", 0.03}}})
		}
	}
	w.step(Crashed{cell, r.life, kind, "killed by SIGABRT"})
}

var guilts = []guilt{
	{name: "aborts in its command", homeMax: 2},
	{name: "aborts beside another call", together: true, homeMax: 3},
	{name: "aborts in its activation", activating: true, homeMax: 2},
	{name: "hangs", hang: true, homeMax: 2},
	{name: "hangs in the profile", hang: true, profile: true, homeMax: 2},
	{name: "aborts later", silent: true, homeMax: 2},
}

// For any single culprit and any order of events, the machine isolates exactly the
// culprit within its budget, and it no longer crashes other extensions.
func TestCulpritIsIsolated(t *testing.T) {
	for _, how := range guilts {
		t.Run(how.name, func(t *testing.T) {
			for seed := range uint64(require.Rounds(25, 6)) {
				rng := rand.New(rand.NewPCG(seed, 7))
				n := 2 + rng.IntN(15) // as many as trials can separate
				if !how.silent {
					n = 2 + rng.IntN(60)
				}
				if how.together {
					n++ // of two that crash only together either may be the culprit
				}
				w := &world{t: t, m: New(Rules{}), rng: rng, how: how, now: time.Unix(0, 0), lives: map[string]*running{}, culprit: extensions.ID(fmt.Sprintf("x.%d", rng.IntN(n)))}
				for range 40 * n {
					w.use(extensions.ID(fmt.Sprintf("x.%d", rng.IntN(n))))
				}
				for range 1500 { // long enough that a search can end
					w.use(extensions.ID(fmt.Sprintf("x.%d", rng.IntN(n))))
				}
				if got := w.m.Quarantined(); !slices.Equal(got, []extensions.ID{w.culprit}) {
					t.Fatalf("seed %d: %v are in quarantine, %s of %d is the culprit\n%s", seed, got, w.culprit, n, w.history())
				}
				cell := w.m.Cells()[w.culprit]
				for id, c := range w.m.Cells() {
					if id != w.culprit && c == cell {
						t.Fatalf("seed %d: %s is with the culprit %s\n%s", seed, id, w.culprit, w.history())
					}
				}
				// Crashes that are too far apart to be evidence are added.
				apart := -1
				for _, d := range w.log {
					if d.Verdict == Noted && len(d.Evidence) == 1 {
						apart++
					}
				}
				if w.homeCrashes > how.homeMax+max(0, apart) || w.maxLives > 8 {
					t.Fatalf("seed %d: %d crashes at home, %d trial lives\n%s", seed, w.homeCrashes, w.maxLives, w.history())
				}
			}
		})
	}
}

// With misleading evidence the search takes longer, and an innocent extension may be
// isolated for a while.
func TestCulpritIsFoundDespiteMisleadingEvidence(t *testing.T) {
	for seed := range uint64(require.Rounds(30, 6)) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := 2 + rng.IntN(8)
		w := &world{t: t, m: New(Rules{}), rng: rng, how: guilt{silent: true, noise: true}, now: time.Unix(0, 0), lives: map[string]*running{}, culprit: extensions.ID(fmt.Sprintf("x.%d", rng.IntN(n)))}
		for range 6000 {
			w.use(extensions.ID(fmt.Sprintf("x.%d", rng.IntN(n))))
		}
		if got := w.m.Quarantined(); !slices.Contains(got, w.culprit) {
			t.Errorf("seed %d: %v are in quarantine, %s of %d is the culprit\n%s", seed, got, w.culprit, n, w.history())
		}
	}
}

func TestSameEventsGiveSameDecisions(t *testing.T) {
	tell := func() string {
		rng := rand.New(rand.NewPCG(3, 9))
		w := &world{t: t, m: New(Rules{}), rng: rng, how: guilts[1], now: time.Unix(0, 0), lives: map[string]*running{}, culprit: "x.3"}
		w.how.silent = true
		for range 800 {
			w.use(extensions.ID(fmt.Sprintf("x.%d", rng.IntN(9))))
		}
		return w.history()
	}
	first := tell()
	if first == "" {
		t.Fatal("nothing was decided")
	}
	for range 5 {
		if again := tell(); again != first {
			t.Fatalf("%s\n---\n%s", first, again)
		}
	}
}

func (w *world) history() string {
	out := ""
	for _, d := range w.log {
		out += fmt.Sprintf("%s %d %s in %q %v: %s\n", d.Time.Format("15:04:05"), d.Seq, d.Verdict, d.Cell, d.IDs, d.Why)
	}
	return out
}
