package actors

import (
	"context"

	"github.com/hostsup/hostsup/codec"
)

// Router is a [Companion] that knows of calls which are for another host.
type Router interface {
	Companion
	// Route returns nil for a call that goes to this host as it is. Else it returns
	// what finds the host that it is for and has it made ready, which may take its
	// time, until ctx ends; the error is the outcome of the call. life is the one
	// that is up, 0: none is. Route is for callers, and must not wait.
	Route(life uint64, method string, params codec.Raw) Finder
}

// Finder finds the host that a call is for.
type Finder func(ctx context.Context) (*Ref, error)

// elsewhere returns what finds the host of a call, or nil when it is this one.
func (r *Ref) elsewhere(method string, params codec.Raw) Finder {
	if r.companion.Load() == nil {
		return nil
	}
	router, ok := r.with().(Router)
	if !ok {
		return nil
	}
	var life uint64
	if c := r.conn.Load(); c != nil {
		life = c.life
	}
	return router.Route(life, method, params)
}

// guided takes a request to the host that it is for, whose outcome is its own.
func (r *Ref) guided(q *Request, find Finder) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // as long as guided
		select {
		case <-q.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	target, err := find(ctx)
	switch {
	case err != nil:
		q.Settle(nil, err)
	case target == r:
		r.route(ctx, q)
	default:
		var raw codec.Raw
		err := target.Call(ctx, q.Method, q.Params, &raw, q.again)
		q.Settle(raw, err)
	}
}

// led is for calls that go to the host of which they are made, whatever a Router
// says.
func led(o *callOptions) { o.led = true }

// again has a call made as the request was, which sees to the deadline.
func (q *Request) again(o *callOptions) {
	*o = callOptions{idempotent: q.idempotent, patient: q.patient, trace: q.Trace, led: true, unbounded: true}
}

// notifyElsewhere makes a call of which nobody waits for the outcome: whom it is
// for may have to be found out, and started.
func (r *Ref) notifyElsewhere(method string, params codec.Raw, find Finder) error {
	q, _, err := r.make(method, params, false, false, []CallOption{led})
	if err != nil {
		return err
	}
	q.Arm()
	go r.guided(q, find) // ends with the request
	return nil
}
