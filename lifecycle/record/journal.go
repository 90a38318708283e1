package record

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/hostsup/hostsup/link"
)

// journalSize is how many events are kept for readers that come late or fall
// behind.
const journalSize = 4096

// Journal is the history of a tree: every event gets the next number, in the
// order in which it is written, and no event is older than the one before: an actor
// takes the time before it writes. Readers pull; a reader that is slower than
// journalSize events is told how many it missed. Writing never waits for a
// reader. Safe for concurrent use.
type Journal struct {
	env    link.Env
	mu     sync.Mutex
	ring   []Event
	next   uint64        // seq of the next event, from 1
	more   chan struct{} // closed at the next event
	last   time.Time     // of the latest event
	closed bool
	lost   uint64 // events that readers have missed
	redact Redactor
}

// NewJournal returns an empty journal. env says the time; nil: [link.System] does.
func NewJournal(env link.Env) *Journal {
	if env == nil {
		env = link.System{}
	}
	return &Journal{env: env, next: 1, more: make(chan struct{})}
}

// Redact takes out of events what r knows. To be said before the first.
func (j *Journal) Redact(r Redactor) { j.redact = r }

// Write numbers the event, stamps it unless it has a time, and keeps it.
func (j *Journal) Write(e Event) Event {
	if j.redact != nil && j.redact.Active() {
		e.Reason = j.redact.String(e.Reason)
		if e.Exit != nil {
			exit := *e.Exit
			exit.Reason = j.redact.String(exit.Reason)
			e.Exit = &exit
		}
	}
	e.Reason = Shortened(e.Reason)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return e
	}
	e.Seq = j.next
	j.next++
	if e.Time.IsZero() {
		e.Time = j.env.Time(j.env.Now())
	}
	if e.Time.Before(j.last) { // by the monotonic readings, which a clock that is set does not change
		e.Time = j.last
	}
	j.last = e.Time
	if len(j.ring) < journalSize {
		j.ring = append(j.ring, e)
	} else {
		j.ring[(e.Seq-1)%journalSize] = e
	}
	close(j.more)
	j.more = make(chan struct{})
	return e
}

// Close ends all readers once they have read what there is.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.more)
	}
}

// Last is the number of the newest event, 0 when there is none.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next - 1
}

// Lost counts the events that readers have missed because they fell behind, once for each
// reader.
func (j *Journal) Lost() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

func (j *Journal) missed(n uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lost += n
}

// read returns the event with this number or, when it is no longer kept, how
// many were missed up to the oldest that is; ok is false when it is not there
// yet, and more then tells when to look again (nil: never).
func (j *Journal) read(seq uint64) (e Event, lost uint64, ok bool, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if seq >= j.next {
		if j.closed {
			return Event{}, 0, false, nil
		}
		return Event{}, 0, false, j.more
	}
	if oldest := j.next - uint64(len(j.ring)); seq < oldest {
		return Event{}, oldest - seq, false, nil
	}
	return j.ring[(seq-1)%journalSize], 0, true, nil
}

// Events returns the events after number since, oldest first, then (with
// follow) what comes until ctx ends or the journal is closed. When the reader
// has missed n events, it gets one Event with only Lost = n in their place.
func (j *Journal) Events(ctx context.Context, since uint64, follow bool) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		seq := since + 1
		for ctx.Err() == nil {
			e, lost, ok, more := j.read(seq)
			switch {
			case ok:
				seq++
				if !yield(e) {
					return
				}
			case lost > 0:
				seq += lost
				if seq-lost == 1 {
					continue // history that nobody was there for is not a loss
				}
				j.missed(lost)
				if !yield(Event{Lost: lost}) {
					return
				}
			case more == nil || !follow:
				return
			default:
				select {
				case <-more:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}
