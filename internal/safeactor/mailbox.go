package safeactor

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is the mailbox of an actor that owes answers. The library
// drops what an actor has not read when it stops, and whatever a sender that
// looked the actor up before still posts; this mailbox hands each such message
// to refuse instead.
//
// The library also lets an actor be found before its mailbox can be used: what
// is posted then would race with the start, or be handled before it. It waits here.
type mailbox struct {
	actor.Mailbox
	refuse Refusal
	ended  atomic.Pointer[Ended] // nil: the actor lives

	begun  atomic.Bool // Start was called
	mu     sync.Mutex  // of what came before
	system []any
	user   []any
}

// Refusal answers a message, with its envelope if it has one, that came too
// late for the actor. It is called on the goroutine of the mailbox.
type Refusal func(a *Ended, message any)

// Ended is an actor that has ended.
type Ended struct {
	System *actor.ActorSystem
	pid    *actor.PID
}

func newMailbox(r Refusal) *mailbox {
	return &mailbox{Mailbox: actor.Unbounded()(), refuse: r}
}

// RegisterHandlers implements actor.Mailbox.
func (b *mailbox) RegisterHandlers(i actor.MessageInvoker, d actor.Dispatcher) {
	b.Mailbox.RegisterHandlers(&invoker{i, b}, d)
}

// PostUserMessage implements actor.Mailbox.
func (b *mailbox) PostUserMessage(message any) {
	if b.begun.Load() || !b.early(&b.user, message) {
		b.Mailbox.PostUserMessage(message)
	}
}

// PostSystemMessage implements actor.Mailbox.
func (b *mailbox) PostSystemMessage(message any) {
	if _, first := message.(*actor.Started); first || b.begun.Load() || !b.early(&b.system, message) {
		b.Mailbox.PostSystemMessage(message)
	}
}

// early appends a message to what waits, unless the actor has begun.
func (b *mailbox) early(to *[]any, message any) bool {
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
func (b *mailbox) Start() {
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
func (b *mailbox) end(ctx actor.Context) {
	b.ended.Store(&Ended{ctx.ActorSystem(), ctx.Self()})
	b.PostSystemMessage(&actor.ResumeMailbox{}) // an actor that has failed does not read
}

// invoker stands between a mailbox and its actor.
type invoker struct {
	actor.MessageInvoker
	box *mailbox
}

// InvokeUserMessage implements actor.MessageInvoker.
func (i *invoker) InvokeUserMessage(message any) {
	if a := i.box.ended.Load(); a != nil {
		i.box.refuse(a, message)
		return
	}
	i.MessageInvoker.InvokeUserMessage(message)
}

// DeadLetter is the end of a message that has no answer, as if it had been sent
// after the end of the actor. It is a [Refusal].
func (a *Ended) DeadLetter(message any) { a.System.DeadLetter.SendUserMessage(a.pid, message) }
