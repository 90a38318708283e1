//go:build linux

package integration

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// TestVerbsInEveryState asks for every verb in every state that lasts, and
// reads in the events what came of it.
func TestVerbsInEveryState(t *testing.T) {
	t.Parallel()
	states := []struct {
		state lifecycle.State
		with  []change
		get   steps // how to get there
	}{
		{state: lifecycle.Stopped, with: []change{lazy}},
		{state: lifecycle.Starting, with: []change{startsLike("slow:700ms"), grace(2 * time.Second)}},
		{state: lifecycle.Running},
		{state: lifecycle.Unresponsive, with: []change{reported, grace(100 * time.Millisecond)},
			get: steps{is(lifecycle.Running), sends(syscall.SIGSTOP)}},
		{state: lifecycle.Restarting, with: []change{patient},
			get: steps{is(lifecycle.Running), exits(3), lives(2), exits(3)}},
		{state: lifecycle.Failed, with: []change{crashes(1)},
			get: steps{is(lifecycle.Running), exits(3)}},
		{state: lifecycle.Stopping, with: []change{startsLike("ignore-term"), grace(700 * time.Millisecond)},
			get: steps{is(lifecycle.Running), does(func(sc *scene) { go func() { _ = sc.h.Stop(context.Background()) }() })}},
	}
	verbs := []struct {
		name string
		ask  func(*supervisor.Host, context.Context) error
		want map[lifecycle.State]string // what follows; "" is nothing
	}{
		{"start", (*supervisor.Host).Start, map[lifecycle.State]string{
			lifecycle.Stopped:      "starting running",
			lifecycle.Starting:     "running",
			lifecycle.Running:      "",
			lifecycle.Unresponsive: "",
			lifecycle.Restarting:   "starting running",
			lifecycle.Failed:       "starting running",
			lifecycle.Stopping:     "stopped starting running",
		}},
		{"stop", (*supervisor.Host).Stop, map[lifecycle.State]string{
			lifecycle.Stopped:      "",
			lifecycle.Starting:     "stopping stopped",
			lifecycle.Running:      "stopping stopped",
			lifecycle.Unresponsive: "stopping stopped",
			lifecycle.Restarting:   "stopping stopped",
			lifecycle.Failed:       "stopped",
			lifecycle.Stopping:     "stopped",
		}},
		{"restart", (*supervisor.Host).Restart, map[lifecycle.State]string{
			lifecycle.Stopped:      "starting running",
			lifecycle.Starting:     "stopping stopped starting running",
			lifecycle.Running:      "stopping stopped starting running",
			lifecycle.Unresponsive: "stopping stopped starting running",
			lifecycle.Restarting:   "starting running",
			lifecycle.Failed:       "starting running",
			lifecycle.Stopping:     "stopped starting running",
		}},
		{"reset", (*supervisor.Host).Reset, map[lifecycle.State]string{
			lifecycle.Failed: "starting running",
		}},
	}
	for _, from := range states {
		for _, verb := range verbs {
			t.Run(string(from.state)+"/"+verb.name, func(t *testing.T) {
				t.Parallel()
				sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", from.with...))}})
				sc := &scene{t, sup, host(t, sup, "ts")}
				for _, do := range from.get {
					do(sc)
				}
				is(from.state)(sc)
				var before string
				eventually(t, func() bool {
					before = story(sup, "ts")
					return before == "" || strings.HasSuffix(before, string(from.state))
				})
				persons(verb.ask)(sc)
				eventually(t, func() bool {
					return strings.TrimSpace(strings.TrimPrefix(story(sup, "ts"), before)) == verb.want[from.state]
				}, "after", before, "want", verb.want[from.state])
				if s := sc.h.Status(); verb.name == "reset" && s.CrashesInWindow != 0 {
					t.Errorf("crashes %d", s.CrashesInWindow)
				}
			})
		}
	}
}

// TestStartRacesStop lets two people disagree, many times: each verb is
// answered, and who spoke last is obeyed.
func TestStartRacesStop(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", runCommand("sleep", "1000")))
	for range 100 {
		stopped := make(chan error, 1)
		go func() { stopped <- h.Stop(ctx(t)) }()
		until(t, h, lifecycle.Stopping, lifecycle.Stopped)
		if err := h.Start(ctx(t)); err != nil {
			t.Fatalf("start behind a stop: %v (%s)", err, story(sup, "ts"))
		}
		if err := <-stopped; err != nil {
			t.Fatalf("stop: %v", err)
		}
		if s := h.Status(); s.State != lifecycle.Running {
			t.Fatalf("it is %s", s.State)
		}
	}
}

// TestStopRacesStart is the other way round: the stop comes while the group
// still decides about the start.
func TestStopRacesStart(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", runCommand("sleep", "1000")))
	for range 100 {
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		started := make(chan error, 1)
		asked := make(chan struct{})
		go func() {
			close(asked)
			started <- h.Start(ctx(t))
		}()
		<-asked
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
		last := h.Status().State
		if err := <-started; err != nil && !errors.Is(err, supervisor.ErrStopped) {
			t.Fatalf("start before a stop: %v", err)
		} else if err == nil {
			continue // it was first, or it was last
		}
		if last != lifecycle.Stopped || h.Status().State != lifecycle.Stopped {
			t.Fatalf("overruled, but it is %s (%s)", h.Status().State, story(sup, "ts"))
		}
	}
}

// TestManyVerbsAtOnce throws all verbs at one host from many sides; every one
// comes back, and a stop at the end has the last word.
func TestManyVerbsAtOnce(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", runCommand("sleep", "1000")))
	verbs := []func(*supervisor.Host, context.Context) error{
		(*supervisor.Host).Start, (*supervisor.Host).Stop, (*supervisor.Host).Restart, (*supervisor.Host).Reset,
	}
	back := make(chan error)
	for i := range 8 {
		go func() {
			for j := range 40 {
				back <- verbs[(i+j)%len(verbs)](h, ctx(t))
			}
		}()
	}
	for range 8 * 40 {
		if err := <-back; errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a verb was not answered: %v", err)
		}
	}
	if err := h.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.PID != nil {
		t.Errorf("%+v\n%s", s, story(sup, "ts"))
	}
}

func lazy(s *supervisor.HostSpec) { s.Start.Lazy = true }
