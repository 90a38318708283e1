package main

import (
	"sync/atomic"
	"time"
)

// quietFor is the period after which hostsup attach, through which nothing passes, gives its
// memory back: an editor keeps one for each server, and for days.
const quietFor = 2 * time.Second

// quiet calls a function each time that something has happened and then nothing more, after
// between one and two of its periods.
type quiet struct {
	period time.Duration
	rest   func()
	timer  *time.Timer
	state  atomic.Int32
	moved  atomic.Bool // something has happened since the timer was set
}

// The states of a quiet.
const (
	quietWaits   = iota // the timer runs, or rest does
	quietRests          // nothing has happened since rest was called
	quietStopped        // rest will not be called again
)

// newQuiet returns a quiet to which something has just happened.
func newQuiet(period time.Duration, rest func()) *quiet {
	q := &quiet{period: period, rest: rest}
	q.timer = time.AfterFunc(period, q.look)
	return q
}

// touch records that something happens. It is cheap, and may be called concurrently.
func (q *quiet) touch() {
	if !q.moved.Load() {
		q.moved.Store(true)
	}
	if q.state.CompareAndSwap(quietRests, quietWaits) {
		q.timer.Reset(q.period)
	}
}

func (q *quiet) look() {
	switch {
	case q.state.Load() == quietStopped:
		return
	case q.moved.Swap(false):
		q.timer.Reset(q.period)
		return
	}
	q.rest()
	if q.state.CompareAndSwap(quietWaits, quietRests) && q.moved.Load() {
		q.touch()
	}
}

// stop ends it. A call of rest that is under way goes on.
func (q *quiet) stop() {
	q.state.Store(quietStopped)
	q.timer.Stop()
}
