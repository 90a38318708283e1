package samples_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// tree starts n hosts that sleep.
func tree(t *testing.T, n int) *supervisor.Supervisor {
	t.Helper()
	var groups []supervisor.GroupSpec
	for i := range n {
		groups = append(groups, supervisor.Alone(supervisor.HostSpec{Name: fmt.Sprintf("h%d", i), Command: []string{"/bin/sleep", "1000"}}))
	}
	sup, err := supervisor.Start(t.Context(), supervisor.Spec{Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sup
}

func TestRunSamplesTheTree(t *testing.T) {
	sup := tree(t, 2)
	s := samples.NewStore()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, sup)
	}()
	poll.Until(t, time.Minute, "there is a second sample", func() bool { return history(t, s, samples.Query{}).Last >= 2 })
	cancel()
	<-done
	for i, x := range history(t, s, samples.Query{N: 1}).Hosts {
		if want := fmt.Sprintf("h%d", i); x.Name != want || x.State[0] != lifecycle.Running || x.Memory[0] == nil || *x.Memory[0] <= 0 || x.CPU[0] == nil || *x.Calls[0] != 0 || x.P50[0] != nil {
			t.Errorf("%s: %+v", want, x)
		}
	}
}

// Sampling 200 idle hosts takes at most 2 % of a core on a machine that does nothing else.
// The bound is wide: with the race detector it takes several times as much.
func TestSamplingCostsLittle(t *testing.T) {
	const hosts, rounds, share = 200, 20, 0.2
	sup := tree(t, hosts)
	s := samples.NewStore()
	var buf []samples.Reading
	before := controltest.Used(t)
	for range rounds {
		buf = samples.Read(sup, buf[:0])
		s.Add(time.Now(), buf)
	}
	took := (controltest.Used(t) - before) / rounds
	got := took.Seconds() / samples.Interval.Seconds()
	t.Logf("a sample of %d idle hosts takes %v of processor time: %.2f %% of a core at one every %v", hosts, took, 100*got, samples.Interval)
	if got > share {
		t.Errorf("more than %v %%", 100*share)
	}
}
