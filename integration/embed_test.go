//go:build linux

package integration

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// embedder is somebody's own actor that has a tree as its child.
type embedder struct {
	props *actor.Props
	tree  *actor.PID
	told  chan any // what it hears
	ready chan struct{}
}

func (e *embedder) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		e.tree = ctx.Spawn(e.props)
		close(e.ready)
	case *errand:
		ctx.RequestWithCustomSender(e.tree, m.message, ctx.Self())
	case *actor.Stopping, *actor.Stopped:
	default:
		e.told <- m
	}
}

// errand has the embedder send a message to its tree.
type errand struct{ message any }

// TestMessagesOnly runs a tree in somebody's own actor system and talks to it
// by messages alone.
func TestMessagesOnly(t *testing.T) {
	t.Parallel()
	system := safeactor.NewSystem(logger(t))
	t.Cleanup(system.Shutdown)
	spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", crashes(1)))}}
	props, err := supervisor.Props(system, spec, supervisor.WithLogger(logger(t)))
	if err != nil {
		t.Fatal(err)
	}
	e := &embedder{props: props, told: make(chan any, 16), ready: make(chan struct{})}
	self := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return e }))
	<-e.ready
	say := func(m any) { system.Root.Send(self, &errand{m}) }
	hear := func() any {
		t.Helper()
		select {
		case m := <-e.told:
			return m
		case <-ctx(t).Done():
			t.Fatal("no answer")
			return nil
		}
	}
	done := func(id any) error {
		t.Helper()
		m, ok := hear().(*actors.Done)
		if !ok || m.ID != id {
			t.Fatalf("heard %#v, want a Done of %v", m, id)
		}
		return m.Err
	}
	result := func(id any) (codec.Raw, error) {
		t.Helper()
		m, ok := hear().(*actors.Result)
		if !ok || m.ID != id {
			t.Fatalf("heard %#v, want a Result of %v", m, id)
		}
		return m.Value, m.Err
	}

	say(&actors.Ready{ID: "ready"})
	if err := done("ready"); err != nil {
		t.Fatal(err)
	}
	say(&actors.Call{ID: 1, Host: "ts", Method: "echo", Params: "hello"})
	var out string
	if raw, err := result(1); err != nil || native.New().Unmarshal(raw, &out) != nil || out != "hello" {
		t.Errorf("echo: %q, %v", out, err)
	}
	say(&actors.Call{ID: 2, Host: "nobody", Method: "echo"})
	if _, err := result(2); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("call of nobody: %v", err)
	}
	say(&actors.Call{ID: 3, Host: "ts", Method: "sleep", Params: map[string]int{"ms": 60_000}, Timeout: 1})
	if _, err := result(3); !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("call with a deadline: %v", err)
	}
	say(&actors.Call{ID: 4, Host: "ts", Method: "echo", Params: make(chan int)})
	if _, err := result(4); err == nil {
		t.Error("a channel was encoded")
	}
	say(&actors.Notify{Host: "ts", Method: "whatever"})
	say(&actors.Notify{Host: "nobody", Method: "whatever"})
	for id, c := range map[string]*actors.Command{
		"stop": {Host: "ts", Verb: actors.VerbStop}, "start": {Host: "ts", Verb: actors.VerbStart}, "restart": {Host: "ts", Verb: actors.VerbRestart},
	} {
		c.ID = id
		say(c)
		if err := done(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	say(&actors.Command{ID: "dance", Host: "ts", Verb: "dance"})
	if err := done("dance"); !errors.Is(err, supervisor.ErrNoSuchMethod) {
		t.Errorf("an unknown verb: %v", err)
	}
	say(&actors.Command{ID: "no", Host: "nobody", Verb: actors.VerbStart})
	if err := done("no"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("a verb to nobody: %v", err)
	}
	say(&actors.AddHost{ID: "bad", Host: actors.HostSpec{Spec: hostspec.Spec{Name: "x"}}})
	if err := done("bad"); !errors.Is(err, supervisor.ErrSpec) {
		t.Errorf("a host without a command: %v", err)
	}
	say(&actors.AddHost{ID: "add", Group: "tools", Host: actors.HostSpec{Spec: hostspec.Spec{Name: "mcp", Command: []string{"sleep", "1000"}}}})
	if err := done("add"); err != nil {
		t.Error(err)
	}
	say(&actors.Command{ID: "up", Host: "mcp", Verb: actors.VerbStart})
	if err := done("up"); err != nil {
		t.Error(err)
	}
	say(&actors.GetStatus{})
	status, ok := hear().([]record.HostStatus)
	if !ok || len(status) != 2 || status[1].Name != "mcp" || status[1].State != lifecycle.Running || status[1].Group != "tools" {
		t.Fatalf("status %+v", status)
	}
	say(&actors.ReplaceHost{ID: "replace", Host: actors.HostSpec{Spec: hostspec.Spec{Name: "mcp", Command: []string{"sleep", "2000"}}}})
	if err := done("replace"); err != nil {
		t.Error(err)
	}
	say(&actors.ReplaceHost{ID: "nobody", Host: actors.HostSpec{Spec: hostspec.Spec{Name: "nobody", Command: []string{"sleep", "2000"}}}})
	if err := done("nobody"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Error(err)
	}
	say(&actors.Command{ID: "up again", Host: "mcp", Verb: actors.VerbStart})
	if err := done("up again"); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(*status[1].PID, 0); err != syscall.ESRCH {
		t.Errorf("the process of mcp's first configuration: %v", err)
	}
	say(&actors.GetStatus{})
	if status, ok = hear().([]record.HostStatus); !ok || len(status) != 2 || status[1].Life != 2 {
		t.Fatalf("status %+v", status)
	}
	say(&actors.RemoveHost{ID: "remove", Host: "mcp"})
	if err := done("remove"); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(*status[1].PID, 0); err != syscall.ESRCH {
		t.Errorf("mcp after its removal: %v", err)
	}
	start := func() int {
		say(&actors.Command{ID: "start", Host: "ts", Verb: actors.VerbStart})
		if err := done("start"); err != nil {
			t.Fatal(err)
		}
		say(&actors.GetStatus{})
		return *hear().([]record.HostStatus)[0].PID
	}
	if err := syscall.Kill(start(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if m, ok := hear().(*actors.Escalated); !ok || m.Host != "ts" || m.Group != "ts" {
		t.Errorf("heard %#v, want that ts has given up", m)
	} else {
		mentions(t, m.Reason, "killed by SIGKILL")
	}
	pid := start()
	say(&actors.Shutdown{ID: "end"})
	ended, terminated := false, false
	for !ended || !terminated {
		switch m := hear().(type) {
		case *actors.Done:
			ended = m.ID == "end" && m.Err == nil
		case *actor.Terminated:
			terminated = true
		default:
			t.Errorf("heard %#v", m)
		}
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("ts after the end: %v", err)
	}
	if err := system.Root.StopFuture(self).Wait(); err != nil {
		t.Error(err)
	}
}

// TestTreeEndsWithItsParent stops the embedder and nothing else.
func TestTreeEndsWithItsParent(t *testing.T) {
	t.Parallel()
	system := safeactor.NewSystem(logger(t))
	t.Cleanup(system.Shutdown)
	props, err := supervisor.Props(system, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts"))}}, supervisor.WithLogger(logger(t)))
	if err != nil {
		t.Fatal(err)
	}
	e := &embedder{props: props, told: make(chan any, 16), ready: make(chan struct{})}
	self := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return e }))
	<-e.ready
	system.Root.Send(self, &errand{&actors.Ready{}})
	<-e.told
	system.Root.Send(self, &errand{&actors.GetStatus{}})
	pid := *(<-e.told).([]record.HostStatus)[0].PID
	if err := system.Root.StopFuture(self).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("ts after the end: %v", err)
	}
}

