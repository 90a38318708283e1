package service

import (
	"testing"
	"time"
)

// fakeNotes are the notes of a life that waits in a call.
type fakeNotes struct{ since time.Time }

func (n fakeNotes) Blocking() (string, time.Time) { return "at waits (/ext/bad/main.js:1:2)", n.since }
func (fakeNotes) Large(int64) string              { return "" }
func (fakeNotes) Native() []string                { return nil }
func (fakeNotes) Close() error                    { return nil }

// A call that has just begun is not why a host hangs, and that of a host that answers again is
// forgotten.
func TestBlockingCallOfALife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		notes *lifeNotes
		found bool
	}{
		{name: "no notes"},
		{name: "not begun", notes: &lifeNotes{life: 2}},
		{name: "another life", notes: &lifeNotes{life: 1, notes: fakeNotes{time.Now().Add(-time.Minute)}}},
		{name: "just now", notes: &lifeNotes{life: 2, notes: fakeNotes{time.Now()}}},
		{name: "for long", notes: &lifeNotes{life: 2, notes: fakeNotes{time.Now().Add(-time.Minute)}}, found: true},
	} {
		p := &extHost{notes: c.notes}
		p.readBlocking(2)
		if got := p.blocking(2); (got != "") != c.found {
			t.Errorf("%s: %q", c.name, got)
		}
		p.clearBlocking()
		if got := p.blocking(2); got != "" {
			t.Errorf("%s: %q after it answered", c.name, got)
		}
	}
}
