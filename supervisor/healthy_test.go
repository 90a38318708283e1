//go:build unix

package supervisor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// checked is a host without a protocol that is checked, in a tree that ends with the
// test. killed says whether it is killed when it is not healthy.
func checked(t *testing.T, killed bool, check func(context.Context, *supervisor.Host) error) (context.Context, *supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "checked", Command: []string{"sleep", "1000"}, Healthy: check, Restart: lifecycle.RestartRule{MaxCrashes: 100},
		Liveness: hostspec.LivenessRule{Ping: 10 * time.Millisecond, After: 50 * time.Millisecond, KillAfter: 50 * time.Millisecond, NeverKill: !killed},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	host, err := sup.Host("checked")
	if err == nil {
		err = host.Wait(ctx, lifecycle.Running)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx, sup, host
}

// A host that is not healthy is unresponsive until it is.
func TestHealthy(t *testing.T) {
	var sick atomic.Bool
	ctx, _, host := checked(t, false, func(_ context.Context, h *supervisor.Host) error {
		if sick.Load() {
			return errors.New("no answer from " + h.Name())
		}
		return nil
	})
	if s := host.Status(); s.Liveness != "check" {
		t.Errorf("liveness %q", s.Liveness)
	}
	for range 2 {
		sick.Store(true)
		if err := host.Wait(ctx, lifecycle.Unresponsive); err != nil {
			t.Fatal(err)
		}
		if s := host.Status(); s.Reason == nil || !strings.HasSuffix(*s.Reason, "no answer from checked") {
			t.Errorf("%+v", s)
		}
		sick.Store(false)
		if err := host.Wait(ctx, lifecycle.Running); err != nil {
			t.Fatal(err)
		}
	}
	if s := host.Status(); s.Life != 1 {
		t.Errorf("life %d", s.Life)
	}
}

// One that does not get healthy is killed, and the next life is checked as well. Checks
// may panic, and may not answer at all.
func TestUnhealthyIsKilled(t *testing.T) {
	var called atomic.Int64
	ctx, sup, _ := checked(t, true, func(ctx context.Context, h *supervisor.Host) error {
		switch called.Add(1); h.Life() {
		case 1:
			panic("no check")
		case 2:
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	var reasons []string
	for e := range sup.Follow(ctx) {
		if e.To == nil {
			continue
		}
		switch *e.To {
		case lifecycle.Unresponsive:
			reasons = append(reasons, e.Reason)
		case lifecycle.Running:
			if *e.Life == 3 {
				// It would be unresponsive before that many checks if it were not healthy.
				before := called.Load()
				poll.Until(t, patience, "ten more checks", func() bool { return called.Load() >= before+10 })
				if len(reasons) != 2 || !strings.Contains(reasons[0], "panic: no check") ||
					!strings.Contains(reasons[1], "no answer within 50ms") && !strings.Contains(reasons[1], "deadline") {
					t.Errorf("%q", reasons)
				}
				return
			}
		}
	}
	t.Errorf("there is no third life: %q", reasons)
}
