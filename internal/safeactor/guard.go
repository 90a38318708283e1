package safeactor

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"
)

// Tell sends a message. It refuses nil, which would never be taken out of the
// mailbox's count, and does nothing without a receiver.
func Tell(to interface{ Send(*actor.PID, any) }, pid *actor.PID, message any) {
	if pid == nil || message == nil {
		return
	}
	to.Send(pid, message)
}

// Props returns props for an actor below another: a panic while it stops is logged
// instead of bringing it back to life. Panics elsewhere are left to the strategy of
// its parent.
func Props(log hclog.Logger, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &guarded{make(), log, false, nil} }, opts...)
}

// Owing is Props for an actor that is spawned once and that owes answers: refuse
// gets each message that the actor has not read at its end.
func Owing(log hclog.Logger, refuse Refusal, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return owing(log, false, refuse, make, opts)
}

// Root is Owing for the root of a tree. No panic leaves it: who is above it, and
// what it would do, is not ours to know.
func Root(log hclog.Logger, refuse Refusal, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return owing(log, true, refuse, make, opts)
}

func owing(log hclog.Logger, alone bool, refuse Refusal, make func() actor.Actor, opts []actor.PropsOption) *actor.Props {
	box := newMailbox(refuse)
	return actor.PropsFromProducer(func() actor.Actor { return &guarded{make(), log, alone, box} },
		append(opts, actor.WithMailbox(func() actor.Mailbox { return box }))...)
}

// guarded is an actor as it is spawned.
type guarded struct {
	actor.Actor
	log   hclog.Logger
	alone bool     // no panic leaves it
	box   *mailbox // nil: what it has not read at its end is dropped
}

// Receive hands the message on.
func (g *guarded) Receive(ctx actor.Context) {
	contain := g.alone
	switch ctx.Message().(type) {
	case *actor.Stopping:
		contain = true
	case *actor.Stopped:
		contain = true
		if g.box != nil {
			defer g.box.end(ctx)
		}
	case *actor.Restarting:
		return
	}
	if contain {
		defer func() {
			if r := recover(); r != nil {
				g.log.Error("defect: panic in an actor that must not fail", "actor", ctx.Self().Id,
					"message", fmt.Sprintf("%T", ctx.Message()), "panic", r, "stack", string(debug.Stack()))
			}
		}()
	}
	room(len(os.Args))
	g.Actor.Receive(ctx)
}

// room makes the stack of the goroutine large enough for what an actor does.
// Each batch of messages is handled on a new goroutine, whose stack would grow
// by several copies, each of them deeper: a twentieth of a restart.
//
//go:noinline
func room(n int) byte {
	if n < 0 { // never, but the frame is as large as if
		var b [roomSize]byte
		return b[-n&(roomSize-1)]
	}
	return 0
}

const roomSize = 8 << 10
