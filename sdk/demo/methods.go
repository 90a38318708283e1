package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/undertest"
)

// maxMillis keeps params away from the edge of time.Duration.
const maxMillis = 1 << 40

type millis struct {
	MS int64 `msgpack:"ms"`
}

func (m millis) duration() time.Duration {
	return time.Duration(min(max(m.MS, 0), maxMillis)) * time.Millisecond
}

func newServer(w *wire, opts ...sdk.Option) *sdk.Server {
	s := sdk.New(sdk.Info{Name: "demo", Version: Version}, opts...)
	s.HandleRaw("echo", func(_ context.Context, params codec.Raw) (codec.Raw, error) {
		return params, nil
	}, sdk.Inline())
	sdk.Handle(s, "add", add, sdk.Inline())
	sdk.Handle(s, "pid", func(context.Context, any) (int, error) {
		return os.Getpid(), nil
	}, sdk.Inline())
	sdk.Handle(s, "sleep", func(ctx context.Context, in millis) (any, error) {
		return nil, pause(ctx, in.duration())
	})
	sdk.Handle(s, "hang", hang, sdk.Inline())
	sdk.Handle(s, "fail", fail)
	sdk.Handle(s, "exit", exit, sdk.Inline())
	sdk.Handle(s, "crash", crash, sdk.Inline())
	sdk.Stream(s, "stream", stream)
	sdk.Handle(s, "print", printLines)
	sdk.Handle(s, "spawn", func(ctx context.Context, in struct {
		Setsid bool `msgpack:"setsid"`
	}) (int, error) {
		return spawn(ctx, in.Setsid)
	})
	sdk.Handle(s, "garbage", func(ctx context.Context, in struct {
		Kind string `msgpack:"kind"`
	}) (any, error) {
		return nil, garbage(ctx, w, in.Kind)
	})
	sdk.OnNotify(s, "print", func(ctx context.Context, in lines) error {
		_, err := printLines(ctx, in)
		return err
	})
	s.OnOtherNotify(printNotification)
	extend(s)
	undertest.Add(s)
	return s
}

// add returns an integer when the sum is one: 3, not 3.0.
func add(_ context.Context, in []float64) (any, error) {
	sum := 0.0
	for _, v := range in {
		sum += v
	}
	if whole := int64(sum); float64(whole) == sum && max(sum, -sum) < 1<<53 {
		return whole, nil
	}
	return sum, nil
}

func hang(ctx context.Context, in millis) (any, error) {
	if in.MS == 0 {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return nil, pause(ctx, in.duration())
}

func fail(_ context.Context, in struct {
	Message string `msgpack:"message"`
}) (any, error) {
	if in.Message == "" {
		in.Message = "failed on request"
	}
	data, err := mpack.Encoding{}.Marshal(map[string]any{"method": "fail", "pid": os.Getpid()})
	if err != nil {
		return nil, err
	}
	return nil, &codec.Error{
		Name: "DemoError", Message: in.Message, Code: 42, Stack: string(debug.Stack()), Data: data,
		Cause: &codec.Error{Name: "DemoCause", Message: "somebody asked for it"},
	}
}

func exit(_ context.Context, in struct {
	Code *int `msgpack:"code"`
}) (any, error) {
	code := 1
	if in.Code != nil {
		code = *in.Code
	}
	os.Exit(code)
	return nil, nil
}

func crash(ctx context.Context, in struct {
	Signal any `msgpack:"signal"`
}) (any, error) {
	name := "SIGABRT"
	if in.Signal != nil {
		name = fmt.Sprint(in.Signal)
	}
	sig, known := signalOf(name)
	if !known {
		return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("params.signal: no signal %q", name)}
	}
	if err := die(sig); err != nil {
		return nil, err
	}
	if stops(sig) {
		return nil, nil // and has been continued
	}
	// The signal is on its way; an answer would be a lie.
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func stream(ctx context.Context, in struct {
	N int `msgpack:"n"`
	millis
}, send func(any) error) error {
	for i := range in.N {
		if i > 0 && in.MS > 0 {
			if err := pause(ctx, in.duration()); err != nil {
				return err
			}
		}
		if err := send(i); err != nil {
			return err
		}
	}
	return nil
}

type lines struct {
	Stdout string `msgpack:"stdout"`
	Stderr string `msgpack:"stderr"`
	Raw    bool   `msgpack:"raw"`
}

// printNotification shows a notification in the host's log.
func printNotification(_ context.Context, method string, params codec.Raw) error {
	text := []byte("null")
	if params != nil {
		var err error
		if text, err = (mpack.Encoding{}).ToJSON(params); err != nil {
			return err
		}
	}
	_, err := fmt.Printf("notification %q: %s\n", method, text)
	return err
}

func printLines(_ context.Context, in lines) (any, error) {
	line := func(s string) string {
		if s == "" || in.Raw || strings.HasSuffix(s, "\n") {
			return s
		}
		return s + "\n"
	}
	_, err1 := os.Stdout.WriteString(line(in.Stdout))
	_, err2 := os.Stderr.WriteString(line(in.Stderr))
	return nil, errors.Join(err1, err2)
}

func garbage(ctx context.Context, w *wire, kind string) error {
	for _, g := range kinds() {
		if g.Kind != kind {
			continue
		}
		if _, err := w.Write(g.bytes(sdk.RequestID(ctx))); err != nil {
			return err
		}
		if g.Close {
			return w.Close()
		}
		<-ctx.Done() // no answer: the next word is the supervisor's
		return context.Cause(ctx)
	}
	known := make([]string, len(kinds()))
	for i, g := range kinds() {
		known[i] = g.Kind
	}
	return &codec.Error{
		Name:    codec.NameInvalidParams,
		Message: fmt.Sprintf("params.kind: no kind %q, want one of %s", kind, strings.Join(known, ", ")),
	}
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
