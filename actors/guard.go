package actors

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/link"
)

// This file is where the traps of the actor library are guarded, once for the
// whole tree:
//
//   - a nil message makes a mailbox spin for ever: tell refuses it;
//   - an actor without a parent of ours is restarted when it fails, and its
//     hosts would be gone: guardRoot lets nothing out;
//   - a panic in Stopping or Stopped turns a stop into a restart or blocks the
//     parent for ever: guarded recovers there;
//   - ReceiveTimeout and Future race inside the library: timers are
//     alarms, with a generation, answers use channels or plain sends;
//   - a restart keeps the mailbox and can bring a stopped actor back to life:
//     no strategy of this tree restarts, failed actors are stopped and made anew;
//   - a panic on a goroutine of an actor's own ends the program: link.Contain makes
//     it an error, on the read loops, where a protocol and a program's own
//     callbacks run;
//   - Stop drops what is queued without a word: whatever must be answered is
//     kept outside mailboxes (see Request), or its receiver has a lastingMailbox.

// tell sends a message and refuses nil, which would never be taken out of the
// mailbox's count.
func tell(to interface{ Send(*actor.PID, any) }, pid *actor.PID, message any) {
	if pid == nil || message == nil {
		return
	}
	to.Send(pid, message)
}

// guarded wraps an actor so that a panic while it stops is logged instead of
// bringing it back to life. Panics elsewhere are left to the strategy of its
// parent, or with alone, which is for the root of a tree, are logged, too: who
// is above the root, and what it would do, is not ours to know.
type guarded struct {
	actor.Actor
	log   hclog.Logger
	alone bool
	box   *lastingMailbox // nil: what it has not read at its end is dropped
}

// shield makes props for an actor; log gets what goes wrong while stopping.
func shield(log hclog.Logger, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &guarded{make(), log, false, nil} }, opts...)
}

// shieldRoot is shield for the root of a tree, which is spawned once. What it
// has not read at its end is refused (see refuse).
func shieldRoot(log hclog.Logger, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	return shieldLasting(log, true, refuse, make, opts...)
}

// shieldLasting is shield for an actor that is spawned once and that owes
// answers: refuse gets each message that the actor has not read at its end.
func shieldLasting(log hclog.Logger, alone bool, refuse refusal, make func() actor.Actor, opts ...actor.PropsOption) *actor.Props {
	box := newLastingMailbox(refuse)
	return actor.PropsFromProducer(func() actor.Actor { return &guarded{make(), log, alone, box} },
		append(opts, actor.WithMailbox(func() actor.Mailbox { return box }))...)
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

// alarm is a timer that sends a message to an actor. A message of an alarm
// that was set anew or cancelled is told apart by its generation.
type alarm struct {
	timer link.Timer
	gen   uint64
}

// set runs f with this generation after d.
func (a *alarm) set(env link.Env, d time.Duration, f func(gen uint64)) {
	a.cancel()
	gen := a.gen
	a.timer = env.AfterFunc(d, func() { f(gen) })
}

// cancel makes sure that nothing set before counts any more.
func (a *alarm) cancel() {
	a.gen++
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// NewSystem returns an actor system that logs to log: the library's own lines
// at trace, its warnings and errors as they are.
func NewSystem(log hclog.Logger) *actor.ActorSystem {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slogHandler{log: log})
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond)) // for as long it leaves a goroutine behind
	shrinkRegistry(s)
	return s
}

// registryMaps is how many maps, with a lock each, a registry has.
const registryMaps = 128

// shrinkRegistry gives a system that nobody uses yet a registry of few maps.
// The library's own has 32,768 where nobody says otherwise, which take 2.8 MiB
// while empty, and a quarter of a KiB for each process that has one to itself.
func shrinkRegistry(s *actor.ActorSystem) {
	all := s.ProcessRegistry.LocalPIDs.LocalPIDs
	buckets := max(1, registryMaps/len(all[0]))
	if len(all) <= buckets {
		return
	}
	few := &actor.SliceMap{LocalPIDs: slices.Clone(all[:buckets])}
	for _, b := range all {
		if b.Count() == 0 {
			continue
		}
		// Items would take a hundred goroutines a map, and a fifth of a second in
		// all.
		found := map[string]any{}
		b.IterCb(func(id string, p any) { found[id] = p })
		for id, p := range found {
			b.Remove(id)
			few.GetBucket(id).Set(id, p)
		}
	}
	s.ProcessRegistry.LocalPIDs = few
}

// slogHandler writes slog records to hclog.
type slogHandler struct {
	log    hclog.Logger
	prefix string
}

func (h slogHandler) level(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		return hclog.Error
	case l >= slog.LevelWarn:
		return hclog.Warn
	}
	return hclog.Trace
}

// Enabled implements slog.Handler. The library renders whole messages for lines
// that are logged at every failed life; nothing may be spent on them unless
// somebody reads them.
func (h slogHandler) Enabled(_ context.Context, l slog.Level) bool {
	switch h.level(l) {
	case hclog.Error:
		return h.log.IsError()
	case hclog.Warn:
		return h.log.IsWarn()
	}
	return h.log.IsTrace()
}

// Handle implements slog.Handler.
func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, h.prefix+a.Key, fmt.Sprint(a.Value.Any()))
		return true
	})
	h.log.Log(h.level(r.Level), r.Message, args...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	args := make([]any, 0, 2*len(attrs))
	for _, a := range attrs {
		args = append(args, h.prefix+a.Key, fmt.Sprint(a.Value.Any()))
	}
	return slogHandler{h.log.With(args...), h.prefix}
}

// WithGroup implements slog.Handler.
func (h slogHandler) WithGroup(name string) slog.Handler {
	return slogHandler{h.log, h.prefix + name + "."}
}
