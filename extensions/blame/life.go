package blame

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// recentError is how long before a crash an uncaught error counts as evidence.
const recentError = 5 * time.Second

// life is the current life of a cell.
type life struct {
	number     uint64
	since      time.Time
	begun      []extensions.ID // in order
	activating map[extensions.ID]time.Time
	calls      map[uint64]call
	uncaught   map[extensions.ID]uncaught
	shares     map[extensions.ID]float64
	traces     map[extensions.ID]direct
	hung       bool
}

type call struct {
	id     extensions.ID
	method string
	since  time.Time
}

// command is a method of an extension.
type command struct {
	id     extensions.ID
	method string
}

type uncaught struct {
	text    string
	at      time.Time     // of the last one
	covered time.Duration // at most recentError after each of those before
}

// direct is a trace of the crash itself.
type direct struct {
	share float64
	why   string
}

func newLife(number uint64, now time.Time) *life {
	return &life{
		number: number, since: now, activating: map[extensions.ID]time.Time{}, calls: map[uint64]call{}, uncaught: map[extensions.ID]uncaught{},
		shares: map[extensions.ID]float64{}, traces: map[extensions.ID]direct{},
	}
}

func (l *life) began(id extensions.ID, now time.Time) {
	if !slices.Contains(l.begun, id) {
		l.begun = append(l.begun, id)
	}
	if _, already := l.activating[id]; !already {
		l.activating[id] = now
	}
}

// threw notes an uncaught error.
func (l *life) threw(id extensions.ID, text string, now time.Time) {
	u, again := l.uncaught[id]
	if again {
		u.covered += min(now.Sub(u.at), recentError)
	}
	u.text, u.at = text, now
	l.uncaught[id] = u
}

// traced notes a direct trace.
func (l *life) traced(t Trace) {
	shares := t.Shares
	if c, ok := l.calls[t.Call]; ok && t.Call != 0 {
		shares = append(slices.Clone(shares), Share{c.id, 1})
	}
	for _, s := range shares {
		why := "was on the stack when it aborted"
		switch t.Source {
		case Blocking:
			why = "called what the host waited for"
		case Native:
			why = "had loaded native code, and such code crashed"
		case Sender:
			why = "sent the message"
		case Allocations:
			why = fmt.Sprintf("allocated %.0f %% of what the memory grew by", s.Share*100)
		}
		if s.Share >= l.traces[s.ID].share {
			l.traces[s.ID] = direct{s.Share, why}
		}
	}
}

// evidence returns the evidence of a crash at this moment.
func (l *life) evidence(c Crashed, returned map[command]int, p *past, now time.Time) Evidence {
	e := Evidence{Time: now, Cell: c.Cell, Life: c.Life, Reason: c.Reason, begun: map[extensions.ID]bool{}, kind: c.Kind}
	for _, id := range l.begun {
		e.begun[id] = true
	}
	found := map[extensions.ID]*Suspect{}
	add := func(id extensions.ID, score int, why string) {
		s := found[id]
		if s == nil {
			s = &Suspect{ID: id}
			found[id] = s
		}
		s.Score = max(s.Score, score)
		if !slices.Contains(s.Why, why) {
			s.Why = append(s.Why, why)
		}
		e.begun[id] = true
	}
	leads := map[extensions.ID]float64{}
	lead := func(id extensions.ID, share float64, why string) {
		switch {
		case share >= 0.9:
			add(id, 8, why)
		case share >= 0.5:
			add(id, 4, why)
		default:
			return
		}
		e.direct, leads[id] = true, max(leads[id], share)
	}
	if c.Kind == Hang || l.hung {
		for id, share := range l.shares {
			lead(id, share, fmt.Sprintf("had %.0f %% of the processor", share*100))
		}
	}
	for id, t := range l.traces {
		lead(id, t.share, t.why)
	}
	// An extension that used the processor made the host hang, whatever other calls
	// were waiting.
	if len(found) == 0 {
		for id := range l.activating {
			add(id, 8, "was being activated")
		}
		for _, n := range sortedKeys(l.calls) {
			k := l.calls[n]
			fresh := found[k.id] == nil
			add(k.id, 4, fmt.Sprintf("had call %s in flight", k.method))
			if n := returned[command{k.id, k.method}]; fresh || n < found[k.id].Returned {
				found[k.id].Returned = n
			}
		}
	}
	for id, u := range l.uncaught {
		if now.Sub(u.at) <= recentError {
			add(id, 2, "had an uncaught error: "+u.text)
		}
	}
	if e.Vague = len(found) == 0; e.Vague {
		for _, id := range l.begun {
			add(id, 0, "was there")
		}
	}
	l.weigh(&e, p, now)
	for id, share := range leads {
		e.weights[id] = namedBits * share
	}
	for _, s := range found {
		s.Weight = math.Round(100*e.weights[s.ID]) / 100
		e.Suspects = append(e.Suspects, *s)
	}
	slices.SortFunc(e.Suspects, compare)
	return e
}

// compare sorts suspects, the strongest first.
func compare(a, b Suspect) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.ID, b.ID))
}

func (e Evidence) ids() []extensions.ID {
	out := make([]extensions.ID, len(e.Suspects))
	for i, s := range e.Suspects {
		out[i] = s.ID
	}
	return out
}

func sortedKeys[V any](m map[uint64]V) []uint64 {
	out := make([]uint64, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
