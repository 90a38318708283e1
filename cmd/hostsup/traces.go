package main

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/traces"
)

// openTraces returns nil if no traces are sent.
func openTraces(conf *config.Traces, log hclog.Logger) (*traces.Traces, error) {
	if conf == nil {
		return nil, nil
	}
	// What the library has to say would go to stderr, past the log.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry", "error", err) }))
	return traces.New(context.Background(), traces.Options{
		Endpoint: conf.Endpoint, Headers: conf.Headers, Sample: conf.Sample, Version: version.Version(), Logger: log,
	})
}

// closeTraces sends what there is to send, if the receiver takes it in time.
func closeTraces(t *traces.Traces) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = t.Close(ctx) // what was not sent has been logged
}
