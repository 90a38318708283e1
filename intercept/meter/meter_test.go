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

// metered returns a host without processes that has a meter.
func metered() (host *actors.Ref, of *actors.Interceptor) {
	log := hclog.NewNullLogger()
	host = actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: native.New()}, Interceptors: func(h *actors.Ref) []*actors.Interceptor {
		of = meter.New(h)
		return []*actors.Interceptor{of}
	}})
	return host, of
}

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, of := metered()
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
		before := meter.Of(host).Responses()
		if before.Count != 2 || before.Sum != 4*time.Second {
			t.Errorf("%d answers took %v", before.Count, before.Sum)
		}
		call()
		wait(20 * time.Millisecond)
		answer(5)
		if p99, ok := meter.Of(host).Responses().Sub(before).Quantile(0.99); !ok || p99 <= 10*time.Millisecond || p99 > 25*time.Millisecond {
			t.Errorf("the p99 of one answer after 20 ms: %v, %v", p99, ok)
		}
		if of.Changed(lifecycle.Transition{To: lifecycle.Starting}); host.Status().ActivationSeconds != nil {
			t.Error("in the next life nothing was activated yet")
		}
		end(actors.ErrStopped)
	})
}

// TestAnswersAreCountedWithoutAllocations holds that only the first answer of a host
// allocates.
func TestAnswersAreCountedWithoutAllocations(t *testing.T) {
	_, of := metered()
	if n := testing.AllocsPerRun(100, func() { of.Answered(1, 1, time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAnswered is what the meter adds to each answer.
func BenchmarkAnswered(b *testing.B) {
	_, of := metered()
	for b.Loop() {
		of.Answered(1, 1, 300*time.Microsecond)
	}
}
