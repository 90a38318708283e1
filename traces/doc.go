// Package traces sends OpenTelemetry traces of a tree over OTLP/HTTP.
//
//	t, err := traces.New(ctx, traces.Options{Endpoint: "http://127.0.0.1:4318", Sample: 1})
//	srv := control.NewServer(t.Over(control.Over(sup)), control.Options{})
//	go t.Follow(ctx, sup)
//	defer t.Close(ctx)
//
// A call over the control API is one span. It continues the trace of the caller's header
// traceparent, and the host gets the span as its parent, where its protocol carries trace
// context (see codec.CapTrace). A crash, and what follows it until the host is running or
// given up, is one span with an event for each state.
//
// Ended spans wait in a queue of [QueueSize]. Neither calls nor hosts ever wait for the
// receiver: what does not fit, or cannot be sent, is dropped and counted.
package traces
