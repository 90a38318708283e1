package supervisor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/intercept/schedule"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// scheduled is a host that runs each second.
func scheduled(dir string, overlap schedule.Overlap, command string) supervisor.HostSpec {
	return supervisor.HostSpec{
		Name: "cron", Job: true, Dir: dir, Command: []string{"sh", "-c", command}, Start: hostspec.StartRule{Lazy: true},
		Features: []supervisor.Feature{schedule.Rule{Times: "@every 1s", Overlap: overlap}},
	}
}

// waitsForGo is a run that ends when the test lets it.
const waitsForGo = `echo run >> told; until test -e go; do sleep 0.02; done`

func runsOf(t *testing.T, dir string) int {
	t.Helper()
	return strings.Count(told(t, dir), "run\n")
}

func remarked(h *supervisor.Host, text string) bool {
	for _, l := range h.Tail(100) {
		if strings.Contains(l.Text, text) {
			return true
		}
	}
	return false
}

func letGo(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCronSkips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, sup := ruled(t, scheduled(dir, schedule.Skip, waitsForGo))
	h := hostOf(t, sup, "cron")
	if s := h.Status(); s.State != lifecycle.Stopped || s.NextRun == nil {
		t.Errorf("it starts with the supervisor: %+v", s)
	}
	waits(ctx, t, h, lifecycle.Running)
	poll.Until(t, patience, "a run that is skipped", func() bool { return remarked(h, "skipped, the last run goes on") })
	if n := runsOf(t, dir); n != 1 {
		t.Errorf("%d runs", n)
	}
	letGo(t, dir)
	poll.Until(t, patience, "two more runs", func() bool { return runsOf(t, dir) >= 3 })
	history := sup.History()
	if !slices.ContainsFunc(history, func(e supervisor.Event) bool {
		return e.To != nil && *e.To == lifecycle.Starting && strings.HasPrefix(e.Reason, "schedule ")
	}) {
		t.Errorf("%+v", history)
	}
}

func TestCronQueues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, sup := ruled(t, scheduled(dir, schedule.Queue, waitsForGo))
	h := hostOf(t, sup, "cron")
	poll.Until(t, patience, "a run that waits, and one too many", func() bool { return remarked(h, "skipped, another run waits") })
	if n := runsOf(t, dir); n != 1 {
		t.Errorf("%d runs", n)
	}
	letGo(t, dir)
	poll.Until(t, patience, "the run that has waited", func() bool { return runsOf(t, dir) >= 2 })
}

func TestCronKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, sup := ruled(t, scheduled(dir, schedule.Kill, `echo run >> told; exec sleep 1000`))
	h := hostOf(t, sup, "cron")
	poll.Until(t, patience, "the third run", func() bool { return runsOf(t, dir) >= 3 })
	if s := h.Status(); s.Crashes != 0 || s.Life < 3 {
		t.Errorf("%+v", s)
	}
}

// A run that fails keeps no other from taking place.
func TestCronFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := scheduled(dir, schedule.Skip, `echo run >> told; exit 3`)
	spec.Restart = lifecycle.RestartRule{MaxCrashes: 1}
	ctx, sup := ruled(t, spec)
	h := hostOf(t, sup, "cron")
	if reason := waits(ctx, t, h, lifecycle.Failed); !strings.Contains(reason, "exit 3: crash 1 in") {
		t.Error(reason)
	}
	poll.Until(t, patience, "the third run", func() bool { return runsOf(t, dir) >= 3 })
}

// A stop suspends the schedule until a person starts the host; another schedule ends no
// process.
func TestCronStopsAndChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := scheduled(dir, schedule.Skip, `exec sleep 1000`)
	ctx, sup := ruled(t, spec)
	h := hostOf(t, sup, "cron")
	waits(ctx, t, h, lifecycle.Running)
	if err := h.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if s := h.Status(); s.NextRun != nil || !s.StoppedByPerson {
		t.Errorf("%+v", s)
	}
	if err := h.Ref().RunDue(ctx, "02:00", false); err == nil {
		t.Error("a schedule has overruled a person")
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	s := h.Status()
	if s.NextRun == nil || s.StoppedByPerson {
		t.Errorf("%+v", s)
	}
	now, err := supervisor.Present(ctx, sup)
	if err != nil {
		t.Fatal(err)
	}
	now.Groups[0].Hosts[0].Features = []supervisor.Feature{schedule.Rule{Times: "0 2 1 1 *", Timezone: "UTC"}}
	plan, err := supervisor.Apply(ctx, sup, now)
	if err != nil || len(plan.Hosts) != 1 || plan.Hosts[0].Action != supervisor.ActionUpdate || !slices.Equal(plan.Hosts[0].Fields, []string{"schedule"}) {
		t.Fatalf("%+v, %v", plan, err)
	}
	next := h.Status()
	if *next.PID != *s.PID || next.NextRun == nil || next.NextRun.Format("01-02 15:04") != "01-01 02:00" {
		t.Errorf("%+v", next)
	}
	// Without a schedule it is as any other, which ends the process.
	now.Groups[0].Hosts[0].Features = nil
	if plan, err = supervisor.Apply(ctx, sup, now); err != nil || plan.Hosts[0].Action != supervisor.ActionRestart {
		t.Fatalf("%+v, %v", plan, err)
	}
	if next := h.Status(); next.NextRun != nil {
		t.Errorf("%+v", next)
	}
}
