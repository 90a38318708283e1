//go:build unix

package part

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

const patience = 3 * time.Minute

// until waits for a condition that nothing tells of.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	poll.Until(t, patience, what, is)
}

func startTree(t *testing.T, spec supervisor.Spec) *supervisor.Supervisor {
	t.Helper()
	s, err := supervisor.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// one is a tree with nothing but an exec server.
func one(t *testing.T, spec Spec) (*supervisor.Supervisor, *ExecServer) {
	t.Helper()
	s := startTree(t, supervisor.Spec{Parts: []supervisor.Part{spec}})
	e, err := Of(s, spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	return s, e
}

func connect(t *testing.T, url string) *execserver.Client {
	t.Helper()
	e, err := execserver.ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	c := execserver.New(e, execserver.Options{Name: "test"})
	t.Cleanup(func() { c.Close() })
	return c
}

func ptr[T any](v T) *T { return &v }

// output runs a command to its end, with the server's environment or with none.
func output(t *testing.T, c *execserver.Client, inherit bool, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.Command(ctx, "/bin/sh", "-c", script)
	if !inherit {
		cmd.Env = []string{}
	}
	out, err := cmd.Output()
	if err != nil {
		var exit *execserver.ExitError
		errors.As(err, &exit)
		t.Fatalf("%v: %+v", err, exit)
	}
	return string(out)
}

func TestExecServerBesideHosts(t *testing.T) {
	t.Setenv("HOSTSUP_SOCKET", "/run/secret.sock")
	t.Setenv("INHERITED", "yes")
	t.Setenv("REPLACED", "no")
	s := startTree(t, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{Name: "host", Command: []string{"/bin/sh", "-c", "exec sleep 1000"}})},
		Parts: []supervisor.Part{
			Spec{Name: "all", Env: map[string]string{"REPLACED": "yes"}},
			Spec{Name: "some", InheritEnv: []string{"INHERITED"}, Options: server.Options{Listen: "unix://" + filepath.Join(t.TempDir(), "x.sock")}},
		},
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	execs, err := Statuses(&st)
	if err != nil || len(execs) != 2 || len(st.Hosts) != 1 || st.Hosts[0].State != lifecycle.Running || len(st.Groups) != 1 {
		t.Fatalf("%+v", st)
	}
	text := output(t, connect(t, execs[0].URL), true, "env")
	if !strings.Contains(text, "INHERITED=yes") || !strings.Contains(text, "REPLACED=yes") || strings.Contains(text, "HOSTSUP_SOCKET") {
		t.Error(text)
	}
	text = output(t, connect(t, execs[1].URL), true, "env")
	if !strings.Contains(text, "INHERITED=yes") || strings.Contains(text, "REPLACED") {
		t.Error(text)
	}
	if execs, err = Statuses(ptr(s.Status())); err != nil {
		t.Fatal(err)
	}
	for i, st := range execs {
		m := st.Metrics
		if st.State != lifecycle.Running || m.Sessions != 1 || m.Starts != 1 || m.OutputBytes == 0 || m.BytesIn == 0 || m.BytesOut == 0 || len(st.Sessions) != 1 {
			t.Errorf("%d: %+v", i, st)
		}
	}
}

func TestExecServerIsStartedAgain(t *testing.T) {
	s, e := one(t, Spec{Name: "exec"})
	first, err := e.Server()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a running server", func() bool { return e.Status().State == lifecycle.Running })
	url := first.URL()
	if got := output(t, connect(t, url), false, "echo one"); got != "one\n" {
		t.Error(got)
	}
	_ = first.Stop(context.Background()) // which nobody of the tree has asked for
	until(t, "another server", func() bool {
		st := e.Status()
		return st.Restarts == 1 && st.State == lifecycle.Running
	})
	if got := output(t, connect(t, url), false, "echo two"); got != "two\n" {
		t.Error(got)
	}
	if m := e.Status().Metrics; m.Starts != 2 || m.Sessions != 2 || m.OpenSessions != 1 {
		t.Errorf("the sums do not outlive the server: %+v", m)
	}
	var told []string
	for _, ev := range s.History() {
		if ev.Kind == KindEvent {
			told = append(told, ev.Reason)
		}
	}
	if len(told) != 3 || told[0] != "exec: listening at "+url || !strings.Contains(told[1], "it ended unexpectedly: again in") || told[2] != told[0] {
		t.Errorf("%q", told)
	}
}

// While its address is taken it is tried again, by the rule.
func TestExecServerWaitsForItsAddress(t *testing.T) {
	_, e := one(t, Spec{Name: "exec", Backoff: lifecycle.Backoff{Initial: time.Millisecond, Max: 20 * time.Millisecond, Multiplier: 2, Healthy: time.Hour}})
	first, err := e.Server()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a running server", func() bool { return e.Status().State == lifecycle.Running })
	address := strings.TrimPrefix(first.URL(), "ws://")
	var taken net.Listener
	go func() { _ = first.Stop(context.Background()) }()
	until(t, "the address", func() bool { // there is a race for it, and the server may win
		if taken, err = net.Listen("tcp", address); err == nil {
			return true
		}
		if srv, err := e.Server(); err == nil && srv != first {
			first = srv
			go func() { _ = srv.Stop(context.Background()) }()
		}
		return false
	})
	until(t, "a try in vain", func() bool {
		st := e.Status()
		return st.State == lifecycle.Restarting && st.Reason != nil && strings.Contains(*st.Reason, "address already in use")
	})
	taken.Close()
	until(t, "the server", func() bool { return e.Status().State == lifecycle.Running })
	if got := output(t, connect(t, "ws://"+address), false, "echo here"); got != "here\n" {
		t.Error(got)
	}
}

func TestExecServerThatCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = supervisor.Start(t.Context(), supervisor.Spec{Parts: []supervisor.Part{
		Spec{Name: "good"}, Spec{Name: "bad", Options: server.Options{Listen: "ws://" + taken.Addr().String()}},
	}})
	var ee *Error
	if !errors.As(err, &ee) || ee.Name != "bad" || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
	for name, spec := range map[string]Spec{
		"stdio":   {Name: "x", Options: server.Options{Listen: "stdio"}},
		"exposed": {Name: "x", Options: server.Options{Listen: "ws://0.0.0.0:0"}},
		"name":    {Name: "a/b"},
		"host":    {Name: "host"},
		"token":   {Name: "x", Options: server.Options{Auth: server.Auth{TokenFile: filepath.Join(t.TempDir(), "none")}}},
	} {
		spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{Name: "host", Command: []string{"true"}})}, Parts: []supervisor.Part{spec}}
		if _, err := supervisor.Start(t.Context(), spec); !errors.Is(err, supervisor.ErrSpec) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever runs in it ends with the tree, at once.
