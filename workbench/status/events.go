package status

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// The bounds of events. Changes are told after settle: of the changes meanwhile the last one counts.
const (
	settle        = 250 * time.Millisecond
	entriesAtOnce = 20 // events about entries of a host at once
	entriesEvery  = time.Minute
	runsAtOnce    = 50 // and of beginning progress; each end of these is told, too
	runsEvery     = 10 * time.Second
)

// shown is what a host shows. The lock of the service guards it.
type shown struct {
	host    string
	entries map[entryKey]*entry
	running map[int]*progress // by handle
	dirty   []entryKey        // of entries whose text is to be told, oldest first

	ofEntries, ofRuns *rate.Limiter
	timer             *time.Timer // nil: nothing is to be told
}

func newShown(host string) *shown {
	return &shown{
		host: host, entries: map[entryKey]*entry{}, running: map[int]*progress{},
		ofEntries: rate.NewLimiter(rate.Every(entriesEvery), entriesAtOnce), ofRuns: rate.NewLimiter(rate.Every(runsEvery), runsAtOnce),
	}
}

// wake has what has changed told after a while. The caller must hold the lock of s.
func (on *shown) wake(s *Service) { on.wakeIn(s, settle) }

func (on *shown) wakeIn(s *Service, after time.Duration) {
	if on.timer != nil || s.closed {
		return
	}
	var mine *time.Timer
	mine = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if on.timer == mine { // it was not stopped meanwhile
			on.timer = nil
			on.flush(s)
		}
	})
	on.timer = mine
}

// remove removes an entry. The caller must hold the lock of the service.
func (on *shown) remove(key entryKey) {
	e := on.entries[key]
	delete(on.entries, key)
	if e != nil && e.dirty {
		on.dirty = slices.DeleteFunc(on.dirty, func(k entryKey) bool { return k == key })
	}
}

// stop stops the timer.
func (on *shown) stop() {
	if on.timer != nil {
		on.timer.Stop()
		on.timer = nil
	}
}

// flush tells what has changed, as far as the bounds allow, and sets the timer for the rest.
func (on *shown) flush(s *Service) {
	now := time.Now()
	var next time.Duration
	later := func(after time.Duration) {
		if next == 0 || after < next {
			next = after
		}
	}
	for len(on.dirty) > 0 {
		e := on.entries[on.dirty[0]]
		if e.Text != "" && e.Text != e.told {
			if !on.ofEntries.AllowN(now, 1) {
				later(entriesEvery)
				break
			}
			e.told = e.Text
			s.opt.Report(Event{on.host, false, named(e.Entry) + e.Text})
		}
		e.dirty = false
		on.dirty = on.dirty[1:]
	}
	for _, p := range on.running {
		if p.told {
			continue
		}
		if age := now.Sub(p.Started); age < settle {
			later(settle - age)
			continue
		}
		if !on.ofRuns.AllowN(now, 1) {
			later(runsEvery)
			continue
		}
		p.told = true
		s.opt.Report(Event{on.host, true, p.name() + ": began"})
	}
	if next > 0 {
		on.wakeIn(s, next)
	}
}

// named returns the name of the entry for an event.
func named(e Entry) string {
	text := orUnknown(e.Extension)
	if e.Name != "" && e.Name != e.Extension {
		text += ", " + e.Name
	}
	return text + ": "
}
