//go:build unix

package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/supervisor"
)

// TestEventsOfPropsAreTold spawns a tree in another actor system, and stops it.
func TestEventsOfPropsAreTold(t *testing.T) {
	system := safeactor.NewSystem(hclog.NewNullLogger())
	defer system.Shutdown()
	var told []string
	running := make(chan struct{})
	ended := make(chan struct{})
	props, err := supervisor.Props(system, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "host", Command: []string{"/bin/sh", "-c", "exec sleep 1000"},
	})}}, supervisor.WithEvents(func(e supervisor.Event) {
		_, to, ok := e.Transition()
		if !ok {
			return
		}
		told = append(told, string(to))
		switch fmt.Sprint(told) {
		case "[starting running]":
			close(running)
		case "[starting running stopping stopped]":
			close(ended)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	tree := system.Root.Spawn(props)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, is := range []chan struct{}{running, ended} {
		select {
		case <-is:
		case <-ctx.Done():
			t.Fatal("no event")
		}
		if is == running {
			system.Root.Send(tree, &actors.Shutdown{})
		}
	}
	if want := []string{"starting", "running", "stopping", "stopped"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
