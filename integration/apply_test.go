//go:build linux

package integration

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// mute is a host without a protocol that does nothing.
func mute(name string, with ...change) supervisor.HostSpec {
	h := supervisor.HostSpec{Name: name, Command: []string{"sleep", "1000"}, Env: map[string]string{"HOSTSUP_TEST_MARK": "0"}}
	for _, f := range with {
		f(&h)
	}
	return h
}

// needed are the hosts that start by themselves, and those that they depend on.
func needed(spec supervisor.Spec) map[string]bool {
	out := map[string]bool{}
	var need func(g supervisor.GroupSpec, name string)
	need = func(g supervisor.GroupSpec, name string) {
		out[name] = true
		for _, h := range g.Hosts {
			if h.Name == name {
				for _, d := range h.Start.DependsOn {
					need(g, d)
				}
			}
		}
	}
	for _, g := range spec.Groups {
		for _, h := range g.Hosts {
			if !h.Start.Lazy {
				need(g, h.Name)
			}
		}
	}
	return out
}

// runsAgain waits until a host runs that may have to stop first, and for the end of a job.
func runsAgain(t testing.TB, sup *supervisor.Supervisor, name string) {
	t.Helper()
	if host(t, sup, name).Spec().Job {
		eventually(t, func() bool { s := host(t, sup, name).Peek(); return s.State == lifecycle.Stopped && s.Done })
		return
	}
	until(t, host(t, sup, name), lifecycle.Running)
	eventually(t, func() bool { return host(t, sup, name).State() == lifecycle.Running })
}

// settled waits until the hosts of a tree are what they are to be.
func settled(t testing.TB, sup *supervisor.Supervisor, spec supervisor.Spec) {
	t.Helper()
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	for name := range needed(spec) {
		runsAgain(t, sup, name)
	}
	// One that was running and is lazy now goes on: bring all to the same.
	for _, h := range sup.Hosts() {
		if err := h.Start(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if h.Spec().Job {
			runsAgain(t, sup, h.Name())
		}
	}
}

func pidsOf(sup *supervisor.Supervisor) map[string]int {
	out := map[string]int{}
	for _, h := range sup.Hosts() {
		if p := h.Status().PID; p != nil {
			out[h.Name()] = *p
		}
	}
	return out
}

// Another strategy holds at once, in both directions, and no process ends for it.
func TestApplyStrategy(t *testing.T) {
	t.Parallel()
	of := func(s lifecycle.Strategy) supervisor.Spec {
		return supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "g", Strategy: s, Hosts: []supervisor.HostSpec{mute("a"), mute("b")}}}}
	}
	spec := of(lifecycle.OneForOne)
	sup := start(t, spec)
	settled(t, sup, spec)
	for _, s := range []lifecycle.Strategy{lifecycle.OneForAll, lifecycle.OneForOne} {
		before := pidsOf(sup)
		plan, err := supervisor.Apply(ctx(t), sup, of(s))
		if err != nil || plan.Count(supervisor.ActionNone) != 2 || len(plan.Groups) != 1 {
			t.Fatalf("%+v, %v", plan, err)
		}
		if diff := cmp.Diff(before, pidsOf(sup)); diff != "" {
			t.Fatal(diff)
		}
		life := host(t, sup, "b").Life()
		if err := syscall.Kill(before["a"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			now := pidsOf(sup)
			return now["a"] != 0 && now["a"] != before["a"] && now["b"] != 0
		})
		if shared := host(t, sup, "b").Life() != life; shared != (s == lifecycle.OneForAll) {
			t.Errorf("%s: the other host was restarted: %t", s, shared)
		}
	}
}

