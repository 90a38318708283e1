package safeactor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"
)

// NewSystem returns an actor system that logs to log: the library's own lines
// at trace, its warnings and errors as they are.
func NewSystem(log hclog.Logger) *actor.ActorSystem {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slogHandler{log: log})
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond)) // for as long it leaves a goroutine behind
	shrinkRegistry(s)
	return s
}

// registryMaps is how many maps, with a lock each, a registry has.
const registryMaps = 128

// shrinkRegistry gives a system that nobody uses yet a registry of few maps.
// The library's own has 32,768 where nobody says otherwise, which take 2.8 MiB
// while empty, and a quarter of a KiB for each process that has one to itself.
func shrinkRegistry(s *actor.ActorSystem) {
	all := s.ProcessRegistry.LocalPIDs.LocalPIDs
	buckets := max(1, registryMaps/len(all[0]))
	if len(all) <= buckets {
		return
	}
	few := &actor.SliceMap{LocalPIDs: slices.Clone(all[:buckets])}
	for _, b := range all {
		if b.Count() == 0 {
			continue
		}
		// Items would take a hundred goroutines a map, and a fifth of a second in
		// all.
		found := map[string]any{}
		b.IterCb(func(id string, p any) { found[id] = p })
		for id, p := range found {
			b.Remove(id)
			few.GetBucket(id).Set(id, p)
		}
	}
	s.ProcessRegistry.LocalPIDs = few
}

// slogHandler writes slog records to hclog.
type slogHandler struct {
	log    hclog.Logger
	prefix string
}

func (h slogHandler) level(l slog.Level) hclog.Level {
	switch {
	case l >= slog.LevelError:
		return hclog.Error
	case l >= slog.LevelWarn:
		return hclog.Warn
	}
	return hclog.Trace
}

// Enabled implements slog.Handler. The library renders whole messages for lines
// that are logged at every failed life; nothing may be spent on them unless
// somebody reads them.
func (h slogHandler) Enabled(_ context.Context, l slog.Level) bool {
	switch h.level(l) {
	case hclog.Error:
		return h.log.IsError()
	case hclog.Warn:
		return h.log.IsWarn()
	}
	return h.log.IsTrace()
}

// Handle implements slog.Handler.
func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		args = append(args, h.prefix+a.Key, fmt.Sprint(a.Value.Any()))
		return true
	})
	h.log.Log(h.level(r.Level), r.Message, args...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h slogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	args := make([]any, 0, 2*len(attrs))
	for _, a := range attrs {
		args = append(args, h.prefix+a.Key, fmt.Sprint(a.Value.Any()))
	}
	return slogHandler{h.log.With(args...), h.prefix}
}

// WithGroup implements slog.Handler.
func (h slogHandler) WithGroup(name string) slog.Handler {
	return slogHandler{h.log, h.prefix + name + "."}
}
