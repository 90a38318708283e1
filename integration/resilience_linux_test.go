//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// hardHost is the real extension host with an extension that is hard to bear.
func hardHost(t testing.TB, version string, with ...change) supervisor.HostSpec {
	t.Helper()
	return vscodeHost(t, version, append([]change{func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{Root: root, Folders: []string{"testdata/vscode/hard"}, State: filepath.Join(t.TempDir(), "state")})
	}}, with...)...)
}

// pongs waits until the extension is active and answers.
func pongs(t testing.TB, h *supervisor.Host) {
	t.Helper()
	if err := h.Call(ctx(t), activate, []any{"onCommand:hard.ping", 0}, nil); err != nil {
		t.Fatal(err)
	}
	var out string
	if err := executes(t, h, &out, "hard.ping"); err != nil || out != "pong" {
		t.Fatalf("%q, %v", out, err)
	}
}

// A frame that claims more than the cap ends the life that it is from, with its
// name, before there is memory for it; so does a true message of that size.
func TestVSCodeFrameCap(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for name, tc := range map[string]struct {
			command []any
			limit   string
		}{
			"claimed": {[]any{"hard.claim", 0xf0000000}, "4026531840 bytes in a regular frame out of turn, limit 67108864"},
			"true":    {[]any{"hard.text", 3 << 20}, "limit 2097152"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sup, h := alone(t, hardHost(t, version, func(s *supervisor.HostSpec) { s.Limits.Frame = 2 << 20 }))
				runs(t, h, 1)
				pongs(t, h)
				if err := executes(t, h, nil, "hard.text", 1<<20); err != nil {
					t.Error(err)
				}
				if err := h.Call(ctx(t), execute, tc.command, nil); !errors.Is(err, supervisor.ErrCrashed) {
					t.Errorf("%v", err)
				}
				runs(t, h, 2)
				pongs(t, h)
				mentions(t, crash(t, sup, "vs").Reason, "protocol: frame over the limit", tc.limit)
			})
		}
	})
}

// A call that is never answered ends in time, and the host is told.
func TestVSCodeDeadline(t *testing.T) {
	t.Parallel()
	provider, told, listens := symbols()
	_, h := alone(t, vscodeHost(t, "1.100.3", listens, func(s *supervisor.HostSpec) { s.Requests.Timeout = 2 * time.Second }))
	runs(t, h, 1)
	if err := h.Call(ctx(t), activate, []any{"onCommand:hello.greet", 0}, nil, supervisor.Timeout(patience)); err != nil {
		t.Fatal(err)
	}
	// Without a deadline of the caller's the host's own holds.
	err := h.Call(context.Background(), "ExtHostLanguageFeatures.$provideWorkspaceSymbols", []any{<-provider, "query", map[string]bool{"$token": true}}, nil)
	if !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"main.asked", "main.cancelled"} {
		select {
		case got := <-told:
			mentions(t, got, want)
		case <-ctx(t).Done():
			t.Fatalf("the host has not heard of it: no %s", want)
		}
	}
	if err := h.Call(context.Background(), execute, []any{"hello.wait"}, nil); !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("%v", err)
	}
	if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running {
		t.Errorf("%+v", s)
	}
}

// A ceiling for what a host takes of memory does not keep node from starting,
// as one for its address space would, and is named when it is reached.
func TestVSCodeMemory(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, hardHost(t, version, func(s *supervisor.HostSpec) {
			s.Resources = confine.Limits{Memory: 512 << 20, Enforce: confine.BestEffort}
		}))
		runs(t, h, 1)
		pongs(t, h)
		var n int
		if err := executes(t, h, &n, "hard.hold", 16); err != nil || n != 16 {
			t.Errorf("%d, %v", n, err)
		}
		if err := executes(t, h, nil, "hard.hold", 2048); !errors.Is(err, supervisor.ErrCrashed) {
			t.Errorf("%v", err)
		}
		runs(t, h, 2)
		pongs(t, h)
		mentions(t, crash(t, sup, "vs").Reason, "out of memory (limit 512 MiB")
	})
}