// TestTwoTreesAndChildrenOfOurOwn runs two trees with the same names beside
// processes that are none of theirs.
func TestTwoTreesAndChildrenOfOurOwn(t *testing.T) {
	t.Parallel()
	spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", crashes(1000)))}}
	a, b := start(t, spec), start(t, spec)
	ha, hb := host(t, a, "ts"), host(t, b, "ts")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				cmd := exec.Command("sh", "-c", "exit 3")
				var ee *exec.ExitError
				if err := cmd.Run(); !errors.As(err, &ee) || ee.ExitCode() != 3 {
					t.Errorf("a child of our own: %v", err)
				}
			}
		})
	}
	own := exec.Command("sleep", "1000")
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	for life := range uint64(5) {
		runs(t, ha, life+1)
		signal(t, ha, syscall.SIGKILL)
		echoes(t, hb)
	}
	end(t, a)
	wg.Wait()
	echoes(t, hb)
	if s := hb.Status(); s.Life != 1 {
		t.Errorf("the other tree: %+v", s)
	}
	end(t, b)
	if err := own.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a child of our own: %v", err)
	}
	if err := own.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := own.Wait(); own.ProcessState == nil || own.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a child of our own: %v", err)
	}
}

func TestContextEndsTheTree(t *testing.T) {
	t.Parallel()
	c, cancel := context.WithCancel(context.Background())
	defer cancel()
	sup, err := supervisor.Start(c, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts"))}}, supervisor.WithLogger(logger(t)))
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	h := host(t, sup, "ts")
	pid := *h.Status().PID
	cancel()
	select {
	case <-sup.Done():
	case <-ctx(t).Done():
		t.Fatal("it goes on")
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("ts after the end: %v", err)
	}
	if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
		t.Errorf("it was not let go in peace: %+v", e)
	}
	for what, err := range map[string]error{
		"call":   h.Call(ctx(t), "echo", 1, nil),
		"notify": h.Notify(ctx(t), "note", 1),
		"start":  h.Start(ctx(t)),
		"add":    addError(sup.Add(ctx(t), "", demoHost("x"))),
		"wait":   h.Wait(ctx(t), lifecycle.Running),
	} {
		if !errors.Is(err, supervisor.ErrClosed) || errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%s after the end: %v", what, err)
		}
	}
	if err := sup.Err(); err != nil {
		t.Errorf("an end that was asked for: %v", err)
	}
}

