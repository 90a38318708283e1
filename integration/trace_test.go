//go:build linux

package integration

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

var updateTraces = flag.Bool("traces", false, "write the transition traces of the tests that run into "+tracesFile)

const tracesFile = "testdata/traces.txt"

// traces are the recorded transition traces: what the tests of a story have seen,
// with the life and the state before. A story says what the reasons are; the trace
// also holds what no story names. Each entry begins with a line "== test host".
var traces struct {
	sync.Mutex
	load     sync.Once
	recorded map[string]string
	seen     map[string]int // traces of a test so far
	path     string
}

// holdTrace compares the transitions of a host with the recorded ones.
func holdTrace(t testing.TB, host, got string) {
	t.Helper()
	traces.Lock()
	defer traces.Unlock()
	traces.load.Do(func() {
		traces.recorded, traces.seen = make(map[string]string), make(map[string]int)
		traces.path, _ = filepath.Abs(tracesFile)
		b, err := os.ReadFile(traces.path)
		if err != nil && !*updateTraces {
			t.Fatal(err)
		}
		for _, entry := range strings.Split(string(b), "== ")[1:] {
			key, lines, _ := strings.Cut(entry, "\n")
			traces.recorded[key] = strings.TrimSuffix(lines, "\n")
		}
		if *updateTraces {
			atEnd = append(atEnd, writeTraces)
		}
	})
	key := t.Name() + " " + host
	if traces.seen[key]++; traces.seen[key] > 1 {
		return // the same test again, by -count
	}
	if *updateTraces {
		traces.recorded[key] = got
		return
	}
	if want := traces.recorded[key]; got != want {
		t.Errorf("the transitions of %s are\n%swant\n%sIf they are to differ: go test ./integration -traces -run …", key, got, want)
	}
}

func writeTraces() {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(traces.recorded)) {
		fmt.Fprintf(&b, "== %s\n%s\n", key, traces.recorded[key])
	}
	if err := os.WriteFile(traces.path, []byte(b.String()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// traceLine is an event in a trace, with what the story calls it.
func traceLine(e supervisor.Event, called string) string {
	life, from := "-", "-"
	if e.Life != nil {
		life = fmt.Sprint(*e.Life)
	}
	if e.From != nil {
		from = string(*e.From)
	}
	report := ""
	if e.CrashID != nil {
		report = " (report)"
	}
	return fmt.Sprintf("life %s, %s → %s%s", life, from, called, report)
}

// holdHistory checks what every tree of every test has to keep: events are
// numbered without a gap, each change of a host begins where the one before has
// ended and is one of the table, and no life comes back.
func holdHistory(t testing.TB, sup *supervisor.Supervisor) {
	type position struct {
		state lifecycle.State
		life  uint64
	}
	hosts := make(map[string]position)
	seq := uint64(0)
	for _, e := range sup.History() {
		if seq != 0 && e.Seq != seq+1 {
			t.Errorf("event %d follows event %d", e.Seq, seq)
		}
		seq = e.Seq
		if e.Host == nil || e.Kind != "state" {
			if e.Host != nil && e.Kind == "removed" {
				delete(hosts, *e.Host)
			}
			continue
		}
		was, known := hosts[*e.Host]
		from := lifecycle.Stopped // a host's first change
		if e.From != nil {
			from = *e.From
		}
		if known && from != was.state {
			t.Errorf("event %d: host %s goes from %s to %s, and was %s", seq, *e.Host, from, *e.To, was.state)
		}
		if !lifecycle.Allowed(from, *e.To) {
			t.Errorf("event %d: %s → %s of host %s is not in the table", seq, from, *e.To, *e.Host)
		}
		now := position{*e.To, was.life}
		if e.Life != nil {
			if now.life = *e.Life; now.life < was.life {
				t.Errorf("event %d: life %d of host %s follows life %d", seq, now.life, *e.Host, was.life)
			}
		}
		hosts[*e.Host] = now
	}
}

// TestTableOfStates freezes the ways that a host may go.
func TestTableOfStates(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	states := slices.SortedFunc(slices.Values(lifecycle.States()), func(a, b lifecycle.State) int { return cmp.Compare(a, b) })
	for _, from := range states {
		for _, to := range states {
			if lifecycle.Allowed(from, to) {
				fmt.Fprintf(&b, "%s → %s\n", from, to)
			}
		}
	}
	holdTrace(t, "(table)", b.String())
}
