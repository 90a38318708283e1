//go:build linux

package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// TestTransitions plays every row on a real process, and holds that together
// they have gone every way that the table of states allows.
func TestTransitions(t *testing.T) {
	t.Parallel()
	scripts := filepath.Join(os.Getenv("TMPDIR"), "scripts")
	if err := os.Mkdir(scripts, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(scripts) })
	if err := os.WriteFile(filepath.Join(scripts, "no-format"), []byte("this is no program\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	type way struct{ from, to lifecycle.State }
	var mu sync.Mutex
	gone, played := make(map[way]bool), 0
	t.Run("tales", func(t *testing.T) {
		for _, tale := range tales {
			t.Run(tale.title, func(t *testing.T) {
				t.Parallel()
				sc := play(t, tale)
				mu.Lock()
				defer mu.Unlock()
				played++
				for _, e := range sc.sup.History() {
					switch {
					case e.Kind != "state":
					case e.From == nil:
						gone[way{lifecycle.Stopped, *e.To}] = true
					default:
						if !lifecycle.Allowed(*e.From, *e.To) {
							t.Errorf("%s → %s is not in the table", *e.From, *e.To)
						}
						gone[way{*e.From, *e.To}] = true
					}
				}
			})
		}
	})
	if played != len(tales) {
		return // some were left out on the command line
	}
	for _, from := range lifecycle.States() {
		for _, to := range lifecycle.States() {
			if from == lifecycle.Stopping && to == lifecycle.Failed {
				continue // TestFrozenHost: it takes a process that cannot be killed
			}
			if lifecycle.Allowed(from, to) && !gone[way{from, to}] {
				t.Errorf("no tale goes from %s to %s", from, to)
			}
		}
	}
}

// play plays one tale to its end, and stops the tree.
func play(t *testing.T, tale tale) *scene {
	g := supervisor.GroupSpec{Name: "editor"}
	h := demoHost("ts", tale.with...)
	if tale.needs != nil {
		h.Start.DependsOn = []string{tale.needs.Name}
		db := *tale.needs
		db.Restart.MaxCrashes = 1
		g.Hosts = append(g.Hosts, db)
	}
	g.Hosts = append(g.Hosts, h)
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{g}})
	sc := &scene{t, sup, host(t, sup, "ts")}
	for _, do := range tale.do {
		do(sc)
	}
	expect(t, sup, "ts", tale.want)
	if tale.then != nil {
		tale.then(sc)
	}
	end(t, sup)
	return sc
}

func sends(sig syscall.Signal) step { return func(sc *scene) { signal(sc.t, sc.h, sig) } }

// persons asks for a verb that has to succeed.
func persons(verb func(*supervisor.Host, context.Context) error) step {
	return func(sc *scene) {
		if err := verb(sc.h, ctx(sc.t)); err != nil {
			sc.t.Fatalf("%v; %+v", err, sc.h.Status())
		}
	}
}

func windowEmpty(sc *scene) {
	eventually(sc.t, func() bool { return sc.h.Status().CrashesInWindow == 0 })
}

func startTimeout(d time.Duration) change {
	return func(s *supervisor.HostSpec) { s.Start.Timeout = d }
}

// grace sets how long a stop may take.
func grace(d time.Duration) change { return func(s *supervisor.HostSpec) { s.Stop.Grace = d } }

// endedBy checks which signal ended the last life.
func endedBy(signal string) func(*scene) {
	return func(sc *scene) {
		if e := sc.h.Status().LastExit; e == nil || e.Signal == nil || *e.Signal != signal {
			sc.t.Errorf("exit %+v, want %s", e, signal)
		}
	}
}

func waitsForSlow(s *supervisor.HostSpec) { s.Start.OnTimeout = "wait" }

// reportSays checks the only crash report: its reason, and how the process ended.
func reportSays(reason string, code int, signal string) func(*scene) {
	return func(sc *scene) {
		r := crash(sc.t, sc.sup, "ts")
		mentions(sc.t, r.Reason, reason)
		switch {
		case r.Exit == nil:
			sc.t.Errorf("no exit in %+v", r)
		case signal != "" && (r.Exit.Signal == nil || *r.Exit.Signal != signal):
			sc.t.Errorf("exit %+v, want %s", r.Exit, signal)
		case signal == "" && (r.Exit.Code == nil || *r.Exit.Code != code):
			sc.t.Errorf("exit %+v, want code %d", r.Exit, code)
		}
		if r.PID == 0 || r.Uptime <= 0 || r.Host != "ts" || r.Group != "editor" || r.Protocol != "hostsup" || len(r.Messages) == 0 && r.State != lifecycle.Starting {
			sc.t.Errorf("report %+v", r)
		}
	}
}

func mentions(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not mention %q", text, p)
		}
	}
}
