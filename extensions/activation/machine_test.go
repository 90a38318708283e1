package activation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// world carries out effects and checks them against the rules.
type world struct {
	t     *testing.T
	m     *Machine
	rng   *rand.Rand
	list  map[extensions.ID]extensions.Extension
	where map[extensions.ID]string
	hosts map[string]*struct {
		up   bool
		life uint64
		on   map[extensions.ID]string // asked, active or failed, in this life
	}
	open map[uint64]bool
	now  time.Time
}

func (w *world) step(ev Event) {
	w.now = w.now.Add(time.Second)
	for _, e := range w.m.Step(ev, w.now) {
		switch e := e.(type) {
		case Activate:
			h := w.hosts[e.Host]
			switch {
			case !h.up || h.life != e.Life:
				w.t.Fatalf("%v for a life that is over", e)
			case h.on[e.ID] != "":
				w.t.Fatalf("%s is asked for twice in life %d", e.ID, e.Life)
			case w.where[e.ID] != e.Host:
				w.t.Fatalf("%s does not belong to %s", e.ID, e.Host)
			}
			for _, dep := range w.list[e.ID].Dependencies {
				if s, _ := w.m.Get(dep); s.State != Active {
					w.t.Fatalf("%s before %s, which is %s", e.ID, dep, s.State)
				}
			}
			h.on[e.ID] = "asked"
		case Settled:
			if !w.open[e.Tag] {
				w.t.Fatalf("%d settled twice", e.Tag)
			}
			delete(w.open, e.Tag)
		}
	}
}

// After any sequence of events, an extension is activated at most once in a life,
// after its dependencies, and every request is answered.
func TestMachineProperties(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := &world{t: t, rng: rng, m: New(Rules{}), list: map[extensions.ID]extensions.Extension{}, where: map[extensions.ID]string{}, open: map[uint64]bool{}, now: time.Unix(0, 0)}
		w.hosts = map[string]*struct {
			up   bool
			life uint64
			on   map[extensions.ID]string
		}{}
		hosts := []string{"a", "b", "c"}
		for _, h := range hosts {
			w.hosts[h] = &struct {
				up   bool
				life uint64
				on   map[extensions.ID]string
			}{on: map[extensions.ID]string{}}
		}
		var list []extensions.Extension
		for i := range 8 {
			e := extensions.Extension{ID: extensions.ID(fmt.Sprintf("x.%d", i)), Main: "m", Events: []string{fmt.Sprintf("e%d", i%3)}}
			for range rng.IntN(3) {
				if i > 0 {
					e.Dependencies = append(e.Dependencies, extensions.ID(fmt.Sprintf("x.%d", rng.IntN(i))))
				}
			}
			list = append(list, e)
			w.list[e.ID] = e
			w.where[e.ID] = hosts[rng.IntN(3)]
		}
		copied := func() map[extensions.ID]string {
			out := map[extensions.ID]string{}
			for id, h := range w.where {
				out[id] = h
			}
			return out
		}
		w.step(Installed{list, copied()})
		w.step(Boot{})
		tag := uint64(0)
		for range 150 {
			name := hosts[rng.IntN(3)]
			h := w.hosts[name]
			id := list[rng.IntN(len(list))].ID
			switch rng.IntN(9) {
			case 0, 1:
				tag++
				w.open[tag] = true
				w.step(Request{fmt.Sprintf("e%d", rng.IntN(4)), tag, tag%2 == 0})
			case 2:
				tag++
				w.open[tag] = true
				w.step(RequestExtension{ID: id, Tag: tag})
			case 3, 4:
				if !h.up {
					h.up, h.on = true, map[extensions.ID]string{}
					h.life++
					w.step(HostUp{name, h.life})
				}
			case 5:
				if h.up && rng.IntN(3) == 0 {
					h.up = false
					w.step(HostDown{name, []Next{NextIdle, NextRestart, NextNever}[rng.IntN(3)], "crash"})
				}
			case 6, 7:
				if at := w.hosts[w.where[id]]; at.up && at.on[id] == "asked" {
					if rng.IntN(5) == 0 {
						at.on[id] = "failed"
						w.step(Failed{Host: w.where[id], Life: at.life, ID: id, Cause: "threw"})
					} else {
						at.on[id] = "active"
						w.step(Done{Host: w.where[id], Life: at.life, ID: id})
					}
				}
			case 8: // an extension that was not requested yet moves
				if s, _ := w.m.Get(id); !s.Asked && w.hosts[name].on[id] == "" {
					w.where[id] = name
					w.step(Installed{list, copied()})
				}
			}
		}
		// When all hosts are up and all activations done, no request is open.
		for range 20 {
			for _, name := range hosts {
				if h := w.hosts[name]; !h.up {
					h.up, h.on = true, map[extensions.ID]string{}
					h.life++
					w.step(HostUp{name, h.life})
				}
			}
			for _, e := range list {
				if at := w.hosts[w.where[e.ID]]; at.on[e.ID] == "asked" {
					at.on[e.ID] = "active"
					w.step(Done{Host: w.where[e.ID], Life: at.life, ID: e.ID})
				}
			}
		}
		if len(w.open) > 0 {
			t.Fatalf("seed %d: requests %v were never answered", seed, w.open)
		}
		for _, s := range w.m.All() {
			if s.State == Activating {
				t.Fatalf("seed %d: %s waits for %v for ever", seed, s.ID, s.Waits)
			}
		}
	}
}

func TestReasonOnTheWire(t *testing.T) {
	got, err := json.Marshal(Reason{true, "a.b", "*"})
	if want := `{"startup":true,"extensionId":{"value":"a.b","_lower":"a.b"},"activationEvent":"*"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestEventsNobodyWantsAreLimited(t *testing.T) {
	m := New(Rules{MaxEvents: 10})
	m.Step(Installed{List: []extensions.Extension{{ID: "x.a", Main: "m", Events: []string{"wanted"}}}}, time.Time{})
	for i := range 1000 {
		m.Step(Request{Event: fmt.Sprintf("onUri:%d", i)}, time.Time{})
	}
	m.Step(Request{Event: "wanted"}, time.Time{})
	if got := m.Requested(); len(got) != 11 || got[10] != "wanted" {
		t.Error(got)
	}
}

func BenchmarkRequest(b *testing.B) {
	m := New(Rules{})
	ev := Installed{Where: map[extensions.ID]string{}}
	for i := range 500 {
		id := extensions.ID(fmt.Sprintf("x.%d", i))
		ev.List = append(ev.List, extensions.Extension{ID: id, Main: "m", Events: []string{fmt.Sprintf("onCommand:%d", i)}})
		ev.Where[id] = "h"
	}
	m.Step(ev, time.Time{})
	m.Step(HostUp{"h", 1}, time.Time{})
	m.Step(Request{Event: "onCommand:250"}, time.Time{})
	m.Step(Done{Host: "h", Life: 1, ID: "x.250"}, time.Time{})
	for b.Loop() {
		if got := m.Step(Request{Event: "onCommand:250", Tag: 1}, time.Time{}); len(got) != 1 {
			b.Fatal(got)
		}
	}
}
