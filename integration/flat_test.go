//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// use is what this program holds.
type use struct{ heap, goroutines, files, threads int }

func measure() use {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := os.ReadDir("/proc/self/task")
	return use{int(m.HeapAlloc), runtime.NumGoroutine(), len(leaktest.Descriptors()), len(threads)}
}

// flat holds that cycles leave no more behind than the history they are meant
// to leave. These tests do not run beside others, as they count for the
// whole program.
func flat(t *testing.T, hosts []*supervisor.Host, cycles int, one func(h *supervisor.Host, n int)) {
	t.Helper()
	round := func(from, to int) {
		var wg sync.WaitGroup
		for _, h := range hosts {
			wg.Go(func() {
				for i := from; i < to; i++ {
					one(h, i)
				}
			})
		}
		wg.Wait()
	}
	warm := cycles / 5
	round(0, warm)
	before := measure()
	round(warm, warm+cycles)
	var after use
	const history = 1 << 20 // events and lines that are kept
	eventually(t, func() bool {
		after = measure()
		return after.heap < before.heap+history && after.goroutines <= before.goroutines && after.files <= before.files
	}, "from", before)
	t.Logf("%d cycles: from %+v to %+v", cycles*len(hosts), before, after)
	if after.threads > before.threads+8 {
		t.Errorf("%d threads, then %d", before.threads, after.threads)
	}
}

// four returns four demo hosts in a tree with its state on disk.
func four(t *testing.T) []*supervisor.Host {
	g := supervisor.GroupSpec{Name: "editor"}
	for i := range 4 {
		g.Hosts = append(g.Hosts, demoHost(fmt.Sprintf("host-%d", i), crashes(1_000_000), func(s *supervisor.HostSpec) {
			s.Restart.Backoff.Initial, s.Restart.Backoff.Max = 1, 1
		}))
	}
	spec := supervisor.Spec{StateDir: t.TempDir(), Groups: []supervisor.GroupSpec{g}}
	return start(t, spec, supervisor.WithLogger(hclog.NewNullLogger())).Hosts() // a test keeps its log in memory
}

func TestStartsAndStopsStayFlat(t *testing.T) {
	flat(t, four(t), 50, func(h *supervisor.Host, _ int) {
		c, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(h.Call(c, "echo", 1, nil), h.Stop(c), h.Start(c)); err != nil {
			t.Error(err)
		}
	})
}

func TestCrashesStayFlat(t *testing.T) {
	flat(t, four(t), 50, func(h *supervisor.Host, n int) {
		runs(t, h, uint64(n+1))
		p, err := h.Go(context.Background(), "sleep", map[string]int{"ms": 60_000})
		if err != nil {
			t.Error(err)
			return
		}
		signal(t, h, syscall.SIGKILL)
		if err := p.Result(nil); err == nil {
			t.Error("a call outlived its host")
		}
		runs(t, h, uint64(n+2))
	})
}

// TestTreesStayFlat makes and ends trees in one actor system. (The memory of a
// system itself comes back later: the runtime lets go of a stopped timer, and
// all it points to, when its time would have come.)
func TestTreesStayFlat(t *testing.T) {
	system := safeactor.NewSystem(hclog.NewNullLogger())
	defer system.Shutdown()
	before := measure()
	for range 10 {
		sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{
			{Name: "editor", Strategy: lifecycle.OneForAll, Hosts: []supervisor.HostSpec{demoHost("a"), demoHost("b", after("a"))}},
		}}, supervisor.WithSystem(system))
		if err != nil {
			t.Fatal(err)
		}
		if err := sup.Ready(ctx(t)); err != nil {
			t.Fatal(err)
		}
		echoes(t, host(t, sup, "b"))
		for range 5 {
			if _, err := sup.Add(ctx(t), "", sleeper("more")); err != nil {
				t.Fatal(err)
			}
			if err := sup.Remove(ctx(t), "more"); err != nil {
				t.Fatal(err)
			}
		}
		end(t, sup)
	}
	var after use
	eventually(t, func() bool {
		after = measure()
		return after.heap < before.heap+1<<20 && after.goroutines <= before.goroutines && after.files <= before.files
	}, "from", before)
	t.Logf("10 trees: from %+v to %+v", before, after)
}
