package traces

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// History is where Follow reads what happens; a *supervisor.Supervisor is one.
type History interface {
	Events(ctx context.Context, since uint64, follow bool) iter.Seq[record.Event]
}

// Follow makes a span of each crash and what follows it, until ctx or the history ends.
// Spans that are open then end as they are.
func (t *Traces) Follow(ctx context.Context, h History) {
	open := map[string]trace.Span{}
	var last time.Time
	for e := range h.Events(ctx, 0, true) {
		if !e.Time.IsZero() {
			last = e.Time
		}
		for _, s := range restartSteps(e, func(host string) bool { return open[host] != nil }) {
			t.carryOut(open, s)
		}
		if e.Lost > 0 {
			for host := range open {
				t.carryOut(open, step{host: host, at: last, end: true, failed: "events were missed"})
			}
		}
	}
	for host := range open {
		t.carryOut(open, step{host: host, at: last, end: true})
	}
}

// step is what an event does to the span of a host.
type step struct {
	host  string
	at    time.Time
	begin []attribute.KeyValue // not nil: a span begins
	event string               // "": none
	attrs []attribute.KeyValue // of the event
	end   bool
	// failed is why the span ends with an error.
	failed string
}

// restartSteps returns what an event does. A span begins with a crash, and ends when the
// host is running, failed, stopped or gone.
func restartSteps(e record.Event, isOpen func(host string) bool) []step {
	if e.Host == nil {
		return nil
	}
	host := *e.Host
	_, to, ok := e.Transition()
	switch {
	case !ok && e.Kind == record.KindRemoved && isOpen(host):
		return []step{{host: host, at: e.Time, end: true}}
	case !ok, to != lifecycle.Crashed && !isOpen(host):
		return nil
	}
	s := step{host: host, at: e.Time, event: string(to), attrs: []attribute.KeyValue{attribute.String("hostsup.reason", e.Reason)}}
	if e.Life != nil {
		s.attrs = append(s.attrs, attribute.Int64("hostsup.life", int64(*e.Life)))
	}
	switch to {
	case lifecycle.Crashed:
		s.attrs = append(s.attrs, exitAttributes(e)...)
		if !isOpen(host) {
			s.begin = []attribute.KeyValue{attribute.String("hostsup.host", host)}
			if e.Group != nil {
				s.begin = append(s.begin, attribute.String("hostsup.group", *e.Group))
			}
		}
	case lifecycle.Running, lifecycle.Stopped:
		s.end = true
	case lifecycle.Failed:
		s.end, s.failed = true, e.Reason
	}
	return []step{s}
}

func exitAttributes(e record.Event) (list []attribute.KeyValue) {
	if e.CrashID != nil {
		list = append(list, attribute.String("hostsup.crash_id", *e.CrashID))
	}
	if e.Exit == nil {
		return list
	}
	if e.Exit.Code != nil {
		list = append(list, attribute.Int("process.exit.code", *e.Exit.Code))
	}
	if e.Exit.Signal != nil {
		list = append(list, attribute.String("hostsup.exit.signal", *e.Exit.Signal))
	}
	return list
}

func (t *Traces) carryOut(open map[string]trace.Span, s step) {
	if s.begin != nil {
		_, open[s.host] = t.tracer.Start(context.Background(), "restart "+s.host, trace.WithNewRoot(), trace.WithTimestamp(s.at), trace.WithAttributes(s.begin...))
	}
	span := open[s.host]
	if s.event != "" {
		span.AddEvent(s.event, trace.WithTimestamp(s.at), trace.WithAttributes(s.attrs...))
	}
	if s.failed != "" {
		span.SetStatus(codes.Error, s.failed)
	}
	if s.end {
		span.End(trace.WithTimestamp(s.at))
		delete(open, s.host)
	}
}
