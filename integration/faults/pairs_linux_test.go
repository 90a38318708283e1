package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

var (
	seed  = flag.Uint64("seed", 1, "of the order of the pairs, and of the hosts that are hit")
	pairs = flag.Duration("pairs", 0, "how long pairs of faults are tried, all of them again and again; default: 5s, in ./test all 20s, in CI 2m")
	once  = flag.Bool("once", false, "try each pair once, however long that takes")
	lasts = flag.Duration("lasts", 300*time.Millisecond, "how long a fault lasts that has to be ended")
	page  = flag.String("page", "", "the page whose table becomes that of this run")
)

// TestFaults has each fault alone. -v prints how long the supervisor took to be whole
// again.
func TestFaults(t *testing.T) {
	w := newWorld(t, 0)
	r := rand.New(rand.NewPCG(*seed, 0))
	var table strings.Builder
	table.WriteString("| fault | whole again after |\n|---|---|\n")
	for _, f := range all {
		if took, tried := w.try(t, r, f); tried {
			fmt.Fprintf(&table, "| %s | %s |\n", f.name, took)
		}
	}
	w.given()
	answered, failed := w.clients.answered.Load(), w.clients.failed.Load()
	t.Logf("%d calls answered, %d failed", answered, failed)
	fmt.Fprintf(&table, "\nMeanwhile %d calls were answered, and %d failed with an error that says why.\n", answered, failed)
	if *page != "" {
		text, err := os.ReadFile(*page)
		if err != nil {
			t.Fatal(err)
		}
		head, _, ok := strings.Cut(string(text), "| fault |")
		if !ok {
			t.Fatalf("%s has no table of faults", *page)
		}
		if err := os.WriteFile(*page, []byte(head+table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPairs has pairs of faults, the second in the middle of the first.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	limit := *pairs
	if limit == 0 {
		limit = time.Duration(require.Rounds(20, 5)) * time.Second
		if require.All() {
			limit = 2 * time.Minute
		}
	}
	w := newWorld(t, 0)
	r := rand.New(rand.NewPCG(*seed, 1))
	var list [][2]fault
	for i, a := range all {
		for _, b := range all[i+1:] {
			list = append(list, [2]fault{a, b})
		}
	}
	began, n := time.Now(), 0
	for over := false; !over; over = over || *once {
		r.Shuffle(len(list), func(i, j int) {
			list[i], list[j] = list[j], list[i]
		})
		for _, p := range list {
			if over = !*once && time.Since(began) > limit; over {
				break
			}
			if r.IntN(2) == 0 {
				p[0], p[1] = p[1], p[0]
			}
			w.try(t, r, p[0], p[1])
			n++
		}
		w.given()
	}
	t.Logf("%d tries of %d pairs, %d calls answered, %d failed", n, len(list), w.clients.answered.Load(), w.clients.failed.Load())
}

// try has faults begin one after the other, ends them, and returns how long it took until all
// was well. tried is false on a machine where one of them is not possible.
func (w *world) try(t *testing.T, r *rand.Rand, faults ...fault) (took time.Duration, tried bool) {
	t.Helper()
	var names []string
	var ends []func()
	for _, f := range faults {
		if f.own && !w.own {
			return 0, false
		}
		names = append(names, f.name)
		if end := f.do(w, r); end != nil {
			ends = append(ends, end)
		}
	}
	if len(ends) > 0 {
		time.Sleep(*lasts) //nolint:forbidigo // it is how long the fault lasts
	}
	w.trying = strings.Join(names, " + ")
	w.done(w.trying, ends)
	since := time.Now()
	w.revive()
	took = w.whole(since).Round(time.Millisecond)
	t.Logf("%-70s %s", w.trying, took)
	if t.Failed() {
		t.Fatal("after " + w.trying)
	}
	return took, true
}

// done ends faults, all at once: each may wait for what another one keeps from it.
func (w *world) done(what string, ends []func()) {
	w.t.Helper()
	var all sync.WaitGroup
	for _, end := range ends {
		all.Go(end)
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(patience):
		_ = w.cmd.Process.Kill() // what waits for it ends
		w.t.Fatalf("%s has not ended after %s", what, patience)
	}
}
