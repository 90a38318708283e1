package budget_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/budget"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// spec returns that of a demo host that starts at the first call.
func spec(name string, rule budget.Rule) supervisor.HostSpec {
	s := supervisor.HostSpec{
		Name: name, Command: []string{"/proc/self/exe"}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
		Features: []supervisor.Feature{rule},
	}
	s.Start.Lazy = true
	return s
}

// tree starts a group of demo hosts h0, h1 and so on.
func tree(t *testing.T, hosts int, rule budget.Rule, change func(n int, s *supervisor.HostSpec)) *supervisor.Supervisor {
	t.Helper()
	g := supervisor.GroupSpec{Name: "tools", Strategy: lifecycle.OneForOne}
	for n := range hosts {
		s := spec(fmt.Sprintf("h%d", n), rule)
		if change != nil {
			change(n, &s)
		}
		g.Hosts = append(g.Hosts, s)
	}
	sup, err := supervisor.Start(t.Context(), supervisor.Spec{Groups: []supervisor.GroupSpec{g}, Parts: []supervisor.Part{budget.Part{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sup
}

func host(t *testing.T, sup *supervisor.Supervisor, n int) *supervisor.Host {
	t.Helper()
	h, err := sup.Host(fmt.Sprintf("h%d", n))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// call calls a host, and returns the process that has answered.
func call(t *testing.T, sup *supervisor.Supervisor, n int) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := host(t, sup, n).Call(ctx, "pid", nil, &pid); err != nil {
		t.Errorf("h%d: %v", n, err)
	}
	return pid
}

// running returns which hosts have a process.
func running(t *testing.T, sup *supervisor.Supervisor, hosts int) (out []int) {
	for n := range hosts {
		if host(t, sup, n).Status().PID != nil {
			out = append(out, n)
		}
	}
	return out
}

// TestTheLeastRecentlyUsedStops makes room for one host after the other.
func TestTheLeastRecentlyUsedStops(t *testing.T) {
	t.Parallel()
	sup := tree(t, 4, budget.Rule{Running: 2}, nil)
	for _, c := range []struct {
		call int
		want string
	}{{0, "[0]"}, {1, "[0 1]"}, {0, "[0 1]"}, {2, "[0 2]"}, {3, "[2 3]"}, {0, "[0 3]"}} {
		call(t, sup, c.call)
		if got := fmt.Sprint(running(t, sup, 4)); got != c.want {
			t.Errorf("after a call to h%d: %s, expected %s", c.call, got, c.want)
		}
	}
}

// TestNeverTooMany has many callers call many hosts: each call has its answer, and there
// are never more processes than allowed.
func TestNeverTooMany(t *testing.T) {
	const hosts, most, callers = 8, 3, 5
	calls := require.Rounds(12, 4)
	sup := tree(t, hosts, budget.Rule{Running: most}, nil)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-done
			cancel()
		}()
		up := map[string]bool{} // from the events: what started before another had ended
		for e := range sup.Events(ctx, 0, true) {
			if _, to, ok := e.Transition(); ok {
				switch to {
				case lifecycle.Running:
					up[*e.Host] = true
				case lifecycle.Stopped:
					delete(up, *e.Host)
				}
				if len(up) > most {
					t.Errorf("%v run", up)
				}
			}
		}
	})
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(c)))
			for range calls {
				call(t, sup, r.IntN(hosts))
			}
		})
	}
	wg.Wait()
	close(done)
	watch.Wait()
	for n := range hosts {
		if s := host(t, sup, n).Status(); s.Crashes > 0 {
			t.Errorf("h%d: %d crashes", n, s.Crashes)
		}
	}
}

// TestABusyHostIsNotStopped has a start wait for a call of another host, without a
// crash, and for longer than one try.
func TestABusyHostIsNotStopped(t *testing.T) {
	t.Parallel()
	sup := tree(t, 2, budget.Rule{Running: 1}, nil)
	busy, err := host(t, sup, 0).Go(t.Context(), "sleep", map[string]any{"ms": 3000})
	if err != nil {
		t.Fatal(err)
	}
	if err := host(t, sup, 0).Wait(t.Context(), lifecycle.Running); err != nil {
		t.Fatal(err)
	}
	call(t, sup, 1)
	if err := busy.Result(nil); err != nil {
		t.Error(err)
	}
	if s := host(t, sup, 1).Status(); s.Crashes != 0 {
		t.Errorf("%+v", s)
	}
	for e := range sup.Events(t.Context(), 0, false) {
		if e.Kind == record.KindShortage && strings.Contains(e.Reason, `group "tools" has max_running = 1, and as many of its hosts run`) {
			return
		}
	}
	t.Error("no event says why the start took long")
}

