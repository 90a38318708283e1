//go:build linux

package integration

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// sleeper is a host without a protocol: it is running once it is there.
func sleeper(name string, with ...change) supervisor.HostSpec {
	return demoHost(name, append([]change{runCommand("sleep", "1000")}, with...)...)
}

func after(names ...string) change { return func(s *supervisor.HostSpec) { s.Start.DependsOn = names } }

// order returns who got into which state, in order: "a running".
func order(sup *supervisor.Supervisor, states ...lifecycle.State) []string {
	var out []string
	for _, e := range sup.History() {
		if e.Kind == "state" && slices.Contains(states, *e.To) {
			out = append(out, *e.Host+" "+string(*e.To))
		}
	}
	return out
}

func TestStartInOrderStopInReverse(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{
		demoHost("c", after("b")),
		demoHost("b", after("a"), startsLike("slow:200ms")), // ready is what counts, not there
		demoHost("a", startsLike("slow:200ms")),
	}}}})
	want := []string{"a starting", "a running", "b starting", "b running", "c starting", "c running"}
	if got := order(sup, lifecycle.Starting, lifecycle.Running); !slices.Equal(got, want) {
		t.Errorf("started %v", got)
	}
	end(t, sup)
	want = []string{"c stopping", "c stopped", "b stopping", "b stopped", "a stopping", "a stopped"}
	if got := order(sup, lifecycle.Stopping, lifecycle.Stopped); !slices.Equal(got, want) {
		t.Errorf("stopped %v", got)
	}
}

// TestDependencyThatFails takes its dependents with it and brings them back.
func TestDependencyThatFails(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "db")
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{
		sleeper("db", runCommand(program), crashes(1)),
		sleeper("ts", after("db")),
		sleeper("lint", after("ts")),
		sleeper("alone"),
	}}}})
	db, ts, lint := host(t, sup, "db"), host(t, sup, "ts"), host(t, sup, "lint")
	until(t, lint, lifecycle.Failed)
	if s := host(t, sup, "alone").Status(); s.State != lifecycle.Running {
		t.Errorf("a host that needs nothing is %s", s.State)
	}
	// A start of the dependent tries the dependency, and says what came of it.
	err := ts.Start(ctx(t))
	if !errors.Is(err, supervisor.ErrFailed) {
		t.Errorf("start of a host whose dependency fails: %v", err)
	} else {
		mentions(t, err.Error(), "dependency db failed")
	}
	if err := leaktest.WriteProgram(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := db.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	until(t, ts, lifecycle.Running)
	until(t, lint, lifecycle.Running)
	expect(t, sup, "lint", `failed: dependency ts failed
		starting: what it needs is running again
		running: ready`)
}

func TestStartOfADependentStartsWhatItNeeds(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{
		sleeper("db"), sleeper("ts", after("db")),
	}}}})
	db, ts := host(t, sup, "db"), host(t, sup, "ts")
	for _, h := range []*supervisor.Host{ts, db} {
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ts.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if s := db.Status(); s.State != lifecycle.Running || s.Life != 2 {
		t.Errorf("db %+v", s)
	}
}

// TestSharedFate kills the host in the middle.
func TestSharedFate(t *testing.T) {
	t.Parallel()
	const untouched = "starting: configured\nrunning: ready"
	const shared = untouched + `
		stopping: group: b crashed
		stopped: group: b crashed
		starting: restart with its group
		running: ready`
	const crashed = untouched + `
		crashed: killed by SIGKILL
		restarting: killed by SIGKILL: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`
	for _, row := range []struct {
		strategy lifecycle.Strategy
		a, c     string
		lives    [3]uint64
	}{
		{lifecycle.OneForOne, untouched, untouched, [3]uint64{1, 2, 1}},
		{lifecycle.OneForAll, shared, shared, [3]uint64{2, 2, 2}},
		{lifecycle.RestForOne, untouched, shared, [3]uint64{1, 2, 2}},
	} {
		t.Run(string(row.strategy), func(t *testing.T) {
			t.Parallel()
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{
				{Name: "editor", Strategy: row.strategy, Hosts: []supervisor.HostSpec{sleeper("a"), sleeper("b"), sleeper("c")}},
				supervisor.Alone(sleeper("other")),
			}})
			signal(t, host(t, sup, "b"), syscall.SIGKILL)
			for i, name := range []string{"a", "b", "c"} {
				runs(t, host(t, sup, name), row.lives[i])
				if s := host(t, sup, name).Status(); name != "b" && s.CrashesInWindow != 0 || name == "b" && s.CrashesInWindow != 1 {
					t.Errorf("%s has %d crashes", name, s.CrashesInWindow)
				} else if s.Restarts != row.lives[i]-1 {
					t.Errorf("%s has %d restarts in life %d", name, s.Restarts, s.Life)
				}
			}
			expect(t, sup, "a", row.a)
			expect(t, sup, "b", crashed)
			expect(t, sup, "c", row.c)
			if s := host(t, sup, "other").Status(); s.Life != 1 || s.State != lifecycle.Running {
				t.Errorf("another group: %+v", s)
			}
		})
	}
}

