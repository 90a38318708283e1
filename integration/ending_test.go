//go:build linux

package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// TestNothingWaitsForATreeThatStops calls and starts a host while another one
// takes its time to stop. The answer is there at once.
func TestNothingWaitsForATreeThatStops(t *testing.T) {
	t.Parallel()
	slow := supervisor.HostSpec{Name: "slow", Command: []string{"sh", "-c", "trap '' TERM; echo armed; while :; do sleep 1000; done"}}
	slow.Stop.Grace = time.Hour
	lazy := demoHost("lazy", func(s *supervisor.HostSpec) { s.Start.Lazy = true })
	down := demoHost("down", func(s *supervisor.HostSpec) { s.Start.DependsOn = []string{"never"} })
	never := demoHost("never", func(s *supervisor.HostSpec) {
		s.Start.Lazy, s.Command, s.Start.Timeout = true, []string{"sleep", "1000"}, time.Hour
	})
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{
		supervisor.Alone(slow), supervisor.Alone(lazy), {Name: "pair", Hosts: []supervisor.HostSpec{never, down}},
	}}, supervisor.WithLogger(logger(t)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range host(t, sup, "slow").Follow(ctx(t), 1) {
		if line.Text == "armed" {
			break
		}
	}
	waits := make(chan error, 2)
	go func() { waits <- host(t, sup, "down").Start(ctx(t)) }()
	go func() { waits <- host(t, sup, "down").Call(ctx(t), "echo", 1, nil) }()
	until(t, host(t, sup, "never"), lifecycle.Starting)
	stop, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- sup.Stop(stop) }()
	until(t, host(t, sup, "slow"), lifecycle.Stopping)
	h := host(t, sup, "lazy")
	for what, err := range map[string]error{
		"call": h.Call(ctx(t), "echo", 1, nil), "notify": h.Notify(ctx(t), "note", 1), "start": h.Start(ctx(t)),
		"restart": h.Restart(ctx(t)), "reset": h.Reset(ctx(t)), "add": addError(sup.Add(ctx(t), "", demoHost("new"))),
		"what waited": <-waits, "what waited, too": <-waits,
	} {
		if !errors.Is(err, supervisor.ErrClosed) {
			t.Errorf("%s while the tree stops: %v", what, err)
		}
	}
	if err := h.Stop(ctx(t)); err != nil {
		t.Errorf("stop of a host that is stopped: %v", err)
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v", err)
	}
}
