package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/internal/safeactor"
)

// inbox holds what a host's actor must answer: calls that found no connection
// and verbs. It lies outside the mailbox because the library drops what is
// left in a mailbox when an actor stops, and what comes before the actor
// exists; here everything that goes in is taken out by somebody who answers it.
type inbox struct {
	mu    sync.Mutex
	items []any // *Request, *verb
	live  bool  // the actor exists and is told when the first item comes
	ended bool  // nothing goes in any more
}

// inboxFilled tells the host's actor to look into the inbox.
type inboxFilled struct{}

// hand puts an item in. false: the host is no more, and the caller answers.
func (r *Ref) hand(item any) bool {
	b := &r.inbox
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return false
	}
	b.items = append(b.items, item)
	wake := b.live && len(b.items) == 1
	b.mu.Unlock()
	if wake {
		safeactor.Tell(r.world.System.Root, r.pid, &inboxFilled{})
	}
	return true
}

// take empties the inbox; whoever calls it is the live actor.
func (b *inbox) take() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live = true
	items := b.items
	b.items = nil
	return items
}

// end closes the inbox and answers what is in it.
func (r *Ref) end() {
	b := &r.inbox
	b.mu.Lock()
	items, again := b.items, b.ended
	b.items, b.ended = nil, true
	b.mu.Unlock()
	if again {
		return // the root ends all, also those whose actor never came to be
	}
	r.cancel()
	r.spec().deadlines.Stop()
	for _, i := range r.chain.Load().list {
		if i.Closed != nil {
			i.Closed()
		}
	}
	for _, item := range items {
		switch item := item.(type) {
		case *Request:
			item.Settle(nil, r.goneError())
		case *verb:
			item.done(r.world.noHost(r.spec().Name))
		}
	}
}

// refuse answers what the host's actor has not read at its end.
func (r *Ref) refuse(_ *safeactor.Ended, message any) {
	switch m := actor.UnwrapEnvelopeMessage(message).(type) {
	case *lifeEnded:
		r.settleResend(m.Failure)
	case *replaceSpec:
		m.done(r.world.noHost(r.Name()))
	}
}

// settleResend ends the requests that were to go to a life that there will not
// be.
func (r *Ref) settleResend(f *Failure) {
	for _, q := range f.Resend {
		q.Settle(nil, r.goneError())
	}
	f.Resend = nil
}
