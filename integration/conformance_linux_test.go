//go:build linux

package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/integration/conformance"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
)

const (
	conformanceDir  = "testdata/conformance"
	conformancePage = "../docs/exec-server-conformance.md"
)

var updateConformance = flag.Bool("conformance.update", false, "write the table of differences into "+conformancePage)

func scripts(t testing.TB) []conformance.Script {
	t.Helper()
	files, err := filepath.Glob(conformanceDir + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var out []conformance.Script
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := conformance.Parse(strings.TrimSuffix(filepath.Base(path), ".txt"), text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func expected(t testing.TB) *conformance.Expected {
	t.Helper()
	text, err := os.ReadFile(conformanceDir + "/differences.json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := conformance.ParseExpected(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestConformance plays every scenario against the real exec server and ours,
// and compares what comes back.
func TestConformance(t *testing.T) {
	t.Parallel()
	theirs, ours := require.Codex(t), hostsupBinary(t)
	web := conformance.NewWeb()
	defer web.Close()
	base := place(t, os.Getuid())
	sides := [2]*conformance.Side{
		{Name: "codex", Argv: []string{theirs, "exec-server"}, Base: base, Home: filepath.Dir(filepath.Dir(theirs)), Web: web.URL},
		// The real one keeps 1 MiB of output.
		{Name: "house", Argv: []string{ours, "exec-server", "--retain-kib", "1024"}, Base: base, Home: filepath.Dir(ours), Web: web.URL, Strict: true},
	}
	for _, s := range sides {
		if err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	list := expected(t)
	var mu sync.Mutex
	played := map[string]bool{}
	themes, scenarios, steps := 0, 0, 0
	slots := make(chan struct{}, 6)
	t.Run("scenarios", func(t *testing.T) { // ends when all that run side by side have
		for _, script := range scripts(t) {
			themes++
			for _, sc := range script.Scenarios {
				for _, on := range sc.On {
					t.Run(fmt.Sprintf("%s/%s/%s", sc.Theme, sc.Name, on), func(t *testing.T) {
						t.Parallel()
						if sc.Confines && sandbox.Probe().Level == confine.None {
							require.Missing(t, "confinement of any kind")
						}
						if sc.Patient {
							if testing.Short() {
								t.Skip("it takes half a minute")
							}
						} else {
							slots <- struct{}{}
							defer func() { <-slots }()
						}
						n := compared(t, list, sides, sc, on)
						mu.Lock()
						defer mu.Unlock()
						played[sc.Theme+"/"+sc.Name+" "+on] = true
						scenarios++
						steps += n
					})
				}
			}
		}
	})
	t.Logf("%d scenarios of %d themes, each transport counted: %d answers and events compared, %d reasons to differ",
		scenarios, themes, steps, len(list.Reasons))
	for _, p := range list.Unused(func(scenario, on string) bool {
		if on != "" {
			return played[scenario+" "+on]
		}
		return played[scenario+" ws"] || played[scenario+" stdio"]
	}) {
		b, err := json.Marshal(p)
		t.Errorf("no longer different: %s %v", b, err)
	}
}

// compared plays a scenario on both sides and returns how much it compared.
func compared(t *testing.T, list *conformance.Expected, sides [2]*conformance.Side, sc conformance.Scenario, on string) int {
	var records [2]conformance.Record
	var errs [2]error
	var both sync.WaitGroup
	for i, s := range sides {
		both.Go(func() { records[i], errs[i] = s.Play(t.Context(), sc, on) })
	}
	both.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return 0
	}
	for _, d := range conformance.Compare(records[0], records[1]) {
		if place := d.Place(sc, on); !list.Explains(place) {
			b, err := json.Marshal(place)
			t.Errorf("%s\n%s %v", d, b, err)
		}
	}
	return len(records[0])
}

// TestConformanceList holds the list of differences to what there is, and the
// page to the list.
func TestConformanceList(t *testing.T) {
	t.Parallel()
	list := expected(t)
	known := map[string][]string{}
	for _, s := range scripts(t) {
		for _, sc := range s.Scenarios {
			known[sc.Theme+"/"+sc.Name] = sc.On
		}
	}
	for _, r := range list.Reasons {
		for _, p := range r.Where {
			if on, ok := known[p.Scenario]; !ok || p.On != "" && !slices.Contains(on, p.On) {
				t.Errorf("no such scenario: %+v", p)
			}
		}
	}
	holdsTable(t, conformancePage, "<!-- differences -->\n", list.Table(), *updateConformance, "-conformance.update")
}
