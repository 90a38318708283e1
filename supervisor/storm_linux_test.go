package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// TestAStormOfStarts starts 1,000 hosts at once, and calls one that runs all the while: the
// calls are answered between the starts, not after them. -v prints how long they took.
func TestAStormOfStarts(t *testing.T) {
	const storm, least = 1000, 100
	hosts := []supervisor.HostSpec{{Name: "calm", Command: []string{"/proc/self/exe"}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New()}}
	for i := range storm {
		h := supervisor.HostSpec{Name: fmt.Sprintf("h%d", i), Command: []string{"/bin/sleep", "1000"}}
		h.Start.Lazy = true
		hosts = append(hosts, h)
	}
	sup, err := supervisor.Start(t.Context(), supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "all", Strategy: lifecycle.OneForOne, Hosts: hosts}}})
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
	calm, err := sup.Host("calm")
	if err != nil {
		t.Fatal(err)
	}
	call := func() time.Duration {
		began := time.Now()
		if err := calm.Call(t.Context(), "pid", nil, nil); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	tell := func(when string, took []time.Duration) {
		slices.Sort(took)
		t.Logf("%s: %d calls, p50 %s, p99 %s, the longest %s", when, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	}
	var before, during []time.Duration
	for range least {
		before = append(before, call())
	}
	tell("before", before)
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for _, h := range sup.Hosts()[1:] {
			wg.Go(func() {
				if err := h.Start(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}()
	for over := false; !over; {
		during = append(during, call())
		select {
		case <-done:
			over = true
		default:
		}
	}
	tell(fmt.Sprintf("while %d hosts started, %s", storm, time.Since(began)), during)
	if len(during) < least {
		t.Errorf("%d calls were answered until all hosts ran, expected at least %d", len(during), least)
	}
}
