//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// labelled sets a variable by which lives of another configuration can be told apart.
func labelled(value string) change {
	return func(s *supervisor.HostSpec) { s.Env["HOSTSUP_TEST_MARK"] = value }
}

// label returns that variable of the process of a host; "" if it has ended.
func label(t testing.TB, h *supervisor.Host) string {
	t.Helper()
	pid := h.Status().PID
	if pid == nil {
		return ""
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", *pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "" // it ended after its status was read
	}
	if err != nil {
		t.Fatal(err)
	}
	for v := range strings.SplitSeq(string(b), "\x00") {
		if value, ok := strings.CutPrefix(v, "HOSTSUP_TEST_MARK="); ok {
			return value
		}
	}
	return ""
}

func replace(t testing.TB, sup *supervisor.Supervisor, h supervisor.HostSpec) {
	t.Helper()
	if err := sup.Replace(ctx(t), h); err != nil {
		t.Fatal(err)
	}
}

// What does not differ is not touched; what only the supervisor has to know leaves the
// process alone; for the rest there is another process, and callers hardly notice.
func TestReplace(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", labelled("one")))
	first := *h.Status().PID
	replace(t, sup, demoHost("ts", labelled("one")))
	replace(t, sup, demoHost("ts", labelled("one"), func(s *supervisor.HostSpec) {
		s.Requests.MaxPending, s.Requests.WhileDown, s.Log.Files, s.Restart.MaxCrashes = 7, hostspec.Queue, 2, 9
		s.Requests.Timeout = 20 * time.Second
	}))
	if s := h.Status(); *s.PID != first || s.MaxCrashes != 9 || h.Spec().Requests.MaxPending != 7 {
		t.Errorf("%+v", s)
	}
	echoes(t, h)
	calls := h.Status().Calls
	// A call that comes meanwhile waits for the next life: its rule is to queue.
	slow, err := h.Go(ctx(t), "sleep", map[string]int{"ms": 60_000})
	if err != nil {
		t.Fatal(err)
	}
	next := demoHost("ts", labelled("two"), func(s *supervisor.HostSpec) { s.Requests.WhileDown = hostspec.Queue })
	replace(t, sup, next)
	if err := slow.Result(nil); err == nil {
		t.Error("a call to the life that was stopped has a result")
	}
	echoes(t, h)
	if s := h.Status(); label(t, h) != "two" || s.Life != 2 || s.Calls <= calls || s.Restarts != 0 {
		t.Errorf("%s, %+v", label(t, h), s)
	}
	if !h.Spec().Equal(next) || host(t, sup, "ts") != h {
		t.Error("the handle is of another host")
	}
	var kinds []string
	for _, e := range sup.History() {
		if e.Kind == "replaced" {
			kinds = append(kinds, e.Kind)
		}
	}
	if len(kinds) != 2 {
		t.Errorf("%d events of replacements, want 2", len(kinds))
	}
	// A host of another protocol.
	replace(t, sup, demoHost("ts", func(s *supervisor.HostSpec) { s.Protocol, s.Command = nil, []string{"sleep", "1000"} }))
	until(t, h, lifecycle.Running)
	if err := h.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrNoProtocol) {
		t.Error(err)
	}
	replace(t, sup, next)
	until(t, h, lifecycle.Running)
	echoes(t, h)
}