// TestWhatIsNeededStays stops neither an eager host, nor one that another depends on.
func TestWhatIsNeededStays(t *testing.T) {
	t.Parallel()
	sup := tree(t, 5, budget.Rule{Running: 4}, func(n int, s *supervisor.HostSpec) {
		switch n {
		case 0:
			s.Start.Lazy = false
		case 2:
			s.Start.DependsOn = []string{"h1"}
		}
	})
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, sup, 2) // starts h1
	call(t, sup, 3)
	call(t, sup, 2)
	call(t, sup, 4)
	if got := fmt.Sprint(running(t, sup, 5)); got != "[0 1 2 4]" {
		t.Error(got)
	}
	if err := host(t, sup, 3).Start(t.Context()); err != nil { // a person's start makes room, too
		t.Error(err)
	}
	if got := fmt.Sprint(running(t, sup, 5)); got != "[0 1 3 4]" && got != "[0 1 2 3]" {
		t.Error(got)
	}
}

// TestMemoryIsBounded stops idle hosts until the group takes less.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	sup := tree(t, 3, budget.Rule{Memory: 1 << 20}, nil)
	first := call(t, sup, 0)
	poll.Until(t, time.Minute, "the host stops", func() bool { return len(running(t, sup, 3)) == 0 })
	if s := host(t, sup, 0).Status(); s.State != lifecycle.Stopped || s.StoppedByPerson {
		t.Errorf("%+v", s)
	}
	if call(t, sup, 0) == first {
		t.Error("the process goes on")
	}
}

// TestMemoryOfBusyHosts says once that nothing can be stopped.
func TestMemoryOfBusyHosts(t *testing.T) {
	t.Parallel()
	sup := tree(t, 1, budget.Rule{Memory: 1 << 20}, nil)
	busy, err := host(t, sup, 0).Go(t.Context(), "sleep", map[string]any{"ms": 60_000})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Cancel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e := range sup.Events(ctx, 0, true) {
		if e.Kind != record.KindShortage {
			continue
		}
		if e.Group == nil || *e.Group != "tools" || !strings.HasPrefix(e.Reason, "the hosts of the group take ") {
			t.Errorf("%+v", e)
		}
		return
	}
	t.Error("no event tells it")
}

// TestABudgetChanges applies another rule while hosts run.
func TestABudgetChanges(t *testing.T) {
	t.Parallel()
	sup := tree(t, 3, budget.Rule{}, nil)
	for n := range 3 {
		call(t, sup, n)
	}
	for n := range 3 {
		if err := sup.Replace(t.Context(), spec(fmt.Sprintf("h%d", n), budget.Rule{Running: 2})); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(running(t, sup, 3)); got != "[0 1 2]" {
		t.Errorf("%s: a change ends no process", got)
	}
	if err := host(t, sup, 0).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := host(t, sup, 0).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(running(t, sup, 3)); got != 2 {
		t.Errorf("%d run", got)
	}
}

func TestBadRules(t *testing.T) {
	for want, r := range map[string]budget.Rule{"max_running: -1": {Running: -1}, "memory_budget: -5": {Memory: -5}} {
		if err := r.Validate(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", r, err, want)
		}
	}
}

// TestAStoppedHostStays does not start a host again that a person has stopped.
func TestAStoppedHostStays(t *testing.T) {
	t.Parallel()
	sup := tree(t, 2, budget.Rule{Running: 1}, nil)
	call(t, sup, 0)
	if err := host(t, sup, 0).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, sup, 1)
	if err := host(t, sup, 0).Call(t.Context(), "pid", nil, nil); !errors.Is(err, supervisor.ErrStopped) {
		t.Error(err)
	}
}
