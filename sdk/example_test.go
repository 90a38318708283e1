package sdk_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
)

// A whole host. It is started by a supervisor, never by hand.
func Example() {
	s := sdk.New(sdk.Info{Name: "greeter", Version: "1.0"})
	sdk.Handle(s, "greet", func(ctx context.Context, name string) (string, error) {
		return "hello " + name, nil
	})
	if err := s.Serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func ExampleNew() {
	s := sdk.New(sdk.Info{Name: "indexer", Version: "0.3"},
		sdk.WithMaxConcurrent(8),
		sdk.WithDrain(3*time.Second),
	)
	_ = s.Serve(context.Background())
}

// Params are decoded into the type of the handler's argument; what does not
// fit is answered for it.
func ExampleHandle() {
	type search struct {
		Query string `msgpack:"query"`
		Limit int    `msgpack:"limit"`
	}
	type hit struct {
		Path string `msgpack:"path"`
		Line int    `msgpack:"line"`
	}
	s := sdk.New(sdk.Info{Name: "search", Version: "1"})
	sdk.Handle(s, "search", func(ctx context.Context, in search) ([]hit, error) {
		if in.Query == "" {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: "params.query: must not be empty"}
		}
		return []hit{{Path: "main.go", Line: 12}}, nil
	})
}

// A quick handler on the receive loop: one read and one write for a request.
func ExampleInline() {
	s := sdk.New(sdk.Info{Name: "echo", Version: "1"})
	s.HandleRaw("echo", func(ctx context.Context, params codec.Raw) (codec.Raw, error) {
		return params, nil
	}, sdk.Inline())
}

// An endless stream ends when its caller cancels, when the supervisor is gone,
// or when the host is about to end.
func ExampleStream() {
	s := sdk.New(sdk.Info{Name: "clock", Version: "1"})
	sdk.Stream(s, "ticks", func(ctx context.Context, ms int, send func(any) error) error {
		ticker := time.NewTicker(time.Duration(max(ms, 1)) * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				if err := send(now.UnixMilli()); err != nil {
					return err
				}
			case <-s.Stopping():
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// Documents that an editor changes are told of by notifications, which come
// in order.
func ExampleOnNotify() {
	type change struct {
		Path string `msgpack:"path"`
		Text string `msgpack:"text"`
	}
	s := sdk.New(sdk.Info{Name: "lint", Version: "1"})
	sdk.OnNotify(s, "didChange", func(ctx context.Context, in change) error {
		return s.Notify(ctx, "diagnostics", map[string]any{"path": in.Path, "found": len(in.Text)})
	})
}

// A handler may ask the supervisor back, unless it is inline.
func ExampleServer_Call() {
	s := sdk.New(sdk.Info{Name: "format", Version: "1"})
	sdk.Handle(s, "format", func(ctx context.Context, path string) (string, error) {
		var text string
		if err := s.Call(ctx, "readFile", path, &text); err != nil {
			return "", fmt.Errorf("format %s: %w", path, err)
		}
		return text, nil
	})
}

// The configuration of a host can carry values for it.
func ExampleServer_OnInitialize() {
	s := sdk.New(sdk.Info{Name: "db", Version: "1"})
	s.OnInitialize(func(ctx context.Context, h sdk.Hello) error {
		config := struct {
			Path string `msgpack:"path"`
		}{Path: "data.db"}
		if err := h.Decode(&config); err != nil {
			return err
		}
		file, err := os.OpenFile(config.Path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		s.OnShutdown(func(context.Context) error { return file.Close() })
		return nil
	})
}

// A part of a host that is switched on when it is needed, and off alone.
func ExampleExtend() {
	s := sdk.New(sdk.Info{Name: "tools", Version: "1"})
	var cache map[string]string
	x := sdk.Extend(s, sdk.Manifest{
		ID: "acme.format", Version: "1.2", Events: []string{"onLanguage:go"}, DependsOn: []string{"acme.parser"},
		Activate: func(ctx context.Context, a *sdk.Activation) error {
			cache = map[string]string{}
			a.Log().Info("ready", "for", a.Event)
			return nil
		},
		Deactivate: func(ctx context.Context) error {
			cache = nil
			return nil
		},
	})
	// A call to it activates the extension first.
	sdk.Handle(x, "format.run", func(ctx context.Context, path string) (string, error) {
		return cache[path], nil
	})
}

// An extension's own part of the host's init, {"acme.format": {"width": 100}}.
func ExampleActivation_Decode() {
	s := sdk.New(sdk.Info{Name: "tools", Version: "1"})
	sdk.Extend(s, sdk.Manifest{ID: "acme.format", Activate: func(ctx context.Context, a *sdk.Activation) error {
		settings := struct {
			Width int `msgpack:"width"`
		}{Width: 80}
		return a.Decode(&settings)
	}})
}

// Something that goes on beside the calls, until the extension is deactivated.
func ExampleActivation_Go() {
	s := sdk.New(sdk.Info{Name: "tools", Version: "1"})
	sdk.Extend(s, sdk.Manifest{ID: "acme.watch", Activate: func(ctx context.Context, a *sdk.Activation) error {
		a.Go(func(ctx context.Context) {
			for {
				select {
				case <-time.After(time.Minute):
					a.Log().Info("still here")
				case <-ctx.Done():
					return
				}
			}
		})
		return nil
	}})
}

// In a test, the other end of a pipe plays the supervisor.
func ExampleServer_ServeConn() {
	s := sdk.New(sdk.Info{Name: "greeter", Version: "1.0"})
	supervisor, host := net.Pipe()
	done := make(chan error)
	go func() { done <- s.ServeConn(context.Background(), host) }()
	supervisor.Close()
	fmt.Println(<-done)
	// Output: the supervisor closed the connection without a goodbye
}