// A configuration that is taken back at once holds, whenever that comes: the process is
// of the one that is in force, and not of the one that was in force in between.
func TestReplaceTakenBack(t *testing.T) {
	t.Parallel()
	sleeps := func(s *supervisor.HostSpec) { s.Protocol, s.Command = nil, []string{"sleep", "1000"} }
	one := demoHost("ts", sleeps, labelled("one"))
	for _, two := range []supervisor.HostSpec{demoHost("ts", sleeps, labelled("two")), demoHost("ts", labelled("two"))} {
		sup, h := alone(t, one)
		for range 5 {
			var all sync.WaitGroup
			for range 3 { // at a time: each moment of a replacement is one that others come at
				all.Go(func() {
					for _, spec := range []supervisor.HostSpec{two, one, two, one} {
						if err := sup.Replace(ctx(t), spec); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			eventually(t, func() bool { return label(t, h) == h.Spec().Env["HOSTSUP_TEST_MARK"] }, "the process is of what is in force")
		}
	}
}

// What a program has set on the handle of a host stays: what answers it, and who
// follows it.
func TestReplaceKeepsFeatures(t *testing.T) {
	t.Parallel()
	asker := func(with ...change) supervisor.HostSpec {
		h := askerHost()
		for _, f := range with {
			f(&h)
		}
		return h
	}
	sup, h := alone(t, asker())
	h.Handle("who", func(context.Context, *actors.Incoming) (any, error) { return "me", nil })
	heard := make(chan uint64, 10)
	go func() { // ends with the host
		for m := range h.Messages(context.Background()) {
			if m.Method == "said" {
				heard <- m.Life
			}
		}
	}()
	for life := range uint64(3) {
		eventually(t, func() bool { // the follower may not have begun
			if err := h.Call(ctx(t), "say", 1, nil); err != nil {
				t.Fatal(err)
			}
			select {
			case of := <-heard:
				return of == life+1
			default:
				return false
			}
		})
		var who, fixed string
		if err := h.Call(ctx(t), "ask", question{Method: "who"}, &who); err != nil || who != "me" {
			t.Errorf("%q, %v", who, err)
		}
		err := h.Call(ctx(t), "ask", question{Method: "fixed"}, &fixed)
		if want := []string{"", "one", "two"}[life]; fixed != want || (err != nil) != (want == "") {
			t.Errorf("%q, %v, want %q", fixed, err, want)
		}
		if life < 2 {
			replace(t, sup, asker(func(s *supervisor.HostSpec) {
				s.Answers.Replies = []answer.Reply{{Method: "fixed", Result: []string{"one", "two"}[life]}}
				s.Requests.WhileDown = hostspec.Queue
			}))
		}
	}
}

// A host is given another configuration in whatever state it is.
func TestReplaceInEveryState(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{})
	crashes := runCommand("sh", "-c", "exit 3")
	rows := map[string]struct {
		before change
		reach  func(h *supervisor.Host)
		after  lifecycle.State
	}{
		"running":  {labelled("one"), func(h *supervisor.Host) { until(t, h, lifecycle.Running) }, lifecycle.Running},
		"failed":   {crashes, func(h *supervisor.Host) { until(t, h, lifecycle.Failed) }, lifecycle.Running},
		"starting": {runCommand("sleep", "1000"), func(h *supervisor.Host) { until(t, h, lifecycle.Starting) }, lifecycle.Running},
		"restarting": {
			func(s *supervisor.HostSpec) {
				crashes(s)
				s.Restart.MaxCrashes, s.Restart.Backoff.Initial, s.Restart.Backoff.Max = 1000, time.Hour, time.Hour
			},
			func(h *supervisor.Host) { eventually(t, func() bool { return h.Status().RetryInSeconds != nil }) }, lifecycle.Running,
		},
		"stopped by a person": {labelled("one"), func(h *supervisor.Host) {
			if err := h.Stop(ctx(t)); err != nil {
				t.Error(err)
			}
		}, lifecycle.Stopped},
		"ended by itself": {
			func(s *supervisor.HostSpec) { s.Protocol, s.Command = nil, []string{"true"} },
			func(h *supervisor.Host) { until(t, h, lifecycle.Stopped) }, lifecycle.Running,
		},
		"lazy": {func(s *supervisor.HostSpec) { s.Start.Lazy = true }, func(*supervisor.Host) {}, lifecycle.Running},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.ReplaceAll(name, " ", "-")
			h, err := sup.Add(ctx(t), "", demoHost(id, row.before))
			if err != nil {
				t.Fatal(err)
			}
			row.reach(h)
			replace(t, sup, demoHost(id, labelled("two")))
			if row.after == lifecycle.Stopped {
				if s := h.Status(); s.State != row.after || !s.StoppedByPerson {
					t.Fatalf("%+v", s)
				}
				if err := h.Start(ctx(t)); err != nil {
					t.Fatal(err)
				}
			}
			until(t, h, lifecycle.Running)
			echoes(t, h)
			if got := label(t, h); got != "two" {
				t.Errorf("it runs with %q", got)
			}
		})
	}
}

// What cannot be is refused, and leaves everything as it is.
func TestReplaceRefused(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "g", Hosts: []supervisor.HostSpec{
		sleeper("a"), sleeper("b", after("a")), sleeper("c"),
	}}}})
	pid := func(name string) int { return *host(t, sup, name).Status().PID }
	a, b := pid("a"), pid("b")
	var order *lifecycle.OrderError
	if err := sup.Replace(ctx(t), sleeper("a", after("b"))); !errors.As(err, &order) || order.Cycle == nil {
		t.Errorf("a circle: %v", err)
	}
	if err := sup.Replace(ctx(t), sleeper("b", after("x"))); !errors.As(err, &order) || order.Name != "x" {
		t.Errorf("a dependency that is not there: %v", err)
	}
	if err := sup.Replace(ctx(t), sleeper("nobody")); !errors.Is(err, supervisor.ErrNoHost) {
		t.Error(err)
	}
	if err := sup.Replace(ctx(t), sleeper("a", runCommand())); !errors.Is(err, supervisor.ErrSpec) {
		t.Error(err)
	}
	if pid("a") != a || pid("b") != b || !reflect.DeepEqual(host(t, sup, "b").Spec().Start.DependsOn, []string{"a"}) {
		t.Error("something was touched")
	}
	// Dependencies alone restart nothing, and count from then on.
	replace(t, sup, sleeper("b", after("c")))
	if pid("b") != b {
		t.Error("another dependency has restarted a host")
	}
	if err := sup.Remove(ctx(t), "a"); err != nil {
		t.Errorf("nobody needs it any more: %v", err)
	}
	if err := sup.Remove(ctx(t), "c"); err == nil {
		t.Error("a host that is needed was taken out")
	}
	// It goes on when nobody waits for it.
	short, cancel := context.WithCancel(ctx(t))
	cancel()
	if err := sup.Replace(short, sleeper("b", labelled("two"))); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, func() bool {
		return host(t, sup, "b").Status().State == lifecycle.Running && label(t, host(t, sup, "b")) == "two"
	})
	end(t, sup)
	if err := sup.Replace(ctx(t), sleeper("b")); !errors.Is(err, supervisor.ErrClosed) {
		t.Error(err)
	}
}

