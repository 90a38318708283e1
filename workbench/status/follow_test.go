package status

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Those who follow get the begin, the last change and the end of each progress, and the starts of hosts.
func TestProgressIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.must(t, "one", "Progress.$startProgress", 0, map[string]any{"location": 15, "title": "Indexing", "cancellable": true}, "acme.index")
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var got []string
		busy := make(chan struct{}) // whoever is told is busy until it is closed
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Follow(ctx, settle, func(u Update) {
				percent := -1.0
				if u.Percent != nil {
					percent = *u.Percent
				}
				mu.Lock()
				got = append(got, fmt.Sprintf("%s %s %q %q %v %v %v", u.Host, u.Extension, u.Title, u.Message, percent, u.Canceled, u.Ended))
				mu.Unlock()
				<-busy
			})
		}()
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(got) // two may have ended when it is looked
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			got = nil
		}
		expect()
		sleep(settle - 1)
		expect()
		sleep(1)
		expect(`one acme.index "Indexing" "" -1 false false`)
		for i := range 5 {
			f.must(t, "one", "Progress.$progressReport", 0, map[string]any{"message": fmt.Sprint(i), "increment": 10})
		}
		expect()
		close(busy)
		expect(`one acme.index "Indexing" "4" 50 false false`)
		if err := f.Cancel(f.State("").Progress[0].ID); err != nil {
			t.Error(err)
		}
		expect(`one acme.index "Indexing" "4" 50 true false`)

		// What is over soon is left out; the start of a host is followed, and not among the state.
		f.must(t, "two", "Progress.$startProgress", 0, map[string]any{"location": 10, "title": "quick"}, "acme.index")
		f.SetStarting("two", true)
		f.SetStarting("two", true)
		sleep(settle / 2)
		f.must(t, "two", "Progress.$progressEnd", 0)
		if n := len(f.State("two").Progress); n != 0 {
			t.Errorf("%d", n)
		}
		sleep(settle)
		expect(`two  "Starting the extension host two" "" -1 false false`)
		f.SetStarting("two", false)
		f.must(t, "one", "Progress.$progressEnd", 0)
		expect(`one acme.index "Indexing" "4" 50 true true`, `two  "Starting the extension host two" "" -1 false true`)
		stop()
		<-done
		if len(f.changed) != 0 {
			t.Error("it still listens")
		}
		sleep(time.Hour)
	})
}
