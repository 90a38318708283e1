//go:build linux

package integration

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// What was active is active again after the host was killed, which is nobody's
// fault.
func TestExtensionsComeBack(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	activates(t, sup, "a", "needs")
	for life := uint64(1); life < 3; life++ {
		signal(t, h, syscall.SIGKILL)
		runs(t, h, life+1)
		for _, name := range []string{"a", "needs"} {
			eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
			if _, err := ranIn(t, sup, name); err != nil {
				t.Error(err)
			}
		}
	}
	if s := extensionOf(t, sup, "b"); s.State != "inactive" {
		t.Errorf("%+v", s)
	}
	says(t, told(t, sup, record.KindBlame), "no extension's fault")
	for _, name := range []string{"a", "needs"} {
		if s := extensionOf(t, sup, name); s.Blame.SuspectIn != 0 || s.Blame.Decision != "" {
			t.Errorf("%+v: a signal from outside speaks against no extension", s)
		}
	}
	var found []supervisor.CrashReport
	eventually(t, func() bool {
		found, _ = sup.Crashes("vs")
		return len(found) == 2
	}, "crash reports")
	r := service.ReportOf(&found[0])
	if r == nil || fmt.Sprint(r.Begun) != "[hostsup.a hostsup.needs]" || len(r.Decisions) != 1 {
		t.Errorf("%+v", r)
	}
}

// Six extensions, one of which aborts in its command: after two crashes it lives
// alone, and the others never restart again.
func TestExtensionIsPutApart(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	others := []string{"a", "b", "c", "d", "needs"}
	activates(t, sup, others...)
	for life := uint64(1); life <= 2; life++ {
		activates(t, sup, "bad")
		if _, err := ranIn(t, sup, "bad", "abort"); !errors.Is(err, supervisor.ErrCrashed) {
			t.Fatalf("%v", err)
		}
		runs(t, h, life+1)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "bad").Place == "vs~hostsup.bad" }, "it lives alone")
	if s := extensionOf(t, sup, "bad"); s.Blame.Quarantined || s.Blame.SuspectIn != 2 || !strings.HasPrefix(s.Blame.Decision, "isolated") || !strings.Contains(s.Blame.Decision, "on trial for 5m, until 20") {
		t.Errorf("%+v", s)
	}
	if n := h.Status().CrashesInWindow; n != 0 {
		t.Errorf("%d crashes are still on the account of the others", n)
	}
	for life := uint64(2); life <= 3; life++ { // within the budget of its own
		activates(t, sup, "bad")
		cell, err := ranIn(t, sup, "bad", "abort")
		if !errors.Is(err, supervisor.ErrCrashed) || cell.Name() != "vs~hostsup.bad" {
			t.Errorf("%s: %v", cell.Name(), err)
		}
		runs(t, cell, life)
		if s := extensionOf(t, sup, "bad"); !s.Blame.Quarantined || s.Blame.SuspectIn != 3 || !strings.HasPrefix(s.Blame.Decision, "confirmed") {
			t.Errorf("%+v", s)
		}
	}
	for _, name := range others {
		eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
		if _, err := ranIn(t, sup, name); err != nil {
			t.Error(err)
		}
		if s := extensionOf(t, sup, name); s.Place != "vs" {
			t.Errorf("%+v", s)
		}
	}
	if s := h.Status(); s.Life != 3 || s.State != lifecycle.Running {
		t.Errorf("the others have been restarted: %+v", s)
	}
	decisions := told(t, sup, record.KindBlame)
	says(t, decisions, "noted hostsup.bad", "killed by SIGABRT")
	says(t, decisions, "isolated hostsup.bad", "it alone is a suspect in 2 of 2 crashes")
	says(t, decisions, "confirmed hostsup.bad")
	says(t, told(t, sup, record.KindExtension), "hostsup.bad moves from host vs to host vs~hostsup.bad")
}

// Two have calls open whenever it crashes: they are tried apart, and the one
// that goes on crashing is found, while the host of all others stays up.
func TestExtensionsAreTriedApart(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	others := []string{"b", "c", "d"}
	activates(t, sup, others...)
	for life := uint64(1); life <= 2; life++ {
		activates(t, sup, "a", "bad")
		waits, err := h.Go(ctx(t), execute, []any{"a.wait"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ranIn(t, sup, "bad", "fault"); !errors.Is(err, supervisor.ErrCrashed) {
			t.Fatalf("%v", err)
		}
		if err := waits.Result(nil); !errors.Is(err, supervisor.ErrCrashed) {
			t.Errorf("%v", err)
		}
		runs(t, h, life+1)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "bad").Place != "vs" && extensionOf(t, sup, "a").Place != "vs" }, "they are apart")
	if a, b := extensionOf(t, sup, "a"), extensionOf(t, sup, "bad"); a.Place == b.Place || a.Blame.SuspectIn != 2 || a.Blame.Quarantined {
		t.Errorf("%+v, %+v", a, b)
	}
	activates(t, sup, "a", "bad")
	if _, err := ranIn(t, sup, "bad", "fault"); !errors.Is(err, supervisor.ErrCrashed) {
		t.Errorf("%v", err)
	}
	eventually(t, func() bool { return extensionOf(t, sup, "bad").Blame.Quarantined }, "it is found")
	activates(t, sup, "bad")
	for _, name := range others {
		if s := extensionOf(t, sup, name); s.Place != "vs" || s.State != "active" {
			t.Errorf("%+v", s)
		}
	}
	if s := extensionOf(t, sup, "a"); s.Blame.Quarantined {
		t.Errorf("%+v", s)
	}
	runs(t, h, 3)
	decisions := told(t, sup, record.KindBlame)
	says(t, decisions, "bisected ", "2 suspects in 2 of 2 crashes", "hostsup.a", "hostsup.bad") // in either order: both have weights of their own
	says(t, decisions, "isolated hostsup.bad")
	if t.Failed() {
		t.Log(strings.Join(decisions, "\n"))
	}
}

// One that takes the host with it while it is activated is put apart, and may do
// there what it likes: the others stay, and so does the supervisor.
func TestExtensionCrashesAtItsActivation(t *testing.T) {
	t.Parallel()
	spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(extended(t, "eager"))}, OnFailed: supervisor.Exit}
	sup := start(t, spec)
	h := host(t, sup, "vs")
	eventually(t, func() bool { return extensionOf(t, sup, "calm").State == "active" }, "calm")
	err := sup.Activate(ctx(t), "", "onLanguage:boom")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.boom", "host is down", "SIGABRT")
	runs(t, h, 3)
	until(t, host(t, sup, "vs~hostsup.boom"), lifecycle.Failed)
	eventually(t, func() bool { return extensionOf(t, sup, "calm").State == "active" }, "calm")
	runs(t, h, 3)
	decisions := told(t, sup, record.KindBlame)
	says(t, decisions, "isolated hostsup.boom")
	says(t, decisions, "confirmed hostsup.boom")
	err = sup.Activate(ctx(t), "vs", "onLanguage:boom")
	if !errors.Is(err, service.ErrNotActive) {
		t.Fatalf("%v", err)
	}
	mentions(t, err.Error(), "hostsup.boom", "host is down", "vs~hostsup.boom")
	if err := sup.Err(); err != nil {
		t.Error(err)
	}
}
