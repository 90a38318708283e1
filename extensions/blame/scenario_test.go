package blame

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions"
)

// runsPerScenario is how many seeds each of the 40 scenarios has.
const runsPerScenario = 10

// maxIsolatedRuns is the allowed percentage of runs in which an innocent extension is isolated
// at any time, trials included.
const maxIsolatedRuns = 10

// tally counts runs.
//
// "In quarantine" is read in four ways. The first is the machine's own; the others take every
// host beside the home for quarantine, a trial included: the share of runs in which it has
// happened to an innocent extension at all, the share of the innocent extensions to which it has
// happened, and the share of their time.
type tally struct {
	runs, found, jailedAtEnd, jailedEver, down, crashes int

	isolatedRuns, aloneRuns, innocents, isolated int
	time, isolatedTime                           time.Duration
}

func (s tally) String() string {
	share := func(n int) string { return fmt.Sprintf("%5.1f %%", 100*float64(n)/float64(s.runs)) }
	return fmt.Sprintf("guilty found %s, innocent in quarantine at the end %s, at any time %s; with trials: in %s of the runs (alone %s), %5.1f %% of the innocent ones, %5.2f %% of their time; host down %s, %.1f crashes",
		share(s.found), share(s.jailedAtEnd), share(s.jailedEver), share(s.isolatedRuns), share(s.aloneRuns),
		100*float64(s.isolated)/float64(s.innocents), 100*float64(s.isolatedTime)/float64(s.time), share(s.down), float64(s.crashes)/float64(s.runs))
}

func (s *tally) add(o tally) {
	s.runs, s.found, s.crashes, s.down = s.runs+o.runs, s.found+o.found, s.crashes+o.crashes, s.down+o.down
	s.jailedAtEnd, s.jailedEver = s.jailedAtEnd+o.jailedAtEnd, s.jailedEver+o.jailedEver
	s.isolatedRuns, s.aloneRuns = s.isolatedRuns+o.isolatedRuns, s.aloneRuns+o.aloneRuns
	s.innocents, s.isolated = s.innocents+o.innocents, s.isolated+o.isolated
	s.time, s.isolatedTime = s.time+o.time, s.isolatedTime+o.isolatedTime
}

// judge runs a scenario and counts what became of the extensions.
func (w *court) judge() tally {
	w.run(30 * time.Minute)
	innocent := func(ids map[extensions.ID]bool) int {
		for id := range ids {
			if id != guilty {
				return 1
			}
		}
		return 0
	}
	atEnd := map[extensions.ID]bool{}
	for _, id := range w.m.Quarantined() {
		atEnd[id] = true
	}
	out := tally{runs: 1, crashes: w.crashes, jailedAtEnd: innocent(atEnd), jailedEver: innocent(w.everJailed)}
	ever := maps.Clone(w.everJailed)
	maps.Copy(ever, w.everTried)
	delete(ever, guilty)
	out.isolatedRuns, out.aloneRuns, out.isolated, out.innocents = innocent(ever), innocent(w.alone), len(ever), len(w.all)-1
	out.isolatedTime, out.time = w.isolated, time.Duration(len(w.all)-1)*w.now.Sub(time.Unix(0, 0))
	if atEnd[guilty] {
		out.found = 1
	}
	if w.down {
		out.down = 1
	}
	return out
}

// TestScenarios runs eight ways to make a host crash, each with five kinds of evidence
// that misleads. `go test ./extensions/blame -run TestScenarios -v` prints the figures.
func TestScenarios(t *testing.T) {
	var all tally
	for _, c := range causes {
		for _, tr := range misleading {
			var sum tally
			for seed := range uint64(runsPerScenario) {
				w := newCourt(c, tr, seed)
				sum.add(w.judge())
				if t.Failed() {
					return
				}
			}
			t.Logf("%-37s %-46s %s", c.name, tr.name, sum)
			all.add(sum)
		}
	}
	t.Logf("%d scenarios, %d runs: %s", len(causes)*len(misleading), all.runs, all)
	if len(causes)*len(misleading) != 40 {
		t.Errorf("%d scenarios, 40 expected", len(causes)*len(misleading))
	}
	if all.found*100 < 95*all.runs {
		t.Errorf("the guilty extension was found in %d of %d runs, 95 %% expected", all.found, all.runs)
	}
	if all.jailedAtEnd*100 > all.runs {
		t.Errorf("an innocent extension was in quarantine at the end of %d of %d runs, at most 1 %% expected", all.jailedAtEnd, all.runs)
	}
	if all.jailedEver*10 > all.runs {
		t.Errorf("an innocent extension was in quarantine at any time in %d of %d runs, at most 10 %% expected", all.jailedEver, all.runs)
	}
	if all.isolatedRuns*100 > maxIsolatedRuns*all.runs {
		t.Errorf("an innocent extension was isolated in %d of %d runs, at most %d %% expected", all.isolatedRuns, all.runs, maxIsolatedRuns)
	}
	if all.down > 0 {
		t.Errorf("the budget of the host was spent in %d of %d runs", all.down, all.runs)
	}
}

// Of two culprits both are found, and no innocent extension stays isolated for them.
func TestTwoCulpritsAreFound(t *testing.T) {
	var found, jailed, runs int
	for _, c := range causes {
		for seed := range uint64(10) {
			w := newCourt(c, misleading[1], seed)
			w.also = w.all[2]
			w.run(time.Hour)
			runs++
			ids := w.m.Quarantined()
			if slices.Contains(ids, guilty) && slices.Contains(ids, w.also) {
				found++
			}
			if w.down || len(ids) > 2 || len(ids) == 2 && slices.Contains(ids, misled) {
				jailed++
				t.Logf("%s, seed %d: %v, down: %v", c.name, seed, ids, w.down)
				for _, d := range w.log {
					t.Log(d.Time.UTC().Format("04:05"), d.Verdict, d.Cell, d.IDs, d.Why)
				}
			}
		}
	}
	t.Logf("both found in %d of %d runs, an innocent one isolated or the host down in %d", found, runs, jailed)
	if found*100 < 95*runs || jailed*100 > runs {
		t.Errorf("both were found in %d of %d runs, 95 %% expected; wrong in %d, 1 %% allowed", found, runs, jailed)
	}
}
