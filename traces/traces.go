package traces

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options configures Traces.
type Options struct {
	// Endpoint is the base URL of the receiver, such as "http://127.0.0.1:4318"; spans go to
	// /v1/traces below it. "": as OTEL_EXPORTER_OTLP_ENDPOINT and its like say, which also
	// say what is not here, else https://localhost:4318.
	Endpoint string
	Headers  map[string]string // of each request to the receiver
	// Sample is the share of traces that are sent, from 0 to 1. Whether one is that comes
	// from a caller, the caller has decided.
	Sample  float64
	Version string       // of the supervisor
	Logger  hclog.Logger // of what cannot be sent; nil: none
}

// Traces makes and sends spans. Safe for concurrent use.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	queue    *queue
}

// New starts the goroutine that sends spans, which Close ends. The receiver need not be
// there yet. The error is about the options, or about variables OTEL_….
func New(ctx context.Context, opt Options) (*Traces, error) {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	client, err := opt.client()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// What the environment says has priority, as the conventions want it.
	res, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "hostsup"), attribute.String("service.version", opt.Version),
	), resource.WithTelemetrySDK(), resource.WithProcessPID(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	q := newQueue(exporter, opt.Logger)
	p := sdktrace.NewTracerProvider(
		sdktrace.WithResource(res), sdktrace.WithSpanProcessor(q), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(opt.Sample))),
	)
	return &Traces{p, p.Tracer("github.com/hostsup/hostsup", trace.WithInstrumentationVersion(opt.Version)), q}, nil
}

// client returns what speaks with the receiver. Variables of the environment are read by
// the library; options have priority.
func (opt Options) client() (otlptrace.Client, error) {
	var o []otlptracehttp.Option
	if opt.Endpoint != "" {
		u, err := url.Parse(opt.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("traces: %q is not the URL of a receiver such as \"http://127.0.0.1:4318\"", opt.Endpoint)
		}
		o = append(o, otlptracehttp.WithEndpoint(u.Host), otlptracehttp.WithURLPath(strings.TrimSuffix(u.Path, "/")+"/v1/traces"))
		if u.Scheme == "http" {
			o = append(o, otlptracehttp.WithInsecure())
		}
	}
	if len(opt.Headers) > 0 {
		o = append(o, otlptracehttp.WithHeaders(opt.Headers))
	}
	return otlptracehttp.NewClient(o...), nil
}

// Counts returns how many spans the receiver has taken, and how many were dropped.
func (t *Traces) Counts() (exported, dropped uint64) {
	return t.queue.exported.Load(), t.queue.dropped.Load()
}

// Flush sends what has ended, and returns when that was tried or ctx ends.
func (t *Traces) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }

// Close sends what has ended, as long as ctx allows, and ends the goroutine.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }
