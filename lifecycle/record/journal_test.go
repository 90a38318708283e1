package record

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestJournalNumbersWithoutGaps(t *testing.T) {
	j := NewJournal(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				j.Write(Event{Kind: KindState})
			}
		})
	}
	next := uint64(1)
	for e := range j.Events(context.Background(), 0, true) {
		if e.Seq != next {
			t.Fatalf("event %d after %d", e.Seq, next-1)
		}
		if next++; next > 400 {
			break
		}
	}
	wg.Wait()
}

func TestJournalTellsASlowReaderWhatItMissed(t *testing.T) {
	j := NewJournal(nil)
	j.Write(Event{})
	first := true
	var lost, seen uint64
	for e := range j.Events(context.Background(), 0, true) {
		if first { // the reader sleeps while the ring runs over
			first = false
			for range journalSize + 10 {
				j.Write(Event{})
			}
			j.Close()
		}
		if e.Lost > 0 {
			lost += e.Lost
			continue
		}
		seen++
	}
	if j.Lost() != lost {
		t.Errorf("the journal has counted %d that were missed", j.Lost())
	}
	if seen+lost != journalSize+11 || lost != 10 {
		t.Fatalf("seen %d, lost %d, want %d together and 10 lost", seen, lost, journalSize+11)
	}
}

// A reader that comes back is told what it missed; one that comes first is not.
func TestJournalTellsWhoComesBackWhatIsKeptNoLonger(t *testing.T) {
	j := NewJournal(nil)
	for range journalSize + 10 {
		j.Write(Event{})
	}
	for since, lost := range map[uint64]uint64{0: 0, 4: 6, 10: 0, 12: 0} {
		var missed, next uint64
		for e := range j.Events(context.Background(), since, false) {
			if e.Lost == 0 {
				next = e.Seq
				break
			}
			missed += e.Lost
		}
		if missed != lost || next != max(since, 10)+1 {
			t.Errorf("after %d: %d are missed, and %d is next", since, missed, next)
		}
	}
}

func TestNoEventIsOlderThanTheOneBefore(t *testing.T) {
	j := NewJournal(nil)
	defer j.Close()
	now := time.Now()
	j.Write(Event{Kind: KindState, Time: now})
	if e := j.Write(Event{Kind: KindState, Time: now.Add(-time.Millisecond)}); !e.Time.Equal(now) {
		t.Errorf("%s after %s", e.Time, now)
	}
	if e := j.Write(Event{Kind: KindState, Time: now.Add(time.Millisecond)}); !e.Time.Equal(now.Add(time.Millisecond)) {
		t.Errorf("%s after %s", e.Time, now)
	}
}
