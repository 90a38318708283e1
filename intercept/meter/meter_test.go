package meter_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/meter"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link/linktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := hclog.NewNullLogger()
		var of *actors.Interceptor
		host := actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: native.New()}, Interceptors: func(h *actors.Ref) []*actors.Interceptor {
			of = meter.New(h)
			return []*actors.Interceptor{of}
		}})
		if s := host.Status(); s.Calls != 0 || s.AverageResponseSeconds != nil || s.ActivationSeconds != nil {
			t.Errorf("at first: %+v", s)
		}
		session := native.Open(codec.Limits{})
		linktest.Shake(t, session)
		line, end := host.Connect(1, session, linktest.NewWire(), linktest.Shaken(codec.CapAll))
		call := func() *actors.Pending {
			t.Helper()
			p, err := host.Go(t.Context(), "echo", nil)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		answer := func(id uint32) {
			t.Helper()
			synctest.Wait()
			if err := line.Receive(&codec.Message{Kind: codec.Response, ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		wait := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a synctest bubble
		call()
		second := call()
		wait(time.Second)
		answer(2)
		wait(2 * time.Second)
		second.Cancel() // the host has still taken its time
		answer(3)
		wait(time.Hour)
		call() // never answered
		if err := line.Receive(&codec.Message{Kind: codec.Notification, Method: "n"}); err != nil {
			t.Fatal(err)
		}
		meter.Of(host).Activated(20 * time.Millisecond)
		meter.Of(host).Activated(30 * time.Millisecond)
		s := host.Status()
		if s.Calls != 3 || *s.AverageResponseSeconds != 2 || *s.ActivationSeconds != 0.05 {
			t.Errorf("%d calls, %v, %v", s.Calls, *s.AverageResponseSeconds, *s.ActivationSeconds)
		}
		if of.Changed(lifecycle.Transition{To: lifecycle.Starting}); host.Status().ActivationSeconds != nil {
			t.Error("in the next life nothing was activated yet")
		}
		end(actors.ErrStopped)
	})
}
