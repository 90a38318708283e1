package link

import "time"

// Alarm is a timer that can be set anew, for an owner who is told by messages: one that was
// on its way when the alarm was set anew or cancelled is told apart by its generation. It
// belongs to one goroutine.
type Alarm struct {
	timer Timer
	gen   uint64
}

// Set runs f with this generation after d, and what was set before not any more.
func (a *Alarm) Set(env Env, d time.Duration, f func(gen uint64)) {
	a.Cancel()
	gen := a.gen
	a.timer = env.AfterFunc(d, func() { f(gen) })
}

// Counts reports whether nothing was set or cancelled since this generation was set.
func (a *Alarm) Counts(gen uint64) bool { return a.gen == gen }

// Cancel makes sure that nothing set before counts any more.
func (a *Alarm) Cancel() {
	a.gen++
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
