//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// several is a tree of n instances of the demo host.
func several(n int, with ...change) supervisor.Spec {
	var spec supervisor.Spec
	for i := range n {
		h := demoHost(fmt.Sprintf("web-%d", i+1), with...)
		h.InstanceOf = "web"
		spec.Groups = append(spec.Groups, supervisor.Alone(h))
	}
	return spec
}

// caller calls the instances of web all the time, as users of the control API do, until
// it is stopped, which returns how often.
func caller(t *testing.T, sup *supervisor.Supervisor) (stop func() int64) {
	t.Helper()
	var calls atomic.Int64
	var all sync.WaitGroup
	c, cancel := context.WithCancel(context.Background())
	web, _ := control.Over(sup).Instances("web")
	for range 4 {
		all.Go(func() {
			for c.Err() == nil {
				if _, err := web.Call(context.Background(), control.Call{Method: "echo"}); err != nil {
					t.Errorf("a call: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	return func() int64 {
		cancel()
		all.Wait()
		return calls.Load()
	}
}

// changesOf follows who becomes running and who stops running, in their order.
func changesOf(sup *supervisor.Supervisor, since uint64) []string {
	var out []string
	for e := range sup.Events(context.Background(), since, false) {
		if e.To == nil || e.Host == nil {
			continue
		}
		switch *e.To {
		case lifecycle.Running:
			out = append(out, "+"+*e.Host)
		case lifecycle.Stopping, lifecycle.Crashed:
			out = append(out, "-"+*e.Host)
		}
	}
	return out
}

// Instances are replaced one after the other, with a spare before the first: each call of
// any of them is answered.
func TestInstancesAreRolled(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			sup := start(t, several(n, labelled("old")))
			history := sup.History()
			stop := caller(t, sup)
			plan, err := supervisor.Apply(ctx(t), sup, several(n, labelled("new")))
			if err != nil || plan.Count(supervisor.ActionRestart) != n {
				t.Errorf("%+v, %v", plan, err)
			}
			if stop() == 0 {
				t.Error("no call was made")
			}
			want := []string{"+web~next"}
			for i := range n {
				name := fmt.Sprintf("web-%d", i+1)
				want = append(want, "-"+name, "+"+name)
				if got := label(t, host(t, sup, name)); got != "new" {
					t.Errorf("%s runs with %q", name, got)
				}
			}
			want = append(want, "-web~next")
			if got := changesOf(sup, history[len(history)-1].Seq); !slices.Equal(got, want) {
				t.Errorf("%q, expected %q", got, want)
			}
			if len(sup.Hosts()) != n {
				t.Errorf("%d hosts are left", len(sup.Hosts()))
			}
		})
	}
}

// A configuration that does not come up replaces nothing, whether that is seen in the spare
// or in an instance.
func TestInstancesKeepWhatWorks(t *testing.T) {
	t.Parallel()
	dies := func(h *supervisor.HostSpec) {
		h.Env = maps.Clone(h.Env)
		h.Env["HOSTSUP_DEMO_START"] = "die"
	}
	sup := start(t, several(3, labelled("old")))
	before := pidsOf(sup)
	stop := caller(t, sup)
	_, err := supervisor.Apply(ctx(t), sup, several(3, labelled("new"), dies))
	var state *supervisor.StateError
	if !errors.As(err, &state) || !strings.Contains(err.Error(), `replace host "web-1": the new configuration did not come up in a process beside it`) {
		t.Errorf("%v", err)
	}
	if after := pidsOf(sup); !maps.Equal(before, after) {
		t.Errorf("%v, expected %v", after, before)
	}
	// The same holds for one that has no handshake, or another one.
	for _, how := range []string{"version", "never"} {
		_, err = supervisor.Apply(ctx(t), sup, several(3, labelled("new"), startsLike(how), grace(100*time.Millisecond), func(h *supervisor.HostSpec) { h.Start.Timeout = 200 * time.Millisecond }))
		if after := pidsOf(sup); err == nil || !maps.Equal(before, after) {
			t.Errorf("%s: %v, expected %v; %v", how, after, before, err)
		}
	}
	// Only the second instance does not come up.
	next := several(3, labelled("new"))
	dies(&next.Groups[1].Hosts[0])
	_, err = supervisor.Apply(ctx(t), sup, next)
	if !errors.As(err, &state) || !strings.Contains(err.Error(), `replace host "web-2": it has its old configuration again, and the instances after it keep theirs`) {
		t.Errorf("%v", err)
	}
	until(t, host(t, sup, "web-2"), lifecycle.Running)
	eventually(t, func() bool { return host(t, sup, "web-2").State() == lifecycle.Running })
	for name, want := range map[string]string{"web-1": "new", "web-2": "old", "web-3": "old"} {
		if got := label(t, host(t, sup, name)); got != want {
			t.Errorf("%s runs with %q, expected %q", name, got, want)
		}
	}
	stop()
	// The next one repairs it.
	if _, err := supervisor.Apply(ctx(t), sup, several(3, labelled("new"))); err != nil {
		t.Error(err)
	}
	if plan, err := supervisor.PlanFor(ctx(t), sup, several(3, labelled("new"))); err != nil || len(sup.Hosts()) != 3 || plan.Count(supervisor.ActionNone) != 3 {
		t.Errorf("%+v, %v", plan, err)
	}
}

// Hosts without a protocol have no spare, and are replaced one after the other all the
// same; one that a person stopped stays down.
func TestInstancesWithoutProtocol(t *testing.T) {
	t.Parallel()
	spec := func(mark string) supervisor.Spec {
		var s supervisor.Spec
		for i := range 3 {
			h := mute(fmt.Sprintf("web-%d", i+1), labelled(mark))
			h.InstanceOf = "web"
			s.Groups = append(s.Groups, supervisor.Alone(h))
		}
		return s
	}
	sup := start(t, spec("old"))
	if err := host(t, sup, "web-2").Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	history := sup.History()
	if _, err := supervisor.Apply(ctx(t), sup, spec("new")); err != nil {
		t.Error(err)
	}
	if got := changesOf(sup, history[len(history)-1].Seq); !slices.Equal(got, []string{"-web-1", "+web-1", "-web-3", "+web-3"}) {
		t.Errorf("%q", got)
	}
	if h := host(t, sup, "web-2"); h.State() != lifecycle.Stopped || h.Spec().Env["HOSTSUP_TEST_MARK"] != "new" {
		t.Errorf("%s with %v", h.State(), h.Spec().Env)
	}
	if _, _, err := sup.Instance("nobody"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Error(err)
	}
}
