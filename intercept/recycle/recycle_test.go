package recycle_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/recycle"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// tree starts a demo host with a rule.
func tree(t *testing.T, rule recycle.Rule) (*supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	sup, err := supervisor.Start(t.Context(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "demo", Command: []string{"/proc/self/exe"}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
		Features: []supervisor.Feature{rule},
	})}})
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
	host, err := sup.Host("demo")
	if err != nil {
		t.Fatal(err)
	}
	return sup, host
}

// reason waits for the reason of the first stop of a host.
func reason(t *testing.T, sup *supervisor.Supervisor) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e := range sup.Events(ctx, 0, true) {
		if _, to, ok := e.Transition(); ok && to == "stopping" && e.Kind == record.KindState {
			return e.Reason
		}
	}
	t.Fatal("the host was not stopped")
	return ""
}

// TestCallsAreNotLost replaces the process of a host after each ten calls while many
// callers make calls: each has its answer, and no process answers more.
func TestCallsAreNotLost(t *testing.T) {
	t.Parallel()
	const callers, each, most = 8, 50, 10
	sup, host := tree(t, recycle.Rule{MaxRequests: most})
	var mu sync.Mutex
	answered := map[int]int{}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				var pid int
				if err := host.Call(t.Context(), "pid", nil, &pid); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answered[pid]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if r := reason(t, sup); r != "recycled: it was sent 10 calls" {
		t.Error(r)
	}
	for pid, n := range answered {
		if n > most+callers { // those that passed while the gate was being shut
			t.Errorf("process %d answered %d calls", pid, n)
		}
	}
	if len(answered) < callers*each/(most+callers) {
		t.Errorf("%d processes answered %d calls", len(answered), callers*each)
	}
	if s := host.Status(); s.Crashes != 0 {
		t.Errorf("%d crashes", s.Crashes)
	}
}

func TestAnOldProcessIsReplaced(t *testing.T) {
	t.Parallel()
	sup, host := tree(t, recycle.Rule{MaxAge: 300 * time.Millisecond})
	if r := reason(t, sup); r != "recycled: it is 300ms old" {
		t.Error(r)
	}
	poll.Until(t, time.Minute, "a third process runs", func() bool { return host.Status().Life >= 3 })
}

// TestALongCallHasItsTime holds a replacement until a call under way has its answer.
func TestALongCallHasItsTime(t *testing.T) {
	t.Parallel()
	_, host := tree(t, recycle.Rule{MaxRequests: 1})
	var before, after int
	if err := host.Call(t.Context(), "sleep", map[string]any{"ms": 500}, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(host.Call(t.Context(), "pid", nil, &before), host.Call(t.Context(), "pid", nil, &after)); err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("process %d answered two calls", before)
	}
}

// TestAHungCallIsCutOff bounds the wait for a call under way.
func TestAHungCallIsCutOff(t *testing.T) {
	t.Parallel()
	sup, host := tree(t, recycle.Rule{MaxRequests: 1, Drain: 200 * time.Millisecond})
	err := host.Call(t.Context(), "sleep", map[string]any{"ms": 60_000}, nil)
	if err == nil {
		t.Error("a minute was waited for")
	}
	if r := reason(t, sup); !strings.HasSuffix(r, "; calls under way did not end within 200ms") {
		t.Error(r)
	}
	if err := host.Call(t.Context(), "pid", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestMuchMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	sup, _ := tree(t, recycle.Rule{MaxMemory: 1 << 20})
	if r := reason(t, sup); !strings.HasPrefix(r, "recycled: it takes ") || !strings.HasSuffix(r, " KiB of memory, and max_memory is 1024 KiB") {
		t.Error(r)
	}
}

// TestAStopStays leaves a host alone that a person stops while it is to be replaced.
func TestAStopStays(t *testing.T) {
	t.Parallel()
	_, host := tree(t, recycle.Rule{MaxRequests: 1})
	call, err := host.Go(t.Context(), "sleep", map[string]any{"ms": 60_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if call.Result(nil) == nil {
		t.Error("a minute was waited for")
	}
	if err := host.Call(t.Context(), "pid", nil, nil); !errors.Is(err, supervisor.ErrStopped) {
		t.Error(err)
	}
	if s := host.Status(); s.Life != 1 || !s.StoppedByPerson {
		t.Errorf("%+v", s)
	}
}

func TestBadRules(t *testing.T) {
	for want, r := range map[string]recycle.Rule{
		"expected max_age": {},
		"max_age: -1s":     {MaxAge: -time.Second},
		"max_requests: -1": {MaxRequests: -1},
		"max_memory: -1":   {MaxMemory: -1},
		"drain: -1s":       {MaxAge: time.Hour, Drain: -time.Second},
		"jitter: 2":        {MaxAge: time.Hour, Jitter: 2},
	} {
		if err := r.Validate(native.New()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", r, err, want)
		}
	}
	if err := (recycle.Rule{MaxRequests: 1}).Validate(nil); err == nil {
		t.Error("calls of a host without a protocol are bounded")
	}
}
