package actors

import (
	"context"
	"slices"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Wait returns when the host is in one of the states, or has been in one since
// the call began. Errors: ErrNoHost when the host was removed before that,
// ErrClosed when the supervisor has stopped, ctx's.
func (r *Ref) Wait(ctx context.Context, states ...lifecycle.State) error {
	last := r.world.Journal.Last()
	if slices.Contains(states, r.snapshot().machine.State()) {
		return nil
	}
	// passed reads the journal and reports whether the host has come to one of
	// the states. It ends at the removal of the host: the name may come again.
	passed := func(ctx context.Context, follow bool) bool {
		for e := range r.world.Journal.Events(ctx, last, follow) {
			switch {
			case e.Lost > 0:
				last += e.Lost
				if slices.Contains(states, r.snapshot().machine.State()) {
					return true
				}
				continue
			case e.Host == nil || *e.Host != r.spec().Name:
			case e.Kind == record.KindRemoved:
				return false
			case e.Kind == record.KindState && slices.Contains(states, *e.To):
				return true
			}
			last = e.Seq
		}
		return false
	}
	lasting, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(r.lasting, cancel)
	defer stop()
	if passed(lasting, true) || ctx.Err() == nil && passed(ctx, false) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.world.noHost(r.spec().Name)
}
