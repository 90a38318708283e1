//go:build linux

package integration

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// strategies lists all of them.
var strategies = []lifecycle.Strategy{lifecycle.OneForOne, lifecycle.OneForAll, lifecycle.RestForOne}

// pair starts a group of two hosts, of which b depends on a.
func pair(t *testing.T, strategy lifecycle.Strategy, a, b supervisor.HostSpec) (sup *supervisor.Supervisor, ha, hb *supervisor.Host) {
	t.Helper()
	after("a")(&b)
	sup = start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Strategy: strategy, Hosts: []supervisor.HostSpec{a, b}}}})
	return sup, host(t, sup, "a"), host(t, sup, "b")
}

// saysWhy waits until the status of a host has this state and this reason.
func saysWhy(t *testing.T, h *supervisor.Host, state lifecycle.State, reason string) {
	t.Helper()
	var s supervisor.HostStatus
	defer func() {
		if t.Failed() {
			t.Logf("%s is %s: %v", h.Name(), s.State, s.Reason)
		}
	}()
	eventually(t, func() bool {
		s = h.Status()
		return s.State == state && s.Reason != nil && strings.Contains(*s.Reason, reason)
	}, h.Name(), "is not", string(state), "with", reason)
}

// forEach runs f once for each strategy.
func forEach(t *testing.T, f func(*testing.T, lifecycle.Strategy)) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			f(t, strategy)
		})
	}
}

// TestCrashBringsBackWhatHasEnded: a dependency that ended by itself is started
// again for a dependent that crashes.
func TestCrashBringsBackWhatHasEnded(t *testing.T) {
	forEach(t, func(t *testing.T, strategy lifecycle.Strategy) {
		sup, a, b := pair(t, strategy, demoHost("a"), demoHost("b"))
		exits(0)(&scene{t, sup, a})
		until(t, a, lifecycle.Stopped)
		signal(t, b, syscall.SIGKILL)
		runs(t, a, 2)
		runs(t, b, 2)
		expect(t, sup, "a", `starting: configured
			running: ready
			stopped: exit 0
			starting: needed by another host
			running: ready`)
	})
}

// TestCrashBesideAStop: what a person stopped stays down, and a dependent that
// crashes says that it waits for it. Nothing hangs, and a start ends the wait.
func TestCrashBesideAStop(t *testing.T) {
	forEach(t, func(t *testing.T, strategy lifecycle.Strategy) {
		sup, a, b := pair(t, strategy, demoHost("a"), demoHost("b"))
		if err := a.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		signal(t, b, syscall.SIGKILL)
		saysWhy(t, b, lifecycle.Stopped, "needs a, which is stopped")
		if s := a.Status(); s.State != lifecycle.Stopped {
			t.Errorf("a is %s", s.State)
		}
		if err := b.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrStopped) {
			t.Errorf("call of a host that waits for a person: %v", err)
		} else {
			mentions(t, err.Error(), "needs a, which is stopped")
		}
		if err := a.Start(ctx(t)); err != nil {
			t.Fatal(err)
		}
		runs(t, b, 2)
		expect(t, sup, "b", `starting: configured
			running: ready
			crashed: killed by SIGKILL
			restarting: killed by SIGKILL: again now, crash 1 of 3 in 5m0s
			stopping: needs a, which is stopped
			stopped: needs a, which is stopped
			starting: what it needs is running again
			running: ready`)
	})
}

// TestStopDuringTheStopOfAGroup: a person stops a host while its group does.
func TestStopDuringTheStopOfAGroup(t *testing.T) {
	t.Parallel()
	slow := demoHost("a", startsLike("ignore-term"), grace(time.Second))
	sup, a, b := pair(t, lifecycle.OneForAll, slow, demoHost("b"))
	signal(t, b, syscall.SIGKILL)
	until(t, a, lifecycle.Stopping)
	if err := a.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	saysWhy(t, b, lifecycle.Stopped, "needs a, which is stopped")
	if err := b.Restart(ctx(t)); err != nil { // a person's restart brings what it needs
		t.Fatal(err)
	}
	runs(t, a, 2)
	end(t, sup)
}

// TestRestartStartsWhatIsNeeded: a restart brings up what the host depends on
// before the host.
func TestRestartStartsWhatIsNeeded(t *testing.T) {
	forEach(t, func(t *testing.T, strategy lifecycle.Strategy) {
		sup, a, b := pair(t, strategy, demoHost("a", startsLike("slow:200ms")), demoHost("b"))
		if err := a.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if err := b.Restart(ctx(t)); err != nil {
			t.Fatal(err)
		}
		runs(t, a, 2)
		runs(t, b, 2)
		got := order(sup, lifecycle.Starting, lifecycle.Running)
		if want := []string{"a starting", "a running", "b starting", "b running"}; !slices.Equal(got[4:], want) {
			t.Errorf("the second lives: %v", got[4:])
		}
	})
}

// TestRestartWaitsForItsDependency: a host that crashes for want of what it
// depends on is not started, nor given up, before that is running again.
func TestRestartWaitsForItsDependency(t *testing.T) {
	forEach(t, func(t *testing.T, strategy lifecycle.Strategy) {
		sup, a, b := pair(t, strategy, demoHost("a", startsLike("slow:700ms")), demoHost("b"))
		signal(t, a, syscall.SIGKILL)
		until(t, a, lifecycle.Starting)
		if strategy == lifecycle.OneForOne {
			signal(t, b, syscall.SIGKILL)
			saysWhy(t, b, lifecycle.Restarting, "waiting for a")
		}
		runs(t, a, 2)
		runs(t, b, 2)
		got := order(sup, lifecycle.Starting, lifecycle.Running)
		if want := []string{"a starting", "a running", "b starting", "b running"}; !slices.Equal(got[4:], want) {
			t.Errorf("the second lives: %v", got[4:])
		}
	})
}

// TestRestartFailsWithItsDependency: the wait ends when what it waits for is
// given up.
func TestRestartFailsWithItsDependency(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t, lifecycle.OneForOne, demoHost("a", crashes(2)), demoHost("b"))
	signal(t, a, syscall.SIGKILL)
	runs(t, a, 2)
	signal(t, a, syscall.SIGKILL)
	until(t, a, lifecycle.Failed)
	signal(t, b, syscall.SIGKILL)
	saysWhy(t, b, lifecycle.Failed, "dependency a failed")
	if err := a.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	runs(t, b, 2)
}
