package supervisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// A job is tried again until it succeeds, then those start that depend on it; it runs
// again when a person wants it, and they go on.
func TestDependentsWaitForAJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, sup := ruled(t,
		// The first run fails; the second waits until the test lets it go.
		supervisor.HostSpec{Name: "migrate", Job: true, Dir: dir, Command: []string{"sh", "-c", `test -e first || { touch first; exit 3; }; until test -e go; do sleep 0.05; done; echo x >> runs`}},
		supervisor.HostSpec{Name: "web", Command: sleeps, Start: hostspec.StartRule{DependsOn: []string{"migrate"}}},
	)
	job, web := hostOf(t, sup, "migrate"), hostOf(t, sup, "web")
	poll.Until(t, patience, "the second run", func() bool { s := job.Status(); return s.Life == 2 && s.State == lifecycle.Running })
	if s := web.Status(); s.State != lifecycle.Stopped || !strings.Contains(*s.Reason, "waiting for migrate") {
		t.Errorf("%s: %s", s.State, *s.Reason)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waits(ctx, t, web, lifecycle.Running)
	if s := job.Status(); s.State != lifecycle.Stopped || !s.Job || !s.Done || !strings.HasPrefix(*s.Reason, "done in ") || s.CrashesInWindow != 0 {
		t.Errorf("%+v", s)
	}
	pid := *web.Status().PID
	if err := job.Start(ctx); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, patience, "the third run", func() bool { s := job.Status(); return s.Life == 3 && s.Done })
	if s := web.Status(); s.State != lifecycle.Running || *s.PID != pid {
		t.Errorf("%+v", s)
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); string(runs) != "x\nx\n" {
		t.Errorf("%q, %v", runs, err)
	}
	if err := web.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if s := job.Status(); s.Life != 3 {
		t.Errorf("a restart of its dependent has run it again: life %d", s.Life)
	}
}

// A job that fails takes those down that have waited for it, and brings them back when
// another run succeeds.
func TestJobThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, sup := ruled(t,
		supervisor.HostSpec{Name: "migrate", Job: true, Dir: dir, Command: []string{"test", "-e", "done"}, Restart: lifecycle.RestartRule{MaxCrashes: 2}},
		supervisor.HostSpec{Name: "web", Command: sleeps, Start: hostspec.StartRule{DependsOn: []string{"migrate"}}},
	)
	job, web := hostOf(t, sup, "migrate"), hostOf(t, sup, "web")
	if reason := waits(ctx, t, web, lifecycle.Failed); reason != "dependency migrate failed" {
		t.Error(reason)
	}
	if s := job.Status(); s.State != lifecycle.Failed || s.Done || s.Life != 2 {
		t.Errorf("%+v", s)
	}
	if err := os.WriteFile(filepath.Join(dir, "done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := job.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waits(ctx, t, web, lifecycle.Running)
}

func TestJobIsRefused(t *testing.T) {
	for want, s := range map[string]supervisor.HostSpec{
		"restart policy: a job runs to its end": {Restart: lifecycle.RestartRule{Policy: lifecycle.Always}},
		"kind: a job runs to its end":           {Attach: true},
	} {
		s.Name, s.Command, s.Job = "a", sleeps, true
		if err := s.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
