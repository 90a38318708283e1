package integration

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

func TestKilledHostComesBack(t *testing.T) {
	sup, h := alone(t, demoHost("demo"))
	pid := *h.Status().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, h, lifecycle.Crashed)
	until(t, h, lifecycle.Running)
	var out string
	if err := h.Call(ctx(t), "echo", "again", &out); err != nil || out != "again" {
		t.Fatalf("echo: %q, %v", out, err)
	}
	if got, want := story(sup, "demo"), "starting running crashed restarting starting running"; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
	s := h.Status()
	if s.Life != 2 || s.Restarts != 1 || *s.PID == pid || s.LastExit == nil || *s.LastExit.Signal != "SIGKILL" {
		t.Errorf("status %+v", s)
	}
	var reports []supervisor.CrashReport
	eventually(t, func() bool {
		reports, _ = sup.Crashes("demo")
		return len(reports) == 1
	})
	if r := reports[0]; r.Reason != "killed by SIGKILL" || r.Life != 1 || r.PID != pid || len(r.Messages) == 0 {
		t.Errorf("report %+v", r)
	}
}

func TestThirdCrashGivesUp(t *testing.T) {
	_, h := alone(t, demoHost("demo"))
	for life := range uint64(3) {
		runs(t, h, life+1)
		err := h.Call(ctx(t), "exit", map[string]int{"code": 3}, nil)
		var he *supervisor.HostError
		if !errors.Is(err, supervisor.ErrCrashed) || !errors.As(err, &he) || he.Exit == nil || he.Exit.Code != 3 {
			t.Fatalf("call of a host that exits: %v", err)
		}
	}
	until(t, h, lifecycle.Failed)
	if r := *h.Status().Reason; !strings.Contains(r, "exit 3") || !strings.Contains(r, "crash 3") {
		t.Errorf("reason %q", r)
	}
	if err := h.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrFailed) {
		t.Errorf("call of a failed host: %v", err)
	}
	if err := h.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if s := h.Status(); s.State != lifecycle.Running || s.CrashesInWindow != 0 {
		t.Errorf("after a person's start: %+v", s)
	}
}

func TestHangIsSeenAndKilled(t *testing.T) {
	sup, h := alone(t, demoHost("demo", func(s *supervisor.HostSpec) {
		s.Liveness.After, s.Liveness.KillAfter, s.Liveness.Ping = 300*time.Millisecond, 300*time.Millisecond, 100*time.Millisecond
	}))
	err := h.Call(ctx(t), "hang", nil, nil)
	if !errors.Is(err, supervisor.ErrUnresponsive) {
		t.Fatalf("call of a hung host: %v", err)
	}
	runs(t, h, 2)
	if got, want := story(sup, "demo"), "starting running unresponsive crashed restarting starting running"; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
}

// runs waits until this life of the host is running. A caller may hear of a
// crash before the state has changed; the number of the life tells old from new.
func runs(t testing.TB, h *supervisor.Host, life uint64) {
	t.Helper()
	eventually(t, func() bool { s := h.Status(); return s.State == lifecycle.Running && s.Life == life })
}

// eventually polls a condition that has no event of its own.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("did not come true within 20 s")
		case <-tick.C:
		}
	}
}
