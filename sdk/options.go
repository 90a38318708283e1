package sdk

import (
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// Option changes a default of a [Server].
type Option func(*options)

type options struct {
	concurrent int
	drain      time.Duration
	outgoing   int
	limits     codec.Limits
	caps       codec.Caps
	signals    []os.Signal
	log        *slog.Logger
}

func defaults() options {
	return options{
		concurrent: 1024,
		drain:      1500 * time.Millisecond,
		outgoing:   1 << 20,
		limits:     codec.Limits{}.WithDefaults(),
		caps:       codec.CapAll,
		signals:    []os.Signal{syscall.SIGTERM},
		log:        slog.Default(),
	}
}

// WithMaxConcurrent sets how many requests are handled at once on goroutines
// of their own; default 1024. More than that are acknowledged and wait for
// their turn, in the order of arrival. A number below 1 is taken as 1.
func WithMaxConcurrent(n int) Option {
	return func(o *options) { o.concurrent = max(n, 1) }
}

// WithDrain sets how long a graceful end waits for handlers before it ends
// their contexts, and then how long it waits for the functions of OnShutdown;
// default 1.5 s. Both together with a little more should stay below the grace
// period of the supervisor (5 s by default), which kills after it.
func WithDrain(d time.Duration) Option {
	return func(o *options) { o.drain = max(d, 0) }
}

// WithOutgoing sets how many bytes wait for a supervisor that reads slowly
// before whoever wants to send has to wait; default 1 MiB. One message may go
// over it.
func WithOutgoing(bytes int) Option {
	return func(o *options) { o.outgoing = max(bytes, 1) }
}

// WithLimits sets what is accepted from the supervisor, and how large a
// message to it may be; zero fields keep their defaults.
func WithLimits(l codec.Limits) Option {
	return func(o *options) { o.limits = l.WithDefaults() }
}

// WithCapabilities sets which optional abilities are offered in the handshake;
// default all. Without acks a supervisor can tell a busy host from a hung one
// by pings only, and without both not at all.
func WithCapabilities(c codec.Caps) Option {
	return func(o *options) { o.caps = c & codec.CapAll }
}

// WithSignals sets the signals on which Serve ends gracefully; default
// SIGTERM. The same signal once more, while it does, has its usual effect.
// With none, Serve leaves signals alone.
func WithSignals(sigs ...os.Signal) Option {
	return func(o *options) { o.signals = sigs }
}

// WithLogger sets where failures go that no answer can carry: those of
// notification handlers and of OnShutdown functions. Default slog.Default.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.log = l }
}

// HandlerOption changes how one method is handled.
type HandlerOption func(*handler)

// Inline runs a handler on the receive loop itself: no goroutine, no
// acknowledgement, one read and one write for a lone request. While it runs
// the host takes in nothing, not even a ping or a cancellation, and answers
// made before it in the same turn wait; it must be quick and must not block.
// Its context ends only with the connection.
func Inline() HandlerOption {
	return func(h *handler) { h.inline = true }
}
