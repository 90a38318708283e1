//go:build unix

package actors_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// outcomes counts what became of each message that a program sent to a tree:
// an answer, or a dead letter.
type outcomes struct {
	mu  sync.Mutex
	got map[any]int
}

func (o *outcomes) count(id any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got[id]++
}

// SendUserMessage implements actor.Process.
func (o *outcomes) SendUserMessage(_ *actor.PID, message any) {
	switch m := actor.UnwrapEnvelopeMessage(message).(type) {
	case *actors.Result:
		o.count(m.ID)
	case *actors.Done:
		o.count(m.ID)
	}
}

func (o *outcomes) SendSystemMessage(*actor.PID, any) {}
func (o *outcomes) Stop(*actor.PID)                   {}

// deadLetter counts a message that reached no actor.
func (o *outcomes) deadLetter(event any) {
	e, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	switch m := e.Message.(type) {
	case *actors.Call:
		o.count(m.ID)
	case *actors.Command:
		o.count(m.ID)
	case *actors.AddHost:
		o.count(m.ID)
	case *actors.RemoveHost:
		o.count(m.ID)
	case *actors.ReplaceHost:
		o.count(m.ID)
	case *actors.Ready:
		o.count(m.ID)
	}
}

// TestEveryMessageHasOneOutcome sends messages to a tree before, while and after
// it ends, in each way in which it can end.
func TestEveryMessageHasOneOutcome(t *testing.T) {
	for name, end := range map[string]func(*actor.ActorSystem, *actor.PID){
		"shutdown": func(s *actor.ActorSystem, tree *actor.PID) { s.Root.Send(tree, &actors.Shutdown{}) },
		"stop":     func(s *actor.ActorSystem, tree *actor.PID) { s.Root.Stop(tree) },
		"poison":   func(s *actor.ActorSystem, tree *actor.PID) { s.Root.Poison(tree) },
	} {
		for _, spec := range []supervisor.Spec{
			{},
			{Parts: []supervisor.Part{part.Spec{Name: "agents", Options: server.Options{Listen: "ws://127.0.0.1:0"}}}},
		} {
			if len(spec.Parts) > 0 {
				name += " with exec server"
			}
			spec.Groups = []supervisor.GroupSpec{supervisor.Alone(sleeper("a")), supervisor.Alone(sleeper("b"))}
			t.Run(name, func(t *testing.T) {
				for range require.Rounds(5, 1) {
					everyMessageHasOneOutcome(t, spec, end)
				}
			})
		}
	}
}

func everyMessageHasOneOutcome(t *testing.T, spec supervisor.Spec, end func(*actor.ActorSystem, *actor.PID)) {
	system := safeactor.NewSystem(hclog.NewNullLogger())
	defer system.Shutdown()
	o := &outcomes{got: make(map[any]int)}
	self, _ := system.ProcessRegistry.Add(o, "asker")
	defer system.EventStream.Unsubscribe(system.EventStream.Subscribe(o.deadLetter))

	props, err := supervisor.Props(system, spec, supervisor.WithKill(sandbox.KillGroup))
	if err != nil {
		t.Fatal(err)
	}
	tree := system.Root.Spawn(props)
	system.Root.RequestWithCustomSender(tree, &actors.Ready{ID: "ready"}, self)
	soon(t, func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.got["ready"] == 1 })
	delete(o.got, "ready")
	var seq atomic.Int64
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range 5000 {
				id := int(seq.Add(1))
				var m any
				switch id % 100 {
				case 0:
					m = &actors.Command{ID: id, Host: "a", Verb: actors.VerbStart}
				case 1:
					m = &actors.AddHost{ID: id, Host: actors.HostSpec{Spec: hostspec.Spec{Name: "a", Command: sleeper("a").Command}}}
				case 2:
					m = &actors.AddHost{ID: id, Group: "tools", Host: actors.HostSpec{Spec: hostspec.Spec{Name: "b"}}}
				case 3:
					m = &actors.RemoveHost{ID: id, Host: "nobody"}
				case 4:
					m = &actors.Ready{ID: id}
				case 5:
					m = &actors.Call{ID: id, Host: "nobody", Method: "echo"}
				case 6: // each of another configuration than the one before
					m = &actors.ReplaceHost{ID: id, Host: actors.HostSpec{Spec: hostspec.Spec{
						Name: "a", Command: sleeper("a").Command, Env: map[string]string{"ID": strconv.Itoa(id)},
					}}}
				default:
					m = &actors.Call{ID: id, Host: "a", Method: "echo"}
				}
				system.Root.RequestWithCustomSender(tree, m, self)
			}
		})
	}
	soon(t, func() bool { return seq.Load() > 1000 })
	end(system, tree)
	soon(t, func() bool { _, lives := system.ProcessRegistry.GetLocal(tree.Id); return !lives })
	senders.Wait()
	system.Root.RequestWithCustomSender(tree, &actors.Call{ID: int(seq.Add(1))}, self) // after its end in any case
	sent := int(seq.Load())
	count := func() (one, more int) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, n := range o.got {
			if n == 1 {
				one++
			} else {
				more++
			}
		}
		return one, more
	}
	defer func() {
		if one, more := count(); one != sent {
			t.Errorf("of %d messages %d had one outcome, %d several, %d none", sent, one, more, sent-one-more)
			for id := 1; id <= sent; id++ {
				if o.got[id] != 1 {
					t.Errorf("message %d had %d", id, o.got[id])
				}
			}
		}
	}()
	soon(t, func() bool { one, more := count(); return one+more == sent })
}