// Programs that are attached go on with the next life.
func TestReplaceKeepsClients(t *testing.T) {
	t.Parallel()
	h := server(t, "every", jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
	sup, _ := alone(t, h)
	a := attachTo(t, sup, "every", h.Protocol)
	hello := dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}}
	a.must("initialize", hello)
	a.tell("notifications/initialized", nil)
	echo := func(text string) {
		t.Helper()
		if out := a.must("tools/call", dict{"name": "echo", "arguments": dict{"message": text}}); !strings.Contains(out, text) {
			t.Error(out)
		}
	}
	echo("one")
	again := server(t, "every", jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
	if again.Env == nil {
		again.Env = map[string]string{}
	}
	labelled("two")(&again)
	replace(t, sup, again)
	echo("two")
	if got := label(t, host(t, sup, "every")); got != "two" {
		t.Errorf("it runs with %q", got)
	}
	replace(t, sup, demoHost("every"))
	if err := <-a.served; !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("a host of another protocol: %v", err)
	}
	echoes(t, host(t, sup, "every"))
}

// The extensions of the next configuration are looked after, and no others.
func TestReplaceExtensions(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			old, young := t.TempDir(), t.TempDir()
			put(t, old, "a", "1.0.0", "")
			put(t, young, "b", "2.0.0", "")
			in := func(dir string) supervisor.HostSpec {
				return extendedOf(t, version, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} })
			}
			sup, h := alone(t, in(old))
			run := func(name string) (got string, err error) {
				err = h.Call(ctx(t), name+".run", nil, &got, supervisor.Idempotent())
				return got, err
			}
			if got, err := run("a"); got != "1.0.0" {
				t.Fatalf("%q, %v", got, err)
			}
			replace(t, sup, in(young))
			if got, err := run("b"); got != "2.0.0" {
				t.Errorf("%q, %v", got, err)
			}
			if got, err := run("a"); err == nil {
				t.Errorf("an extension that is gone answers %q", got)
			}
			// What concerns the supervisor alone leaves the extensions alone, too.
			pid, rules := *h.Status().PID, h.Spec()
			rules.Restart.MaxCrashes = 17
			replace(t, sup, rules)
			if s := h.Status(); *s.PID != pid || s.MaxCrashes != 17 || extensionOf(t, sup, "b").State != "active" {
				t.Errorf("%+v, %+v", s, extensionOf(t, sup, "b"))
			}
			list, err := sup.Extensions("vs")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if strings.HasSuffix(e.ID, ".a") {
					t.Errorf("%+v", e)
				}
			}
			// The host is restarted for nothing but other extensions.
			other := *rules.Extensions
			other.Disabled = []string{"hostsup.b"}
			rules.Extensions = &other
			replace(t, sup, rules)
			if got, err := run("b"); err == nil {
				t.Errorf("an extension that is disabled answers %q", got)
			}
			if s := h.Status(); s.PID != nil && *s.PID == pid {
				t.Error("the host with another extension list is the same process")
			}
		})
	}
}

// The bounds of the log files hold from the next line on.
func TestReplaceLogBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bounded := func(size int64, files int) supervisor.HostSpec {
		return demoHost("ts", func(s *supervisor.HostSpec) { s.Log.MaxSize, s.Log.Files = size, files })
	}
	sup := start(t, supervisor.Spec{StateDir: dir, Groups: []supervisor.GroupSpec{supervisor.Alone(bounded(1000, 5))}})
	h := host(t, sup, "ts")
	print := func() {
		if err := h.Call(ctx(t), "print", map[string]string{"stdout": strings.Repeat(strings.Repeat("x", 100)+"\n", 60)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	files := func(n int) {
		t.Helper()
		eventually(t, func() bool {
			found, _ := filepath.Glob(filepath.Join(dir, "logs", "ts.log*"))
			return len(found) == n
		})
	}
	print()
	files(5)
	pid := *h.Status().PID
	replace(t, sup, bounded(1000, 2))
	print()
	files(2)
	if *h.Status().PID != pid {
		t.Error("it was restarted")
	}
}
