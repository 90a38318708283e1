package lifecycle

import "time"

// Rung is one step of stopping a host.
type Rung string

// The rungs, gentlest first.
const (
	RungDrain   Rung = "drain"   // what is under way may finish, nothing new begins
	RungGoodbye Rung = "goodbye" // the protocol's own farewell
	RungSignal  Rung = "signal"  // the configured signal
	RungKill    Rung = "kill"    // SIGKILL to the whole tree
)

// Ladder is how a host is taken down: a goodbye when it can hear one, the
// signal when that did not do, SIGKILL when the grace is over. The grace runs
// from the first rung to the last, so that a stop never takes longer, however
// many rungs there are; what is under way may be given its own time before that.
type Ladder struct {
	Drain time.Duration // 0: nothing is waited for
	Grace time.Duration
	Talks bool // a goodbye makes sense: the protocol has one and the host answers
}

// First returns the rung to begin with and how long to stay on it.
func (l Ladder) First() (Rung, time.Duration) {
	switch {
	case l.Talks && l.Drain > 0:
		return RungDrain, l.Drain
	case l.Grace <= 0:
		return RungKill, 0
	case l.Talks:
		return RungGoodbye, l.Grace / 2
	}
	return RungSignal, l.Grace
}

// Next returns the rung after r and how long to stay on it.
func (l Ladder) Next(r Rung) (Rung, time.Duration) {
	switch r {
	case RungDrain:
		l.Drain = 0
		return l.First()
	case RungGoodbye:
		return RungSignal, l.Grace - l.Grace/2
	}
	return RungKill, 0
}