// However an extension takes its end, and whatever it has started: nothing is
// left after a stop.
func TestVSCodeStopsWhole(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, kill sandbox.Kill) {
		for _, how := range []string{"well", "never", "busy"} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprintf("%d-%s-%s-code", os.Getpid(), kill, how)
				sup, h := alone(t, hardHost(t, "1.100.3", marked(mark), func(s *supervisor.HostSpec) {
					if how == "busy" { // it would wait for it
						s.Stop.Grace = 3 * time.Second
					}
				}), supervisor.WithKill(kill))
				runs(t, h, 1)
				pongs(t, h)
				if err := executes(t, h, nil, "hard.leave", how); err != nil {
					t.Error(err)
				}
				var pids []int
				if err := executes(t, h, &pids, "hard.litter"); err != nil || len(pids) != 2 {
					t.Errorf("%v, %v", pids, err)
				}
				eventually(t, func() bool { return len(processes(mark)) >= 5 }, "they are there")
				if err := h.Stop(ctx(t)); err != nil {
					t.Error(err)
				}
				eventually(t, func() bool { return len(processes(mark)) == 0 }, "all are gone")
				if s := h.Status(); s.State != lifecycle.Stopped {
					t.Errorf("%+v", s)
				}
				if found, _ := sup.Crashes("vs"); len(found) > 0 {
					t.Errorf("%+v", found)
				}
				// It ended by itself, within the time that the host gives extensions.
				if e := h.Status().LastExit; how != "busy" && (e == nil || e.Code == nil || *e.Code != 0) {
					t.Errorf("%+v", e)
				}
			})
		}
	})
}

// One that crashes at every start is started again, later each time, until its
// budget is spent.
func TestVSCodeBacksOff(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, hardHost(t, "1.100.3", crashes(4), func(s *supervisor.HostSpec) {
		s.Restart.Backoff.Initial, s.Restart.Backoff.Max, s.Restart.Backoff.Jitter = 100*time.Millisecond, time.Second, 0
	}))
	for life := uint64(1); life <= 4; life++ {
		runs(t, h, life)
		pongs(t, h)
		signal(t, h, 9)
		eventually(t, func() bool { found, _ := sup.Crashes("vs"); return len(found) == int(life) }, "crash", life)
	}
	until(t, h, lifecycle.Failed)
	var delays []string
	for _, e := range sup.History() {
		if e.To != nil && *e.To == lifecycle.Restarting {
			delays = append(delays, e.Reason)
		}
	}
	mentions(t, strings.Join(delays, "\n"), "again now, crash 1 of 4", "again in 100ms, crash 2 of 4", "again in 200ms, crash 3 of 4")
}

// When the supervisor is killed, the host is gone at once and so is what its
// extensions have started, whatever it is at.
func TestVSCodeSupervisorIsKilled(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for _, at := range []string{"rest", "work"} {
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprintf("KILLED_TREE=%d-%s-%s-killed", os.Getpid(), version, at)
				dir, err := filepath.Abs("testdata/vscode/hard")
				if err != nil {
					t.Fatal(err)
				}
				p := launched(t, vscodeHost(t, version), fmt.Sprintf("env = { KILLED_TREE = %q }\n  extensions {\n    development = [%q]\n    storage = %q\n  }", strings.TrimPrefix(mark, "KILLED_TREE="), dir, t.TempDir()))
				if out, err := p.says("activate", "onCommand:hard.ping"); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if out, err := p.says("call", "code", execute, `["hard.litter"]`); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if at == "work" {
					if out, err := p.says("notify", "code", execute, `["hard.spin"]`); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				eventually(t, func() bool { return len(having(mark)) >= 5 }, "they are there")
				p.over = true
				if err := p.run.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = p.run.Wait() // it was killed
				eventually(t, func() bool { return len(having(mark)) == 0 }, "all are gone")
			})
		}
	})
}

// One that ends by itself with 0, as hosts do that take their connection or
// their supervisor for gone, has crashed like any other, and that is said.
func TestVSCodeEndsByItself(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		for name, command := range map[string][]any{"exit": {"hard.exit", 0}, "half closed": {"hard.end", "socket"}, "closed": {"hard.end", "idle"}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sup, h := alone(t, hardHost(t, version))
				runs(t, h, 1)
				pongs(t, h)
				_ = executes(t, h, nil, command...) // its answer may be lost
				runs(t, h, 2)
				pongs(t, h)
				mentions(t, crash(t, sup, "vs").Reason, "exit 0: nobody had told it to: it took its connection for closed")
			})
		}
	})
}