// TestHandleOfARemovedHost answers at once that there is no such host, also
// when the name is taken again.
func TestHandleOfARemovedHost(t *testing.T) {
	sup, err := supervisor.Start(within(t), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(sleeper("a"))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	h, err := sup.Host("a")
	if err != nil {
		t.Fatal(err)
	}
	failed, stopped := make(chan error, 1), make(chan error, 1)
	go func() { failed <- h.Wait(within(t), lifecycle.Failed) }()
	go func() { stopped <- h.Wait(within(t), lifecycle.Stopped) }()
	if err := sup.Remove(within(t), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := sup.Add(within(t), "", sleeper("a")); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("a wait that had begun: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("a wait for the state that it came to before its removal: %v", err)
	}
	for what, err := range map[string]error{
		"wait": h.Wait(within(t), lifecycle.Running), "start": h.Start(within(t)), "reset": h.Reset(within(t)),
	} {
		if !errors.Is(err, supervisor.ErrNoHost) {
			t.Errorf("%s after the removal: %v", what, err)
		}
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.PID != nil {
		t.Errorf("status after the removal: %s, pid %v", s.State, s.PID)
	}
	if err := sup.Stop(within(t)); err != nil {
		t.Error(err)
	}
}

// TestHandleAfterStop says that the supervisor has stopped, and not that there
// was never such a host.
func TestHandleAfterStop(t *testing.T) {
	for _, ctx := range []struct {
		name string
		ctx  func() context.Context
	}{
		{"gracefully", func() context.Context { return within(t) }},
		{"at once", func() context.Context { c, cancel := context.WithCancel(t.Context()); cancel(); return c }},
	} {
		t.Run(ctx.name, func(t *testing.T) {
			sup, err := supervisor.Start(within(t), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(sleeper("a"))}})
			if err != nil {
				t.Fatal(err)
			}
			if err := sup.Ready(within(t)); err != nil {
				t.Fatal(err)
			}
			h, err := sup.Host("a")
			if err != nil {
				t.Fatal(err)
			}
			waits := make(chan error, 1)
			go func() { waits <- h.Wait(within(t), lifecycle.Failed) }()
			looks := make(chan error, 1)
			go func() { // as the control socket does, until it hears that it is over
				for {
					if _, err := sup.Host("a"); err != nil {
						looks <- err
						return
					}
				}
			}()
			if err := sup.Stop(ctx.ctx()); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			_, err = sup.Host("a")
			for what, err := range map[string]error{
				"host": err, "host while it stops": <-looks, "wait": <-waits, "start": h.Start(within(t)), "stop": h.Stop(within(t)),
				"add": addError(sup.Add(within(t), "", sleeper("b"))), "remove": sup.Remove(within(t), "a"), "ready": sup.Ready(within(t)),
			} {
				if !errors.Is(err, supervisor.ErrClosed) || errors.Is(err, supervisor.ErrNoHost) {
					t.Errorf("%s after the end: %v", what, err)
				}
			}
			if s := h.Status(); s.State != lifecycle.Stopped || s.PID != nil {
				t.Errorf("status after the end: %s, pid %v", s.State, s.PID)
			}
		})
	}
}

// addError is the error of an Add.
func addError(_ *supervisor.Host, err error) error { return err }