// A host that cannot be changed does not keep the others from it, and what another
// supervisor is needed for is named.
func TestApplyNamesWhatItCannot(t *testing.T) {
	t.Parallel()
	spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(mute("a"))}}
	sup := start(t, spec)
	settled(t, sup, spec)
	next := supervisor.Spec{MaxStarting: 3, OnFailed: supervisor.Exit, Groups: []supervisor.GroupSpec{
		supervisor.Alone(mute("a")), supervisor.Alone(mute("b")),
	}}
	plan, err := supervisor.Apply(ctx(t), sup, next)
	if err != nil || !slices.Contains(plan.NeedsStart, "supervisor.max_starting") || !slices.Equal(plan.Settings, []string{"supervisor.on_failed"}) {
		t.Errorf("%+v, %v", plan, err)
	}
	bad := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(mute("a", func(h *supervisor.HostSpec) { h.Command = nil }))}}
	if _, err := supervisor.Apply(ctx(t), sup, bad); !errors.Is(err, supervisor.ErrSpec) {
		t.Error(err)
	}
	if len(sup.Hosts()) != 2 {
		t.Error("a Spec that cannot be run has changed the tree")
	}
	history := sup.History()
	if !slices.ContainsFunc(history, func(e supervisor.Event) bool { return e.Kind == "reloaded" && e.Reason == "1 added, 1 unchanged" }) {
		t.Errorf("%+v", history[len(history)-3:])
	}
}

// BenchmarkReload changes one host of a thousand that run, from a file that was parsed to
// the configuration in force; promised are 50 ms and one restart.
func BenchmarkReload(b *testing.B) {
	spec := func(mark string) supervisor.Spec {
		var s supervisor.Spec
		for i := range 1000 {
			h := mute(fmt.Sprintf("h%d", i))
			if i == 500 {
				h.Env = map[string]string{"HOSTSUP_TEST_MARK": mark}
			}
			s.Groups = append(s.Groups, supervisor.Alone(h))
		}
		return s
	}
	sup := start(b, spec("0"), supervisor.WithLogger(hclog.NewNullLogger()))
	if err := sup.Ready(ctx(b)); err != nil {
		b.Fatal(err)
	}
	restarts := 0
	for n := 1; b.Loop(); n++ {
		plan, err := supervisor.Apply(ctx(b), sup, spec(fmt.Sprint(n)))
		if err != nil {
			b.Fatal(err)
		}
		restarts = plan.Count(supervisor.ActionRestart)
		if plan.Count(supervisor.ActionNone) != 999 {
			b.Fatalf("%+v", plan)
		}
		b.StopTimer()
		until(b, host(b, sup, "h500"), lifecycle.Running)
		eventually(b, func() bool { return host(b, sup, "h500").Status().State == lifecycle.Running })
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/reload")
	b.ReportMetric(float64(restarts), "restarts/reload")
}

// Limits that cgroups enforce change while the process runs; one that it did not have, or
// that another means enforces, takes a restart, and the plan says which.
func TestApplyLimitsLive(t *testing.T) {
	t.Parallel()
	if f, _ := sandbox.Probe().Feature("memory limit"); !f.Have {
		t.Skip("no cgroup enforces a limit of memory here")
	}
	spec := func(memory int64, tasks int) supervisor.Spec {
		return supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(mute("a", func(h *supervisor.HostSpec) {
			h.Resources = confine.Limits{Memory: memory, Tasks: tasks}
		}))}}
	}
	sup := start(t, spec(256<<20, 0))
	settled(t, sup, spec(256<<20, 0))
	h := host(t, sup, "a")
	for _, c := range []struct {
		memory int64
		tasks  int
		want   supervisor.Action
	}{
		{512 << 20, 0, supervisor.ActionUpdate}, // more, and then less
		{128 << 20, 0, supervisor.ActionUpdate},
		{256 << 20, 64, supervisor.ActionRestart}, // it had no such limit
	} {
		life := h.Life()
		planned, err := supervisor.PlanFor(ctx(t), sup, spec(c.memory, c.tasks))
		if err != nil {
			t.Fatal(err)
		}
		applied, err := supervisor.Apply(ctx(t), sup, spec(c.memory, c.tasks))
		if err != nil {
			t.Fatal(err)
		}
		if got := planned.Hosts[0]; got.Action != c.want || got.Live() != (c.want == supervisor.ActionUpdate) || applied.Hosts[0].Action != c.want {
			t.Errorf("%+v: planned %+v, applied %+v", c, got, applied.Hosts[0])
		}
		if got := h.Spec().Resources; got.Memory != c.memory || got.Tasks != c.tasks {
			t.Errorf("%+v: %+v is in force", c, got)
		}
		if c.want == supervisor.ActionUpdate && h.Life() != life {
			t.Errorf("%+v: restarted", c)
		}
	}
}
