package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Profile takes a CPU profile that lasts d and returns it as V8 writes it, the content
// of a .cpuprofile file. V8 has no names for code that was compiled within a loop before
// the profile began; with hot, which is meant for a process in such a loop, all code is
// recompiled first. Errors are those of [Session.Call].
func (s *Session) Profile(ctx context.Context, d time.Duration, hot bool) (json.RawMessage, error) {
	for _, method := range []string{"Profiler.enable", "Profiler.start"} {
		if err := s.Call(ctx, method, nil, nil); err != nil {
			return nil, err
		}
	}
	var from int64
	if hot {
		var err error
		if from, err = s.recompile(ctx); err != nil {
			return nil, err
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.done:
		return nil, s.why()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var out struct {
		Profile json.RawMessage `json:"profile"`
	}
	if err := s.Call(ctx, "Profiler.stop", nil, &out); err != nil {
		return nil, err
	}
	if len(out.Profile) == 0 || out.Profile[0] != '{' {
		return nil, fmt.Errorf("%w: no profile in the answer", ErrProtocol)
	}
	if from > 0 {
		return since(out.Profile, from)
	}
	return out.Profile, nil
}

// recompile makes V8 discard compiled code, as it does when it begins to count calls.
// It returns the time of that, in µs of V8's clock, or 0 if V8 refuses: the profile
// then lacks some names.
func (s *Session) recompile(ctx context.Context) (int64, error) {
	var refused *CallError
	var out struct {
		Timestamp float64 `json:"timestamp"` // seconds
	}
	err := s.Call(ctx, "Profiler.startPreciseCoverage", map[string]bool{"callCount": true, "detailed": false}, &out)
	if err == nil {
		err = s.Call(ctx, "Profiler.stopPreciseCoverage", nil, nil)
	}
	if errors.As(err, &refused) {
		return 0, nil
	}
	return int64(out.Timestamp * 1e6), err
}

// Snapshot writes a heap snapshot to w piece by piece, the content of a .heapsnapshot
// file. JavaScript is paused until V8 has made it. Errors are those of [Session.Call],
// and those of w, which end the session.
func (s *Session) Snapshot(ctx context.Context, w io.Writer) error {
	var mu sync.Mutex
	n, left := 0, false
	s.handleEvents(func(method string, params json.RawMessage) error {
		if method != "HeapProfiler.addHeapSnapshotChunk" {
			return nil
		}
		chunk := jsonwalk.Member(params, "chunk")
		if kind := jsonwalk.KindOf(chunk); kind != jsonwalk.String {
			return fmt.Errorf("%w: a piece of the heap snapshot is %v", ErrProtocol, kind)
		}
		mu.Lock()
		defer mu.Unlock()
		if left {
			return nil
		}
		text := jsonwalk.Text(chunk)
		n += len(text)
		_, err := io.WriteString(w, text)
		return err
	})
	defer func() { // w must not be used after the return
		s.handleEvents(nil)
		mu.Lock()
		left = true
		mu.Unlock()
	}()
	// The response follows the last piece.
	if err := s.Call(ctx, "HeapProfiler.takeHeapSnapshot", map[string]bool{"reportProgress": false}, nil); err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%w: an empty heap snapshot", ErrProtocol)
	}
	return nil
}

// samplingInterval is after how many bytes V8 samples an allocation, in the mean.
const samplingInterval = 32 << 10

// Allocations samples the allocations from now on until ctx ends, and passes what V8 has so
// far to take after each interval: the heap profile, of what is still in use, and a CPU
// profile of the interval, because V8 does not sample memory outside of its heap such as that
// of buffers. It returns nil after the end of ctx; other errors are those of [Session.Call].
func (s *Session) Allocations(ctx context.Context, every time.Duration, take func(heap, cpu json.RawMessage)) error {
	err := s.sampleAllocations(ctx, every, take)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is how it ends
	}
	return err
}

func (s *Session) sampleAllocations(ctx context.Context, every time.Duration, take func(heap, cpu json.RawMessage)) error {
	if err := s.Call(ctx, "Profiler.enable", nil, nil); err != nil {
		return err
	}
	if err := s.Call(ctx, "HeapProfiler.startSampling", map[string]int{"samplingInterval": samplingInterval}, nil); err != nil {
		return err
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := s.Call(ctx, "Profiler.start", nil, nil); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return s.why()
		case <-ctx.Done():
			return ctx.Err()
		}
		var heap, cpu struct {
			Profile json.RawMessage `json:"profile"`
		}
		if err := s.Call(ctx, "Profiler.stop", nil, &cpu); err != nil {
			return err
		}
		if err := s.Call(ctx, "HeapProfiler.getSamplingProfile", nil, &heap); err != nil {
			return err
		}
		take(heap.Profile, cpu.Profile)
	}
}
