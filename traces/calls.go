package traces

import (
	"context"
	"errors"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
)

// Over makes a span of each call that is made to a host of sup. Everything else passes
// as it is.
func (t *Traces) Over(sup control.Supervisor) control.Supervisor { return traced{sup, t} }

type traced struct {
	control.Supervisor
	t *Traces
}

func (s traced) Host(name string) (control.Host, error) {
	h, err := s.Supervisor.Host(name)
	if err != nil {
		return nil, err
	}
	return host{h, name, s.t}, nil
}

func (s traced) Instances(name string) (any control.Host, names []string) {
	h, names := s.Supervisor.Instances(name)
	if h == nil {
		return nil, nil
	}
	return host{h, name, s.t}, names
}

type host struct {
	control.Host
	name string
	t    *Traces
}

func (h host) Call(ctx context.Context, c control.Call) (codec.Raw, error) {
	ctx, span := h.begin(ctx, &c)
	out, err := h.Host.Call(ctx, c)
	end(span, err)
	return out, err
}

func (h host) Stream(ctx context.Context, c control.Call) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		ctx, span := h.begin(ctx, &c)
		var failure error
		defer func() { end(span, failure) }()
		for item, err := range h.Host.Stream(ctx, c) {
			failure = err
			if !yield(item, err) {
				return
			}
		}
	}
}

// begin starts the span of a call, and makes it the parent of what the host does.
func (h host) begin(ctx context.Context, c *control.Call) (context.Context, trace.Span) {
	carrier := propagation.MapCarrier{"traceparent": c.Trace.Parent, "tracestate": c.Trace.State}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier)
	ctx, span := h.t.tracer.Start(ctx, h.name+"/"+c.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("rpc.system", "hostsup"), attribute.String("rpc.service", h.name), attribute.String("rpc.method", c.Method),
	))
	carrier = propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	c.Trace = codec.Trace{Parent: carrier["traceparent"], State: carrier["tracestate"]}
	return ctx, span
}

// end ends the span of a call.
func end(span trace.Span, err error) {
	if err != nil {
		kind := control.ClassOf(err)
		span.SetAttributes(attribute.String("error.type", string(kind)))
		var own *codec.Error
		if errors.As(err, &own) && own.Name != "" {
			span.SetAttributes(attribute.String("exception.type", own.Name))
		}
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
