//go:build !hostsup_posix

package selftest

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

// TestRun runs a few attempts in the real sandbox; all of them run in the
// integration tests.
func TestRun(t *testing.T) {
	best := sandbox.Probe().Level
	if best == policy.None {
		require.Missing(t, "confinement of any kind")
	}
	seen := 0
	rep, err := Run(t.Context(), Options{
		Levels: []policy.Level{best}, Dir: t.TempDir(),
		Only:     []string{"files/read", "processes/kill", "files/inherited", "session-kill", "work/read", "work/write"},
		Progress: func(done, all int) { seen = max(seen, min(done, all)) },
		Parallel: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Err(); err != nil {
		t.Error(err)
	}
	for _, row := range rep.all() {
		if c := row.Cells[0]; c.Verdict != Held && c.Verdict != Works {
			t.Errorf("%s/%s is %s\n\twithout: %s\n\twithin:  %s", row.Class, row.Name, c.Verdict, c.Control, c.Evidence)
		}
	}
	if n := len(rep.all()); n < 10 || seen != 2*n {
		t.Errorf("%d rows, %d steps of progress", n, seen)
	}
}

func TestRunRefuses(t *testing.T) {
	if _, err := Run(t.Context(), Options{Dir: t.TempDir(), Only: []string{"no such attempt"}}); err == nil {
		t.Error("no attempt has that name")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ended, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := Run(t.Context(), Options{Dir: "/nonexistent"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if v, ok := os.LookupEnv(leakVar); ok {
		t.Errorf("%s is still %q", leakVar, v)
	}
}

// TestAttempts holds what the report and its readers rely on.
func TestAttempts(t *testing.T) {
	seen := map[string]bool{}
	classes := map[Class]int{}
	for _, at := range append(attempts(), work()...) {
		if seen[at.id()] {
			t.Errorf("two are called %s", at.id())
		}
		seen[at.id()] = true
		classes[at.class]++
		if at.about == "" || at.do == nil {
			t.Errorf("%s has no words or does nothing", at.id())
		}
		if at.class != classWork && !slices.Contains(Classes(), at.class) {
			t.Errorf("%s is of no class", at.id())
		}
	}
	for _, c := range Classes() {
		if classes[c] < 4 {
			t.Errorf("class %s has %d attempts", c, classes[c])
		}
	}
	if n := len(attempts()); n < 200 {
		t.Errorf("%d attempts", n)
	}
}

func TestVerdict(t *testing.T) {
	at := &attempt{named: []string{"mounts"}}
	open := &attempt{unpromised: "nothing holds it"}
	if got := verdict(open, nil, escaped("yes"), escaped("yes")); got.Verdict != Gap || !strings.HasPrefix(got.Evidence, "not promised: nothing holds it"+evidenceMark) {
		t.Errorf("%+v", got)
	}
	if got := verdict(open, nil, escaped("yes"), held("no")); got.Verdict != Held {
		t.Errorf("%+v", got)
	}
	gone, in, out, unknown := []string{"no mounts: all is seen"}, held("no"), escaped("yes"), unclear("what?")
	for _, test := range []struct {
		missing           []string
		control, confined finding
		want              Verdict
	}{
		{nil, out, in, Held},
		{gone, out, in, Held},
		{nil, out, out, Escaped},
		{gone, out, out, Gap},
		{[]string{"something else"}, out, out, Escaped},
		{nil, in, in, Vacuous},
		{nil, in, out, Escaped}, // also when it fails without
		{nil, out, unknown, Broken},
		{nil, unknown, in, Broken},
		{nil, unknown, out, Escaped},
	} {
		if got := verdict(at, test.missing, test.control, test.confined); got.Verdict != test.want {
			t.Errorf("without %+v, within %+v, missing %q: %s, want %s", test.control, test.confined, test.missing, got.Verdict, test.want)
		}
	}
}
