//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// besides runs one of the extensions in a host of its own from the beginning.
func besides(t testing.TB, version string, with ...func(*supervisor.HostSpec)) (*supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	spec := edited(t, version, "editor", func(s *plan.Spec, _ *vscode.Options) {
		s.Affinity = map[string]int{"hostsup.memo": 2, "hostsup.third": 2}
	})
	for _, w := range with {
		w(&spec)
	}
	return alone(t, spec)
}

// whoHas is the host whose process has told its pid namespace, and its id in
// there.
func whoHas(t testing.TB, sup *supervisor.Supervisor, id string) string {
	t.Helper()
	for _, h := range sup.Hosts() {
		s := h.Status()
		if s.PID == nil {
			continue
		}
		proc := fmt.Sprintf("/proc/%d/", *s.PID)
		space, err := os.Readlink(proc + "ns/pid")
		if err != nil {
			t.Error(err)
		}
		status, err := os.ReadFile(proc + "status")
		if err != nil {
			t.Error(err)
		}
		_, ids, _ := strings.Cut(string(status), "\nNSpid:")
		ids, _, _ = strings.Cut(ids, "\n")
		if inner := strings.Fields(ids); len(inner) > 0 && id == space+" "+inner[len(inner)-1] {
			return h.Name()
		}
	}
	return "nowhere"
}

// runsIn calls a command of the home host and says in which one it has run.
func runsIn(t testing.TB, sup *supervisor.Supervisor, h *supervisor.Host, want, command string, args ...any) {
	t.Helper()
	var id string
	if err := h.Call(ctx(t), command, args, &id); err != nil {
		t.Errorf("%s: %v", command, err)
	} else if got := whoHas(t, sup, id); got != want {
		t.Errorf("%s has run in %s, not in %s", command, got, want)
	}
}

// A command is executed where its extension lives, whichever host it is called
// of, and the extension is activated before.
func TestCommandsFindTheirHost(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sup, h := besides(t, version)
			runsIn(t, sup, h, "vs-2", "memo.run")
			if s := h.Status(); s.State != lifecycle.Stopped {
				t.Errorf("a host was started that has nothing to do with it: %+v", s)
			}
			runsIn(t, sup, h, "vs-2", "memo.run")                   // now that it is active
			runsIn(t, sup, host(t, sup, "vs-2"), "vs", "other.run") // and back
			runsIn(t, sup, h, "vs-2", "other.call", "memo.run")     // by way of a host that asks for it
			runsIn(t, sup, h, "vs", "memo.call", "other.run")
			runsIn(t, sup, h, "vs", "memo.call", "other.call", "memo.call", "other.run")
			runsIn(t, sup, h, "vs-2", "memo.apply") // within one host functions are passed on as well

			// An array of bytes arrives as such, though with 1.100 as a part of more.
			var got []any
			if err := h.Call(ctx(t), "other.bytes", nil, &got); err != nil || len(got) != 2 || got[1] != "text" {
				t.Errorf("%v, %v", got, err)
			} else if n, ok := got[0].(float64); !ok || n < 1000 {
				t.Errorf("%v", got)
			}
			var refused *codec.Error
			if err := h.Call(ctx(t), "other.call", []any{"memo.fail"}, nil); !errors.As(err, &refused) || refused.Message != "on purpose" {
				t.Errorf("%v", err)
			}
			if err := h.Call(ctx(t), "other.call", []any{"no.such"}, nil); !errors.As(err, &refused) || refused.Message != "command 'no.such' not found" {
				t.Errorf("%v", err)
			}
			if err := h.Call(ctx(t), "no.such", nil, nil); !errors.As(err, &refused) || !strings.Contains(refused.Message, "'no.such'") {
				t.Errorf("%v", err)
			}
			// The editor's own are executed by nobody, and that is no error.
			if err := h.Call(ctx(t), "other.call", []any{"setContext", "a", 1}, nil); err != nil {
				t.Error(err)
			}
			var all []string
			if err := h.Call(ctx(t), "other.commands", nil, &all); err != nil || !slices.Contains(all, "memo.run") || !slices.Contains(all, "memo.heard") || !slices.Contains(all, "third.apply") {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// What cannot be executed is an error that says why.
func TestCommandsThatCannotBe(t *testing.T) {
	t.Parallel()
	sup, h := besides(t, "1.100.3", func(s *supervisor.HostSpec) { s.Extensions.Disabled = []string{"hostsup.third"} })
	refuses := func(want error, command string, parts ...string) {
		t.Helper()
		err := h.Call(ctx(t), command, nil, nil)
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
			return
		}
		mentions(t, err.Error(), parts...)
	}
	refuses(service.ErrNotActive, "third.apply", "third.apply", "hostsup.third", "disabled by the configuration")
	runsIn(t, sup, h, "vs-2", "memo.run")
	two := host(t, sup, "vs-2")
	if err := two.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	refuses(supervisor.ErrStopped, "memo.run", `host "vs-2"`)
	if err := two.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	runsIn(t, sup, h, "vs-2", "memo.run") // active again, or activated for it
}

// While a host is down, calls to it by way of another fail or wait as its rules
// say, and one that waits finds the extension active.
func TestCommandsWhileDown(t *testing.T) {
	t.Parallel()
	for rule, down := range map[hostspec.WhileDown]time.Duration{hostspec.FailFast: time.Hour, hostspec.Queue: time.Second} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			sup, h := besides(t, "1.100.3", func(s *supervisor.HostSpec) {
				s.Requests.WhileDown = rule
				s.Restart.Backoff = lifecycle.Backoff{Initial: down, Max: down, Multiplier: 1}
				s.Restart.MaxCrashes = 100
			})
			runsIn(t, sup, h, "vs-2", "memo.run")
			two := host(t, sup, "vs-2")
			for life := uint64(1); life < 3; life++ { // the first restart does not wait
				signal(t, two, syscall.SIGKILL)
				if life == 1 {
					runs(t, two, 2)
					continue
				}
				if err := two.Wait(ctx(t), lifecycle.Restarting); err != nil {
					t.Fatal(err)
				}
			}
			err := h.Call(ctx(t), "memo.run", nil, nil)
			switch rule {
			case hostspec.Queue:
				if err != nil {
					t.Error(err)
				}
			case hostspec.FailFast:
				if !errors.Is(err, supervisor.ErrCrashed) || !strings.Contains(err.Error(), `host "vs-2"`) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// An extension that has moved is called by the name of the host that it has come
// from.
func TestCommandsOfOneThatMoves(t *testing.T) {
	t.Parallel()
	sup, h := besides(t, "1.139.1", func(s *supervisor.HostSpec) { s.Requests.WhileDown = hostspec.Queue })
	runsIn(t, sup, h, "vs-2", "memo.run")
	runsIn(t, sup, h, "vs", "other.run")
	for _, step := range []struct {
		verb extensions.Verb
		home string
	}{{extensions.Isolate, "vs~hostsup.other"}, {extensions.Release, "vs"}} {
		if err := sup.SetExtension(ctx(t), "vs", "hostsup.other", step.verb); err != nil {
			t.Fatal(err)
		}
		runsIn(t, sup, h, step.home, "other.run")
		runsIn(t, sup, h, step.home, "memo.call", "other.run")
	}
}
