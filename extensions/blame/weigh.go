package blame

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// The weight of an extension in a crash is log2 of how much likelier what was seen is if the
// extension caused the crash than if it did not; weights of several crashes are added. A
// trace that an extension has all the time, such as a call that waits for minutes, is as
// likely either way and weighs nothing, while one that it has for a moment each hour weighs
// much.
const (
	// tracedShare is the assumed share of crashes that happen in a call, an activation or
	// right after an uncaught error of the culprit; the others happen in timers.
	tracedShare = 0.3
	// namedBits and unnamedBits are the weights of the extension that a direct trace leads to
	// and of the others: it leads to an innocent one in about one of 60 crashes, and past
	// the culprit in one of eight.
	namedBits, unnamedBits = 6.0, -3.0
	// certain is the probability from which on a suspect is tried alone.
	certain = 0.8
	// outweighed is by how much the strongest suspect must outweigh another one that is not tried
	// with it: the former is then four times likelier.
	outweighed = 2.0
	// The extension is assumed to have been busy for a moment before it was observed.
	priorBusy, priorUp = 200 * time.Millisecond, 2 * time.Second
)

// activity is what an extension is busy with, or the uncaught errors of it.
type activity struct {
	id     extensions.ID
	what   string // "activation", "uncaught", or "call"
	method string // of calls
}

func activation(id extensions.ID) activity       { return activity{id: id, what: "activation"} }
func uncaughtOf(id extensions.ID) activity       { return activity{id: id, what: "uncaught"} }
func callOf(id extensions.ID, m string) activity { return activity{id, "call", m} }

// past is how often and for how long something was observed.
type past struct {
	up   time.Duration              // of the hosts
	busy map[activity]time.Duration // in ended calls, activations and so on
}

// add counts an activity; of more than maxCommands the rest is not counted.
func (p *past) add(a activity, took time.Duration) {
	if _, known := p.busy[a]; known || len(p.busy) < maxCommands {
		p.busy[a] += max(took, 0)
	}
}

// weight returns the weight of a trace of an activity that has also taken now, in a host that
// has also been up for up.
func (p *past) weight(a activity, now, up time.Duration) float64 {
	usual := min(1, float64(p.busy[a]+max(now, 0)+priorBusy)/float64(p.up+up+priorUp))
	return math.Log2(tracedShare/usual + 1 - tracedShare)
}

// weigh sets the weights of those whose activation had begun.
func (l *life) weigh(e *Evidence, p *past, now time.Time) {
	e.weights = make(map[extensions.ID]float64, len(e.begun))
	for id := range e.begun {
		e.weights[id] = math.Log2(1 - tracedShare) // without a trace
		if e.direct {
			e.weights[id] = unnamedBits
		}
	}
	if e.direct {
		return // the direct traces set theirs
	}
	up := now.Sub(l.since)
	trace := func(a activity, took time.Duration) {
		e.weights[a.id] = max(e.weights[a.id], p.weight(a, took, up))
	}
	for id, since := range l.activating {
		trace(activation(id), now.Sub(since))
	}
	inFlight := map[activity]time.Duration{}
	for _, c := range l.calls {
		inFlight[callOf(c.id, c.method)] += now.Sub(c.since)
	}
	for a, took := range inFlight {
		trace(a, took)
	}
	for id, u := range l.uncaught {
		if now.Sub(u.at) <= recentError {
			trace(uncaughtOf(id), u.covered+now.Sub(u.at))
		}
	}
}

// over counts what was going on when a life ended.
func (p *past) over(l *life, now time.Time) {
	p.up += now.Sub(l.since)
	for id, since := range l.activating {
		p.add(activation(id), now.Sub(since))
	}
	for _, c := range l.calls {
		p.add(callOf(c.id, c.method), now.Sub(c.since))
	}
	for id, u := range l.uncaught {
		p.add(uncaughtOf(id), u.covered+min(now.Sub(u.at), recentError))
	}
}

// weight returns the weight of an extension in several crashes.
func weight(id extensions.ID, crashes []Evidence) (sum float64) {
	for _, e := range crashes {
		sum += e.weights[id]
	}
	return math.Round(16*sum) / 16
}

// likely returns the probability of the strongest of the candidates, which are sorted, and those
// that are about as strong.
func likely(candidates []extensions.ID, crashes []Evidence) (probability float64, strong []extensions.ID) {
	top := weight(candidates[0], crashes)
	total := 0.0
	for _, id := range candidates {
		w := weight(id, crashes)
		total += math.Exp2(w - top)
		if w >= top-outweighed {
			strong = append(strong, id)
		}
	}
	return 1 / total, strong
}

// awaited reports whether another crash may show a direct trace: a profile of a host that hung
// or ran out of memory was not in time so far.
func awaited(crashes []Evidence) bool {
	return !slices.ContainsFunc(crashes, func(e Evidence) bool { return e.direct || e.kind != Hang && e.kind != Memory })
}

// maxAwaited bounds the crashes in which a direct trace is awaited.
const maxAwaited = 4

// percent formats a probability.
func percent(p float64) string { return fmt.Sprintf("%.0f %%", 100*min(p, 0.99)) }
