//go:build linux

package integration

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// What was active is active again after the host was killed, which is nobody's
// fault.
func TestUnitsComeBack(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits()}))
	if err := errors.Join(sup.Activate(ctx(t), "", "onLanguage:plaintext"), sup.Activate(ctx(t), "", "onCommand:clock.ticks")); err != nil {
		t.Fatal(err)
	}
	for life := uint64(1); life < 3; life++ {
		signal(t, h, syscall.SIGKILL)
		runs(t, h, life+1)
		becomes(t, sup, "active", "words", "greeter", "clock")
	}
	if s := unit(t, sup, "moody"); s.State != "inactive" {
		t.Errorf("%+v", s)
	}
	if s := unit(t, sup, "greeter"); s.Activation == nil || s.Activation.Event != "onLanguage:plaintext" {
		t.Errorf("%+v", s)
	}
	says(t, told(t, sup, record.KindBlame), "no extension's fault")
}

// One that kills the process in a call twice lives alone afterwards, and the
// others never restart again.
func TestUnitIsPutApart(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"abort", "exit", "overflow", "throw"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, units(plan.Spec{Declared: demoUnits()}))
			others := []string{"words", "greeter", "clock"}
			if err := errors.Join(sup.Activate(ctx(t), "", "onLanguage:plaintext"), sup.Activate(ctx(t), "", "onCommand:clock.ticks")); err != nil {
				t.Fatal(err)
			}
			for life := uint64(1); life <= 2; life++ {
				if _, err := in(t, sup, "moody", "moody.run", mood(how), nil); !errors.Is(err, supervisor.ErrCrashed) {
					t.Fatalf("%v", err)
				}
				runs(t, h, life+1)
				for _, name := range others { // one that is being activated is a suspect, too
					eventually(t, func() bool { return unit(t, sup, name).State == "active" }, name)
				}
			}
			eventually(t, func() bool { return unit(t, sup, "moody").Place == "app~demo.moody" }, "it lives alone")
			if s := unit(t, sup, "moody"); s.Blame.Quarantined || s.Blame.SuspectIn != 2 || !strings.Contains(s.Blame.Decision, "on trial for 5m") {
				t.Errorf("%+v", s)
			}
			eventually(t, func() bool { _, err := sup.Host("app~demo.moody"); return err == nil }, "its host")
			cell := host(t, sup, "app~demo.moody")
			if err := sup.Activate(ctx(t), "", "onCommand:moody.run"); err != nil {
				t.Error(err)
			}
			if err := cell.Call(ctx(t), "moody.run", mood(how), nil); !errors.Is(err, supervisor.ErrCrashed) {
				t.Errorf("%v", err)
			}
			runs(t, cell, 2)
			if s := unit(t, sup, "moody"); !s.Blame.Quarantined || s.Blame.SuspectIn != 3 {
				t.Errorf("%+v", s)
			}
			becomes(t, sup, "active", others...)
			runs(t, h, 3)
			decisions := told(t, sup, record.KindBlame)
			says(t, decisions, "isolated demo.moody", "it alone is a suspect in 2 of 2 crashes")
			says(t, decisions, "confirmed demo.moody")
			// It is called where it lives, whichever of the hosts is asked.
			var text string
			if err := h.Call(ctx(t), "moody.run", mood(""), &text); err != nil || text != "fine" {
				t.Errorf("%q, %v", text, err)
			}
			runs(t, h, 3)
		})
	}
}

// One that kills the process when it is activated is found by that.
func TestUnitDiesBeingActivated(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, units(plan.Spec{Declared: demoUnits()}, "activate=abort"))
	if err := sup.Activate(ctx(t), "", "onLanguage:plaintext"); err != nil {
		t.Fatal(err)
	}
	if err := sup.Activate(ctx(t), "", "onCommand:moody.run"); !errors.Is(err, service.ErrNotActive) {
		t.Errorf("%v", err)
	}
	// It was requested, so it is again, and then it is apart.
	eventually(t, func() bool { return unit(t, sup, "moody").Place == "app~demo.moody" }, "it lives alone")
	runs(t, h, 3)
	becomes(t, sup, "active", "words", "greeter")
	says(t, told(t, sup, record.KindBlame), "isolated demo.moody")
	var why []string
	eventually(t, func() bool {
		found, _ := sup.Crashes("app")
		if len(found) < 2 || service.ReportOf(&found[1]) == nil {
			return false
		}
		for _, d := range service.ReportOf(&found[1]).Decisions {
			for _, e := range d.Evidence {
				why = append(why, e.Suspects[0].Why...)
			}
		}
		return true
	}, "crash reports")
	if !slices.Equal(why, []string{"was being activated", "was being activated"}) {
		t.Errorf("%q", why)
	}
}