// TestWhatHostsSay hears notifications, and answers what a host asks.
func TestWhatHostsSay(t *testing.T) {
	t.Parallel()
	said := make(chan supervisor.Notification, 1)
	_, h := alone(t, demoHost("ts", plays("recorder")), supervisor.WithNotifications(func(n supervisor.Notification) {
		n.Params = append(codec.Raw(nil), n.Params...)
		said <- n
	}))
	if err := h.Call(ctx(t), "say", "hello", nil); err != nil {
		t.Fatal(err)
	}
	n := <-said
	var text string
	if err := n.Encoding.Unmarshal(n.Params, &text); err != nil || n.Host != "ts" || n.Life != 1 || n.Method != "said" || text != "hello" {
		t.Errorf("heard %+v %q, %v", n, text, err)
	}
	if err := h.Call(ctx(t), "ask", "$/ping", nil); err != nil {
		t.Errorf("a host that asks whether we live: %v", err)
	}
	var ce *codec.Error
	if err := h.Call(ctx(t), "ask", "dance", nil); !errors.As(err, &ce) || ce.Name != codec.NameMethodNotFound {
		t.Errorf("a host that asks for what there is not: %v", err)
	}
	var parent string
	if err := h.Call(ctx(t), "trace", nil, &parent, supervisor.Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")); err != nil || parent == "" {
		t.Errorf("trace %q, %v", parent, err)
	}
}

// TestDefectsAreContained has code of others fail inside the tree: a protocol's
// defect costs the life, the embedder's costs nothing.
func TestDefectsAreContained(t *testing.T) {
	t.Parallel()
	t.Run("a notification handler", func(t *testing.T) {
		t.Parallel()
		var first atomic.Bool
		sup, h := alone(t, demoHost("ts", plays("recorder")), supervisor.WithNotifications(func(supervisor.Notification) {
			if !first.Swap(true) {
				panic("defect of the embedder")
			}
		}))
		for range 2 {
			if err := h.Call(ctx(t), "say", "hello", nil); err != nil {
				t.Error(err)
			}
		}
		if s := h.Status(); !first.Load() || s.Life != 1 || s.CrashesInWindow != 0 {
			t.Errorf("a defect of the embedder was charged to the host: %+v", s)
		}
		if list, err := sup.Crashes("ts"); err != nil || len(list) > 0 {
			t.Errorf("crash reports %v, %v", list, err)
		}
	})
	for where, want := range map[string]string{
		"open": "internal", "handshake": "internal", "ping": "internal", "goodbye": "", "next": "internal",
	} {
		t.Run("a protocol, "+where, func(t *testing.T) {
			t.Parallel()
			sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{
				supervisor.Alone(demoHost("ts", crashes(1), func(s *supervisor.HostSpec) { s.Protocol = faulty{s.Protocol, where} })),
				supervisor.Alone(demoHost("other")),
			}})
			if err := sup.Ready(ctx(t)); err != nil {
				t.Fatal(err)
			}
			if want != "" {
				mentions(t, crash(t, sup, "ts").Reason, want)
			} else if err := host(t, sup, "ts").Stop(ctx(t)); err != nil {
				t.Error(err)
			}
			echoes(t, host(t, sup, "other"))
		})
	}
}

// faulty is a protocol that panics somewhere.
type faulty struct {
	codec.Protocol
	where string
}

func (f faulty) at(where string) {
	if f.where == where {
		panic("defect of the protocol")
	}
}

func (f faulty) Open(l codec.Limits) codec.Session {
	f.at("open")
	return faultySession{f.Protocol.Open(l), f}
}

type faultySession struct {
	codec.Session
	f faulty
}

func (s faultySession) Ping() string {
	s.f.at("ping")
	return s.Session.Ping()
}

func (s faultySession) Goodbye() (*codec.Message, []codec.Message) {
	s.f.at("goodbye")
	return s.Session.Goodbye()
}

func (s faultySession) Handshake(h codec.Hello) codec.Handshake {
	return faultyHandshake{s.Session.Handshake(h), s.f}
}

type faultyHandshake struct {
	codec.Handshake
	f faulty
}

func (h faultyHandshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	h.f.at("handshake")
	if h.f.where == "next" {
		panic("a defect of the protocol")
	}
	return h.Handshake.Handle(m)
}
