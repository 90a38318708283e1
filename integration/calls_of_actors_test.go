//go:build linux

package integration

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// callOutcomes counts what became of each call that a program's actor made: a
// Result, or a dead letter.
type callOutcomes struct {
	n   atomic.Int64 // calls with an outcome
	of  []atomic.Int32
	pid atomic.Int64 // of the host's process
}

func (o *callOutcomes) count(id any) {
	if o.of[id.(int)].Add(1) == 1 {
		o.n.Add(1)
	}
}

// SendUserMessage implements actor.Process.
func (o *callOutcomes) SendUserMessage(_ *actor.PID, message any) {
	switch m := actor.UnwrapEnvelopeMessage(message).(type) {
	case *actors.Result:
		o.count(m.ID)
	case []record.HostStatus:
		if m[0].PID != nil {
			o.pid.Store(int64(*m[0].PID))
		}
	}
}

func (o *callOutcomes) SendSystemMessage(*actor.PID, any) {}
func (o *callOutcomes) Stop(*actor.PID)                   {}

// TestCallsOfActorsAroundStop calls a host by messages alone while its tree is
// stopped, with and without a crash at the same moment. Each call has exactly
// one outcome.
func TestCallsOfActorsAroundStop(t *testing.T) {
	t.Parallel()
	stop := func(s *actor.ActorSystem, tree *actor.PID) { s.Root.Stop(tree) }
	shutdown := func(s *actor.ActorSystem, tree *actor.PID) { s.Root.Send(tree, &actors.Shutdown{}) }
	for name, row := range map[string]struct {
		end   func(*actor.ActorSystem, *actor.PID)
		crash bool
	}{
		"stop": {stop, false}, "stop and crash": {stop, true},
		"shutdown": {shutdown, false}, "shutdown and crash": {shutdown, true},
	} {
		t.Run(name, func(t *testing.T) {
			const callers, each = 4, 4000
			system := safeactor.NewSystem(logger(t))
			t.Cleanup(system.Shutdown)
			o := &callOutcomes{of: make([]atomic.Int32, callers*each+1)}
			self, _ := system.ProcessRegistry.Add(o, "caller")
			subscription := system.EventStream.Subscribe(func(event any) {
				if e, ok := event.(*actor.DeadLetterEvent); ok {
					if m, ok := e.Message.(*actors.Call); ok {
						o.count(m.ID)
					}
				}
			})
			defer system.EventStream.Unsubscribe(subscription)
			spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", func(s *supervisor.HostSpec) {
				s.Requests.MaxPending = callers * each
			}))}}
			props, err := supervisor.Props(system, spec, supervisor.WithLogger(logger(t)))
			if err != nil {
				t.Fatal(err)
			}
			tree := system.Root.Spawn(props)
			eventually(t, func() bool {
				system.Root.RequestWithCustomSender(tree, &actors.GetStatus{}, self)
				return o.pid.Load() != 0
			})
			var seq atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range each {
						id := int(seq.Add(1))
						system.Root.RequestWithCustomSender(tree, &actors.Call{ID: id, Host: "ts", Method: "echo", Params: id, Idempotent: id%2 == 0}, self)
						if id == callers*each/4 {
							if row.crash {
								_ = syscall.Kill(int(o.pid.Load()), syscall.SIGKILL) // it may have ended
							}
							row.end(system, tree)
						}
					}
				})
			}
			wg.Wait()
			defer func() {
				for id := 1; id <= callers*each; id++ {
					if n := o.of[id].Load(); n != 1 {
						t.Fatalf("call %d has %d outcomes, and %d of %d calls have one at least", id, n, o.n.Load(), callers*each)
					}
				}
			}()
			eventually(t, func() bool { return o.n.Load() == callers*each })
			eventually(t, func() bool { _, lives := system.ProcessRegistry.GetLocal(tree.Id); return !lives })
		})
	}
}
