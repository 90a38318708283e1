// Package undertest gives a host the methods by which hostsup conformance plays the rules of
// docs/protocol.md against it. The page lists them. It has no state but that of the hosts it
// is given.
package undertest

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/sdk"
)

// relay says what the host is to send to its supervisor.
type relay struct {
	Method string    `msgpack:"method"`
	Params codec.Raw `msgpack:"params"`
	Max    int       `msgpack:"max"`
}

// host is what the methods of one host share.
type host struct {
	s *sdk.Server

	mu      sync.Mutex
	waiting map[chan struct{}]bool // closed by conformance/release
	notes   []codec.Raw
	noted   chan struct{} // closed by the next notification
}

// Add registers the methods, which all begin with "conformance/". They take no more memory
// than their callers ask for, which is not bounded: a supervisor is trusted.
func Add(s *sdk.Server) {
	h := &host{s: s, waiting: make(map[chan struct{}]bool), noted: make(chan struct{})}
	s.HandleRaw("conformance/echo", func(_ context.Context, params codec.Raw) (codec.Raw, error) { return params, nil })
	sdk.Handle(s, "conformance/block", block)
	sdk.Handle(s, "conformance/wait", h.wait)
	sdk.Handle(s, "conformance/release", h.release)
	sdk.Stream(s, "conformance/count", count)
	sdk.Handle(s, "conformance/fail", fail)
	sdk.Handle(s, "conformance/throw", func(_ context.Context, in struct {
		Message string `msgpack:"message"`
	}) (any, error) {
		return nil, errors.New(in.Message)
	})
	sdk.Handle(s, "conformance/call", func(ctx context.Context, in relay) (out codec.Raw, err error) {
		err = s.Call(ctx, in.Method, in.Params, &out)
		return out, err
	})
	sdk.Handle(s, "conformance/collect", h.collect)
	sdk.Handle(s, "conformance/notify", func(ctx context.Context, in relay) (any, error) {
		return nil, s.Notify(ctx, in.Method, in.Params)
	})
	sdk.OnNotify(s, "conformance/note", h.note)
	sdk.Handle(s, "conformance/notes", h.list)
	sdk.Handle(s, "conformance/trace", trace)
	sdk.Handle(s, "conformance/print", func(_ context.Context, in struct {
		Text string `msgpack:"text"`
	}) (any, error) {
		_, err := os.Stdout.WriteString(in.Text + "\n")
		return nil, err
	})
}

// Extend registers the two extensions of the rules about extensions: conformance.unit, and
// conformance.broken, whose activation fails.
func Extend(s *sdk.Server) {
	unit := sdk.Extend(s, sdk.Manifest{ID: "conformance.unit", Version: "1.0", Events: []string{"onConformance"}})
	sdk.Handle(unit, "conformance/unit", func(context.Context, any) (string, error) { return "active", nil })
	sdk.Extend(s, sdk.Manifest{ID: "conformance.broken", Version: "1.0", Events: []string{"onBroken"},
		Activate: func(context.Context, *sdk.Activation) error {
			return &codec.Error{Name: "Broken", Message: "this activation fails"}
		}})
}

func block(ctx context.Context, in struct {
	MS   int64 `msgpack:"ms"`
	Sync bool  `msgpack:"sync"`
}) (any, error) {
	d := time.Duration(min(max(in.MS, 0), 1<<30)) * time.Millisecond
	if in.Sync {
		time.Sleep(d)
		return nil, nil
	}
	select {
	case <-time.After(d):
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wait waits until it is released or cancelled.
func (h *host) wait(ctx context.Context, _ any) (any, error) {
	released := make(chan struct{})
	h.mu.Lock()
	h.waiting[released] = true
	h.mu.Unlock()
	select {
	case <-released:
		return "released", nil
	case <-ctx.Done():
	case <-h.s.Stopping():
	}
	h.mu.Lock()
	delete(h.waiting, released)
	h.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, sdk.ErrShuttingDown
}

// release releases all that wait, and returns how many.
func (h *host) release(context.Context, any) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.waiting)
	for released := range h.waiting {
		close(released)
	}
	clear(h.waiting)
	return n, nil
}

func count(ctx context.Context, in struct {
	N    int  `msgpack:"n"`
	Wait bool `msgpack:"wait"`
}, send func(any) error) error {
	for i := range in.N {
		if err := send(i); err != nil {
			return err
		}
	}
	if in.Wait {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func fail(_ context.Context, in struct {
	Name    string    `msgpack:"name"`
	Message string    `msgpack:"message"`
	Code    int64     `msgpack:"code"`
	Data    codec.Raw `msgpack:"data"`
}) (any, error) {
	return nil, &codec.Error{Name: in.Name, Message: in.Message, Code: in.Code, Data: in.Data}
}

// collect returns the items of a result of the supervisor.
func (h *host) collect(ctx context.Context, in relay) ([]any, error) {
	items := []any{}
	for item, err := range sdk.Items[any](ctx, h.s, in.Method, in.Params) {
		if err != nil {
			return nil, err
		}
		if items = append(items, item); len(items) == in.Max {
			break
		}
	}
	return items, nil
}

// note keeps a notification.
func (h *host) note(_ context.Context, params codec.Raw) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, append(codec.Raw(nil), params...))
	close(h.noted)
	h.noted = make(chan struct{})
	return nil
}

// list waits for n notifications and returns their params.
func (h *host) list(ctx context.Context, in struct {
	N int `msgpack:"n"`
}) ([]any, error) {
	for {
		h.mu.Lock()
		notes, noted := h.notes, h.noted
		h.mu.Unlock()
		if len(notes) < in.N {
			select {
			case <-noted:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		out := make([]any, len(notes))
		for i, raw := range notes {
			if err := (mpack.Encoding{}).Unmarshal(raw, &out[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// trace returns the trace of its request.
func trace(ctx context.Context, _ any) (any, error) {
	t := sdk.TraceFrom(ctx)
	if t == (codec.Trace{}) {
		return nil, nil
	}
	return map[string]string{"traceparent": t.Parent, "tracestate": t.State}, nil
}
