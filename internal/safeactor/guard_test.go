package safeactor

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"
)

// sends records what is sent.
type sends []any

func (s *sends) Send(_ *actor.PID, m any) { *s = append(*s, m) }

// TestTellRefusesNil holds the library's worst trap shut: a nil message keeps
// a mailbox, and a processor, busy for ever.
func TestTellRefusesNil(t *testing.T) {
	var s sends
	pid := actor.NewPID("nowhere", "nobody")
	Tell(&s, pid, nil)
	Tell(&s, nil, "message")
	Tell(&s, pid, "message")
	if len(s) != 1 || s[0] != "message" {
		t.Errorf("sent %v", s)
	}
}

// lockedBuffer is written by actors and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func testLog(b *lockedBuffer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: b, DisableTime: true})
}

// fragile panics at a message of the library's.
type fragile struct {
	at    func(any) bool
	seen  *[]string
	child *actor.Props
}

func (f *fragile) Receive(ctx actor.Context) {
	m := ctx.Message()
	switch m.(type) {
	case *actor.Started:
		*f.seen = append(*f.seen, "started")
		if f.child != nil {
			ctx.Spawn(f.child)
		}
	case *actor.Restarting:
		*f.seen = append(*f.seen, "restarting")
	case *actor.Stopping:
		*f.seen = append(*f.seen, "stopping")
	case *actor.Stopped:
		*f.seen = append(*f.seen, "stopped")
	}
	if f.at(m) {
		panic("defect")
	}
}

// TestPanicWhileStopping would bring the actor back to life, or block its
// parent for ever.
func TestPanicWhileStopping(t *testing.T) {
	for name, at := range map[string]func(any) bool{
		"stopping": func(m any) bool { _, is := m.(*actor.Stopping); return is },
		"stopped":  func(m any) bool { _, is := m.(*actor.Stopped); return is },
	} {
		t.Run(name, func(t *testing.T) {
			var b lockedBuffer
			log := testLog(&b)
			system := NewSystem(log)
			defer system.Shutdown()
			var seen, parents []string
			child := Props(log, func() actor.Actor { return &fragile{at: at, seen: &seen} })
			never := func(any) bool { return false }
			parent := system.Root.Spawn(Props(log, func() actor.Actor { return &fragile{at: never, seen: &parents, child: child} }))
			if err := system.Root.StopFuture(parent).Wait(); err != nil {
				t.Fatalf("the parent does not stop: %v", err)
			}
			if got := strings.Join(seen, " "); got != "started stopping stopped" {
				t.Errorf("the child has seen %s", got)
			}
			if text := b.String(); !strings.Contains(text, "defect: panic") || !strings.Contains(text, "fragile") {
				t.Errorf("the log says %q", text)
			}
		})
	}
}

func TestGuardHidesRestarting(t *testing.T) {
	var b lockedBuffer
	log := testLog(&b)
	system := NewSystem(log)
	defer system.Shutdown()
	var seen []string
	boom := func(m any) bool { return m == "boom" }
	pid := system.Root.Spawn(Props(log, func() actor.Actor { return &fragile{at: boom, seen: &seen} }))
	system.Root.Send(pid, "boom") // the library's own strategy restarts here, as ours never do
	if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, " "); got != "started started stopping stopped" {
		t.Errorf("seen %s", got)
	}
}

func TestRootDoesNotFail(t *testing.T) {
	var b lockedBuffer
	log := testLog(&b)
	system := NewSystem(log)
	defer system.Shutdown()
	var seen []string
	always := func(m any) bool { return true }
	pid := system.Root.Spawn(Root(log, (*Ended).DeadLetter, func() actor.Actor { return &fragile{at: always, seen: &seen} }))
	system.Root.Send(pid, "boom")
	if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, " "); got != "started stopping stopped" {
		t.Errorf("seen %s", got)
	}
}

func TestSlogAdapter(t *testing.T) {
	var b lockedBuffer
	l := slog.New(slogHandler{log: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &b, DisableTime: true})})
	l.Debug("low", "n", 1)
	l.Info("middle")
	l.Warn("high", slog.Group("g", "k", "v"))
	l.With("actor", "a").WithGroup("in").Error("top", "pid", 7)
	for _, want := range []string{"[TRACE] low: n=1", "[TRACE] middle", "[WARN]  high", "[ERROR] top: actor=a in.pid=7"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	quiet := slog.New(slogHandler{log: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &b})})
	if quiet.Enabled(t.Context(), slog.LevelInfo) || !quiet.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("what the library has to say is trace, and its warnings are warnings")
	}
}

// The library lets an actor be found before its mailbox can be used. What is sent
// to one that owes answers meanwhile waits until it has started.
func TestMessageBeforeTheStart(t *testing.T) {
	system := NewSystem(hclog.NewNullLogger())
	defer system.Shutdown()
	var told []string
	done := make(chan struct{})
	props := Root(hclog.NewNullLogger(), (*Ended).DeadLetter, func() actor.Actor {
		return actor.ReceiveFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *actor.Started:
				told = append(told, "started")
			case string:
				told = append(told, m)
			case *actor.Stopped:
				close(done)
			}
		})
	}, actor.WithOnInit(func(ctx actor.Context) { // which comes between the two
		Tell(system.Root, ctx.Self(), "first")
		Tell(system.Root, ctx.Self(), "second")
	}))
	pid := system.Root.Spawn(props)
	system.Root.Poison(pid)
	<-done
	if got := strings.Join(told, " "); got != "started first second" {
		t.Error(got)
	}
}
