package traces

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// QueueSize is how many ended spans wait to be sent, at most.
	QueueSize = 2048
	batchSize = 512              // spans of a request
	interval  = 5 * time.Second  // of requests when there is little to send
	patience  = 10 * time.Second // for a request with its repetitions
)

// queue is a SpanProcessor that counts what it drops, which that of the library does not.
type queue struct {
	exporter sdktrace.SpanExporter
	log      hclog.Logger
	spans    chan sdktrace.ReadOnlySpan
	flushes  chan chan struct{}
	ctx      context.Context // of requests; ends with the patience of Shutdown
	cancel   context.CancelFunc
	stop     sync.Once
	stopping chan struct{}
	done     chan struct{}

	exported, dropped atomic.Uint64
}

func newQueue(e sdktrace.SpanExporter, log hclog.Logger) *queue {
	q := &queue{exporter: e, log: log, spans: make(chan sdktrace.ReadOnlySpan, QueueSize), flushes: make(chan chan struct{}), stopping: make(chan struct{}), done: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.run() // ends with Shutdown
	return q
}

// OnStart implements SpanProcessor.
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements SpanProcessor. It does not wait.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case <-q.done:
		q.dropped.Add(1)
		return
	default:
	}
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

func (q *queue) run() {
	defer close(q.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var batch []sdktrace.ReadOnlySpan
	failing := false
	send := func() {
		if len(batch) > 0 {
			failing = q.send(batch, failing)
			batch = nil // the exporter may keep it
		}
	}
	drain := func() {
		for {
			select {
			case s := <-q.spans:
				if batch = append(batch, s); len(batch) == batchSize {
					send()
				}
			default:
				send()
				return
			}
		}
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batchSize {
				send()
			}
		case <-tick.C:
			send()
		case flushed := <-q.flushes:
			drain()
			close(flushed)
		case <-q.stopping:
			drain()
			return
		}
	}
}

// send sends a batch, and reports whether that failed. Only the first failure of several
// is logged, and the first success after them.
func (q *queue) send(batch []sdktrace.ReadOnlySpan, failed bool) bool {
	ctx, cancel := context.WithTimeout(q.ctx, patience)
	defer cancel()
	if err := q.exporter.ExportSpans(ctx, batch); err != nil {
		q.dropped.Add(uint64(len(batch)))
		if !failed {
			q.log.Warn("traces cannot be sent", "error", err)
		}
		return true
	}
	q.exported.Add(uint64(len(batch)))
	if failed {
		q.log.Info("traces can be sent again", "dropped", q.dropped.Load())
	}
	return false
}

// ForceFlush implements SpanProcessor.
func (q *queue) ForceFlush(ctx context.Context) error {
	flushed := make(chan struct{})
	select {
	case q.flushes <- flushed:
	case <-q.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown implements SpanProcessor. What cannot be sent until ctx ends is dropped.
func (q *queue) Shutdown(ctx context.Context) error {
	q.stop.Do(func() { close(q.stopping) })
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel()
		<-q.done
	}
	q.cancel()
	return q.exporter.Shutdown(context.WithoutCancel(ctx))
}