// TestSharedFateStorm kills all at once, again and again.
func TestSharedFateStorm(t *testing.T) {
	t.Parallel()
	for _, strategy := range []lifecycle.Strategy{lifecycle.OneForAll, lifecycle.RestForOne} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			many := crashes(1000)
			sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Strategy: strategy, Hosts: []supervisor.HostSpec{
				sleeper("a", many), sleeper("b", many, after("a")), sleeper("c", many, after("b")),
			}}}})
			all := sup.Hosts()
			up := func() bool {
				return !slices.ContainsFunc(all, func(h *supervisor.Host) bool { return h.Status().State != lifecycle.Running })
			}
			for range 10 {
				for _, h := range all {
					if pid := h.Status().PID; pid != nil {
						_ = syscall.Kill(*pid, syscall.SIGKILL) // it may have gone already
					}
				}
				eventually(t, up, "all are up again")
			}
		})
	}
}

// TestSharedFateGivesUp stops the others when one has failed.
func TestSharedFateGivesUp(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Strategy: lifecycle.RestForOne, Hosts: []supervisor.HostSpec{
		sleeper("a"), sleeper("b", crashes(1)), sleeper("c"),
	}}}})
	signal(t, host(t, sup, "b"), syscall.SIGKILL)
	until(t, host(t, sup, "c"), lifecycle.Stopped)
	expect(t, sup, "c", `starting: configured
		running: ready
		stopping: group: b failed
		stopped: group: b failed`)
	if s := host(t, sup, "a").Status(); s.State != lifecycle.Running || s.Life != 1 {
		t.Errorf("a %+v", s)
	}
	escalated := false
	for _, e := range sup.History() {
		escalated = escalated || e.Kind == "escalated" && *e.Group == "editor" && e.Host == nil
	}
	if !escalated {
		t.Error("no event of the group")
	}
}

// TestFailingHostDelaysNobody holds one host in a slow stop and lets another
// crash all the time; a third comes back at once all the same.
func TestFailingHostDelaysNobody(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{
		demoHost("stubborn", startsLike("ignore-term"), grace(10*time.Second)),
		sleeper("loop", runCommand("false"), crashes(1_000_000)),
		sleeper("good", crashes(1000)),
	}}}})
	stubborn, good := host(t, sup, "stubborn"), host(t, sup, "good")
	stopped := make(chan error, 1)
	go func() { stopped <- stubborn.Stop(ctx(t)) }()
	until(t, stubborn, lifecycle.Stopping)
	for life := range uint64(5) {
		runs(t, good, life+1)
		signal(t, good, syscall.SIGKILL)
	}
	runs(t, good, 6)
	if s := stubborn.Status(); s.State != lifecycle.Stopping {
		t.Errorf("the stubborn one is %s by now", s.State)
	}
	signal(t, stubborn, syscall.SIGKILL)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestOnFailedExit(t *testing.T) {
	t.Parallel()
	sup := begin(t, supervisor.Spec{OnFailed: supervisor.Exit, Groups: []supervisor.GroupSpec{
		supervisor.Alone(sleeper("good")), supervisor.Alone(sleeper("bad", crashes(1))),
	}})
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	pid := *host(t, sup, "good").Status().PID
	signal(t, host(t, sup, "bad"), syscall.SIGKILL)
	select {
	case <-sup.Done():
	case <-ctx(t).Done():
		t.Fatal("it goes on")
	}
	if err := sup.Err(); !errors.Is(err, supervisor.ErrHostFailed) {
		t.Errorf("%v", err)
	} else {
		mentions(t, err.Error(), "bad", "killed by SIGKILL")
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the other host is still there: %v", err)
	}
	if err := sup.Ready(ctx(t)); !errors.Is(err, supervisor.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
}
