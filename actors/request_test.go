package actors

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
)

// outcome waits for the end of a request.
func outcome(t testing.TB, q *Request) error {
	t.Helper()
	select {
	case <-q.Done():
		_, err := q.Outcome()
		return err
	case <-time.After(time.Minute):
		t.Fatal("no outcome")
		return nil
	}
}

// TestRequestIsAnActor sends everything to a request that an actor can be sent.
func TestRequestIsAnActor(t *testing.T) {
	ref := fakeRef()
	root := ref.world.System.Root
	for _, row := range []struct {
		name string
		send func(*actor.PID)
		want error
	}{
		{"cancel", func(p *actor.PID) { root.Send(p, &CancelRequest{}) }, ErrCancelled},
		{"stop", func(p *actor.PID) { root.Stop(p) }, ErrStopped},
		{"poison", func(p *actor.PID) { root.Poison(p) }, ErrStopped},
		{"outcome", func(p *actor.PID) { root.Send(p, &Result{Err: ErrFailed}) }, ErrFailed},
		{"value", func(p *actor.PID) { root.Send(p, &Result{Value: codec.Raw{0xc0}}) }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := fakeCall(ref)
			pid := q.address()
			root.Send(pid, "what nobody understands")
			if q.IsSettled() {
				t.Fatal("settled by nonsense")
			}
			row.send(pid)
			if err := outcome(t, q); !errors.Is(err, row.want) {
				t.Errorf("outcome %v, want %v", err, row.want)
			}
			row.send(pid) // nobody is there any more
			if _, there := ref.world.System.ProcessRegistry.Get(pid); there {
				t.Error("still in the registry")
			}
			if n := ref.pending.Load(); n != 0 {
				t.Errorf("%d pending", n)
			}
		})
	}
}

func TestRequestHasOneOutcome(t *testing.T) {
	ref := fakeRef()
	q := fakeCall(ref)
	settled := make(chan bool)
	for i := range 8 {
		go func() { settled <- q.Settle(codec.Raw{byte(i)}, nil) }()
	}
	n := 0
	for range 8 {
		if <-settled {
			n++
		}
	}
	if n != 1 || ref.pending.Load() != 0 {
		t.Errorf("%d outcomes, %d pending", n, ref.pending.Load())
	}
}

// watcher tells what it hears of the end of others.
type watcher struct {
	watch *actor.PID
	heard chan *actor.PID
	ready chan struct{}
}

func (w *watcher) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		ctx.Watch(w.watch)
		close(w.ready)
	case *actor.Terminated:
		w.heard <- m.Who
	}
}

func TestRequestCanBeWatched(t *testing.T) {
	ref := fakeRef()
	system := ref.world.System
	for name, early := range map[string]bool{"before its end": true, "after its end": false} {
		t.Run(name, func(t *testing.T) {
			q := fakeCall(ref)
			w := &watcher{watch: q.address(), heard: make(chan *actor.PID, 2), ready: make(chan struct{})}
			if !early {
				q.Settle(nil, nil)
			}
			pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return w }))
			<-w.ready
			if early {
				q.Settle(nil, nil)
			}
			select {
			case who := <-w.heard:
				if !who.Equal(q.address()) {
					t.Errorf("heard of %v", who)
				}
			case <-time.After(time.Minute):
				t.Error("not told")
			}
			if err := system.Root.StopFuture(pid).Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRequestAnswersAnActorOnce counts what the asker gets.
func TestRequestAnswersAnActorOnce(t *testing.T) {
	ref := fakeRef()
	results := make(chan *Result, 10)
	asker := ref.world.System.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if r, ok := ctx.Message().(*Result); ok {
			results <- r
		}
	}))
	q := fakeCall(ref)
	q.replyTo, q.replyID = asker, "mine"
	q.Cancel(ErrCancelled)
	q.Settle(codec.Raw{0xc0}, nil)
	q.Stop(nil)
	if err := ref.world.System.Root.PoisonFuture(asker).Wait(); err != nil {
		t.Fatal(err)
	}
	if r := <-results; r.ID != "mine" || !errors.Is(r.Err, ErrCancelled) || r.Value != nil {
		t.Errorf("got %+v", r)
	}
	if len(results) != 0 {
		t.Errorf("answered again: %+v", <-results)
	}
}
