//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	sdkAtOnce = 64
	sdkKills  = 20 // in the first two thirds of the calls
)

var sdkCalls = int64(require.Rounds(100_000, 20_000))

// Hosts of all SDKs are called a hundred thousand times, with cancels and streams, and are
// killed now and then: each call has the outcome that is its own, and the memory of a
// process does not grow.
func TestManyCallsOfSDKs(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a hundred thousand calls of each SDK")
	}
	for name, command := range map[string][]string{
		"go": nil,
		// Without these limits V8 takes some 20 MiB more or less as it sees fit.
		"typescript": {"node", "--max-semi-space-size=1", "--max-old-space-size=64", "../.cache/sdk-typescript/test/conformance/host.mjs"},
		"python":     {"/usr/bin/python3", "../sdk/python/tests/conformance_host.py"},
	} {
		t.Run(name, func(t *testing.T) {
			h := demoHost(name)
			if command != nil {
				script, err := filepath.Abs(command[len(command)-1])
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(script); err != nil {
					require.Missing(t, "%v; ./test sdks builds it", err)
				}
				if name == "python" && exec.Command(command[0], "-c", "import msgpack").Run() != nil {
					require.Missing(t, "msgpack for %s (Debian: python3-msgpack)", command[0])
				}
				h.Command, h.Env = slices.Concat([]string{peer(t, command[0])}, command[1:len(command)-1], []string{script}), map[string]string{"PATH": os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE": "1"}
			}
			h.Restart.MaxCrashes, h.Restart.Backoff.Initial, h.Restart.Backoff.Max = 10*sdkKills, time.Millisecond, time.Millisecond
			h.Liveness.After = patience // the machine may be busy
			_, host := alone(t, h)
			c := &manyCalls{h: host, t: t}
			killed := sdkCalls * 2 / 3
			c.until(killed, func(n int64) {
				if n%(killed/sdkKills) == killed/sdkKills/2 { // not at the end, for what comes then
					var pid *int
					eventually(t, func() bool { pid = host.Status().PID; return pid != nil }, "it has a process")
					_ = syscall.Kill(*pid, syscall.SIGKILL) // it may be gone already
				}
			})
			if life := host.Life(); life < sdkKills/2 {
				t.Errorf("only %d lives", life)
			}
			until(t, host, lifecycle.Running)
			crashes := c.crashed.Load()
			c.until(killed+sdkCalls/10, nil)
			before := residentOf(t, *host.Status().PID)
			c.until(sdkCalls, nil)
			after := residentOf(t, *host.Status().PID)
			if c.crashed.Load() != crashes || crashes < sdkKills {
				t.Errorf("%d calls were lost in crashes, %d of them without a kill", crashes, c.crashed.Load()-crashes)
			}
			if c.cancelled.Load() < sdkCalls/20 {
				t.Errorf("only %d calls were cancelled", c.cancelled.Load())
			}
			if n := host.Status().Pending; n != 0 {
				t.Errorf("%d calls are still open", n)
			}
			if after > before+before/4+8<<20 {
				t.Errorf("the host has %d KiB, and %d KiB %d calls before", after>>10, before>>10, sdkCalls/4)
			}
			t.Logf("%d lost in crashes, %d cancelled, %d lives; memory %d KiB, then %d KiB", crashes, c.cancelled.Load(), host.Life(), before>>10, after>>10)
		})
	}
}

// manyCalls makes calls of a host that has the methods that hostsup conformance takes.
type manyCalls struct {
	h *supervisor.Host
	t testing.TB

	made, crashed, cancelled atomic.Int64
}

// until makes calls until there have been so many. after, unless nil, is told of each.
func (c *manyCalls) until(n int64, after func(n int64)) {
	c.t.Helper()
	var all sync.WaitGroup
	for worker := range uint64(sdkAtOnce) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(worker, uint64(n)))
			for {
				i := c.made.Add(1)
				if i > n {
					c.made.Add(-1)
					return
				}
				switch err := c.one(r); {
				case err == nil:
				case errors.Is(err, supervisor.ErrCrashed):
					c.crashed.Add(1)
				default:
					c.t.Errorf("call %d: %v", i, err)
				}
				if after != nil {
					after(i)
				}
			}
		})
	}
	all.Wait()
}

// one makes a call and holds that its outcome is its own.
func (c *manyCalls) one(r *rand.Rand) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch n := r.IntN(100); {
	case n < 60:
		sent, got := r.Int64(), int64(0)
		if err := c.h.Call(ctx, "conformance/echo", sent, &got); err != nil {
			return err
		}
		if got != sent {
			return fmt.Errorf("%d comes back as %d", sent, got)
		}
	case n < 70:
		var peer *codec.Error
		err := c.h.Call(ctx, "conformance/fail", map[string]any{"name": "Told", "message": "so", "code": n}, nil)
		if !errors.As(err, &peer) || peer.Name != "Told" || peer.Code != int64(n) {
			return fmt.Errorf("an error comes back as %w", err)
		}
	case n < 85:
		length, leave, seen := r.IntN(40), r.IntN(60), 0
		for item, err := range c.h.Stream(ctx, "conformance/count", map[string]any{"n": length}) {
			if err != nil {
				return err
			}
			var got int
			if err := c.h.Encoding().Unmarshal(item, &got); err != nil {
				return err
			}
			if got != seen {
				return fmt.Errorf("item %d is %d", seen, got)
			}
			if seen++; seen == leave {
				c.cancelled.Add(1)
				return nil
			}
		}
		if seen != length {
			return fmt.Errorf("%d items of %d", seen, length)
		}
	default:
		timer := time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
		defer timer.Stop()
		if err := c.h.Call(ctx, "conformance/wait", nil, nil); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a cancelled call: %w", err)
		}
		c.cancelled.Add(1)
	}
	return nil
}
