package actors

import (
	"context"
	"sync"
	"testing"
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
	if seen+lost != journalSize+11 || lost != 10 {
		t.Fatalf("seen %d, lost %d, want %d together and 10 lost", seen, lost, journalSize+11)
	}
}
