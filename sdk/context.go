package sdk

import (
	"context"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// handling is the context of a handler that works on no [link.Incoming]: an inline one,
// or one of a notification.
type handling struct {
	context.Context
	id     uint32
	inline bool
	trace  codec.Trace
}

type handlingKey struct{}

func (h *handling) Value(key any) any {
	if key == (handlingKey{}) {
		return h
	}
	return h.Context.Value(key)
}

func handlingOf(ctx context.Context) *handling {
	h, _ := ctx.Value(handlingKey{}).(*handling)
	return h
}

type traceKey struct{}

// RequestID returns the id of the request that the handler with this context
// answers, and 0 for a notification or any other context. Ids count per
// connection and direction; they are good for log lines and nothing else.
func RequestID(ctx context.Context) uint32 {
	if h := handlingOf(ctx); h != nil {
		return h.id
	}
	if r := link.IncomingOf(ctx); r != nil {
		return r.ID()
	}
	return 0
}

// TraceFrom returns the trace context that came with the message being
// handled, or the one that [WithTrace] put into ctx. It is the zero value when
// there is none, also because the capability is not in force.
func TraceFrom(ctx context.Context) codec.Trace {
	if t, ok := ctx.Value(traceKey{}).(codec.Trace); ok {
		return t
	}
	if h := handlingOf(ctx); h != nil {
		return h.trace
	}
	if r := link.IncomingOf(ctx); r != nil {
		return r.Trace
	}
	return codec.Trace{}
}

// WithTrace returns a context whose calls and notifications carry t instead of
// the trace context of the message being handled.
func WithTrace(ctx context.Context, t codec.Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}