func TestStopEndsExecServers(t *testing.T) {
	s, e := one(t, Spec{Name: "exec"})
	c := connect(t, e.Status().URL)
	tree := leaktest.NewTether(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Start(ctx, wire.ProcessStartParams{Cwd: "file:///", Env: map[string]string{"PATH": os.Getenv("PATH")},
		Argv: []string{"/bin/sh", "-c", "trap '' TERM INT HUP; " + tree.Hold + "while :; do sleep 1000; done"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the process", tree.IsHeld)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tree.IsHeld() {
		t.Error("a process is left")
	}
	if st := e.Status(); st.State != lifecycle.Stopped || len(st.Sessions) != 0 || st.Metrics.Starts != 1 {
		t.Errorf("%+v", st)
	}
	if _, err := e.Server(); !errors.Is(err, supervisor.ErrClosed) {
		t.Error(err)
	}
}

// In somebody else's actor system it is the same tree.
func TestExecServerInProps(t *testing.T) {
	system := safeactor.NewSystem(hclog.NewNullLogger())
	listen := "unix://" + filepath.Join(t.TempDir(), "x.sock")
	props, err := supervisor.Props(system, supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{Name: "host", Command: []string{"/bin/sh", "-c", "exec sleep 1000"}})},
		Parts:  []supervisor.Part{Spec{Name: "exec", Options: server.Options{Listen: listen}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan any, 16)
	asked := make(chan any)
	root, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *actor.Started:
			tree := ctx.Spawn(props)
			go func() {
				for m := range asked {
					system.Root.RequestWithCustomSender(tree, m, ctx.Self())
				}
			}()
		case *actors.Done, []record.HostStatus, *actor.Terminated:
			answers <- m
		}
	}), "above")
	if err != nil {
		t.Fatal(err)
	}
	next := func() any {
		select {
		case a := <-answers:
			return a
		case <-time.After(patience):
			t.Fatal("no answer")
			return nil
		}
	}
	asked <- &actors.Ready{ID: 1}
	if d, ok := next().(*actors.Done); !ok || d.ID != 1 || d.Err != nil {
		t.Errorf("%v", d)
	}
	asked <- &actors.GetStatus{}
	if st, ok := next().([]record.HostStatus); !ok || len(st) != 1 || st[0].State != lifecycle.Running {
		t.Errorf("%v", st)
	}
	if got := output(t, connect(t, listen), false, "echo here"); got != "here\n" {
		t.Error(got)
	}
	asked <- &actors.Shutdown{ID: 2}
	close(asked)
	for range 2 { // in whatever order
		switch a := next().(type) {
		case *actors.Done:
			if a.ID != 2 || a.Err != nil {
				t.Errorf("%+v", a)
			}
		case *actor.Terminated:
		default:
			t.Errorf("%T", a)
		}
	}
	if _, err := os.Stat(strings.TrimPrefix(listen, "unix://")); err == nil {
		t.Error("the socket is left")
	}
	system.Root.Stop(root)
}
