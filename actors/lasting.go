package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// lastingMailbox is the mailbox of an actor that owes answers. The library
// drops what an actor has not read when it stops, and whatever a sender that
// looked the actor up before still posts; this mailbox hands each such message
// to refuse instead.
//
// The library also lets an actor be found before its mailbox can be used: what
// is posted then would race with the start, or be handled before it. It waits here.
type lastingMailbox struct {
	actor.Mailbox
	refuse refusal
	ended  atomic.Pointer[endedActor] // nil: the actor lives

	begun  atomic.Bool // Start was called
	mu     sync.Mutex  // of what came before
	system []any
	user   []any
}

// refusal answers a message, with its envelope if it has one, that came too
// late for the actor. It is called on the goroutine of the mailbox.
type refusal func(a *endedActor, message any)

// endedActor says whose mailbox it was.
type endedActor struct {
	system *actor.ActorSystem
	pid    *actor.PID
}

func newLastingMailbox(r refusal) *lastingMailbox {
	return &lastingMailbox{Mailbox: actor.Unbounded()(), refuse: r}
}

// RegisterHandlers implements actor.Mailbox.
func (b *lastingMailbox) RegisterHandlers(invoker actor.MessageInvoker, d actor.Dispatcher) {
	b.Mailbox.RegisterHandlers(&lastingInvoker{invoker, b}, d)
}

// PostUserMessage implements actor.Mailbox.
func (b *lastingMailbox) PostUserMessage(message any) {
	if b.begun.Load() || !b.early(&b.user, message) {
		b.Mailbox.PostUserMessage(message)
	}
}

// PostSystemMessage implements actor.Mailbox.
func (b *lastingMailbox) PostSystemMessage(message any) {
	if _, first := message.(*actor.Started); first || b.begun.Load() || !b.early(&b.system, message) {
		b.Mailbox.PostSystemMessage(message)
	}
}

// early appends a message to what waits, unless the actor has begun.
func (b *lastingMailbox) early(to *[]any, message any) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.Load() {
		return false
	}
	*to = append(*to, message)
	return true
}

// Start implements actor.Mailbox. The actor is to be told first that it has
// started, which is in the mailbox by now.
func (b *lastingMailbox) Start() {
	b.Mailbox.Start()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.system {
		b.Mailbox.PostSystemMessage(m)
	}
	for _, m := range b.user {
		b.Mailbox.PostUserMessage(m)
	}
	b.system, b.user = nil, nil
	b.begun.Store(true)
}

// end refuses every message from now on. The actor has stopped.
func (b *lastingMailbox) end(ctx actor.Context) {
	b.ended.Store(&endedActor{ctx.ActorSystem(), ctx.Self()})
	b.PostSystemMessage(&actor.ResumeMailbox{}) // an actor that has failed does not read
}

// lastingInvoker stands between a lastingMailbox and its actor.
type lastingInvoker struct {
	actor.MessageInvoker
	box *lastingMailbox
}

// InvokeUserMessage implements actor.MessageInvoker.
func (i *lastingInvoker) InvokeUserMessage(message any) {
	if a := i.box.ended.Load(); a != nil {
		i.box.refuse(a, message)
		return
	}
	i.MessageInvoker.InvokeUserMessage(message)
}

// deadLetter is the end of a message that has no answer, as if it had been sent
// after the end of the actor.
func (a *endedActor) deadLetter(message any) { a.system.DeadLetter.SendUserMessage(a.pid, message) }

// refuse answers what the root of a tree has not read at its end with
// ErrClosed. What has no answer that could say so is a dead letter.
func refuse(a *endedActor, message any) {
	_, body, sender := actor.UnwrapEnvelope(message)
	reply := func(v any) {
		if sender == nil {
			a.deadLetter(message)
			return
		}
		tell(a.system.Root, sender, v)
	}
	switch m := body.(type) {
	case *Call:
		reply(&Result{ID: m.ID, Err: ErrClosed})
	case *Command:
		reply(&Done{m.ID, ErrClosed})
	case *AddHost:
		reply(&Done{m.ID, ErrClosed})
	case *RemoveHost:
		reply(&Done{m.ID, ErrClosed})
	case *Ready:
		reply(&Done{m.ID, ErrClosed})
	case *Shutdown:
		reply(&Done{m.ID, nil})
	case *addHost:
		m.done(ErrClosed)
	case *removeHost:
		m.done(ErrClosed)
	case *awaitReady:
		m.done(ErrClosed)
	case *shutdown:
		m.done(nil)
	case *getGroups, *firstTry, *hostGone, *escalated, *groupAtRest: // nobody waits for these
	default:
		a.deadLetter(message)
	}
}
