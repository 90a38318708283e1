package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
)

// extend adds the demo host's extensions: parts of it that a supervisor can
// switch on and off one by one, where its configuration has an extensions block.
func extend(s *sdk.Server) {
	words := sdk.Extend(s, sdk.Manifest{ID: "demo.words", Version: "1.0.0", Events: []string{"onLanguage:plaintext"}})
	sdk.Handle(words, "words.count", func(_ context.Context, text string) (int, error) {
		return len(strings.Fields(text)), nil
	}, sdk.Inline())

	greeter := sdk.Extend(s, sdk.Manifest{
		ID: "demo.greeter", Version: "1.1.0", Events: []string{"onLanguage:plaintext"}, DependsOn: []string{"demo.words"},
	})
	sdk.Handle(greeter, "greeter.greet", func(_ context.Context, name string) (string, error) {
		return "hello " + name, nil
	})

	clock(s)
	moody(s)
}

// clock does something by itself.
func clock(s *sdk.Server) {
	var ticks atomic.Int64
	x := sdk.Extend(s, sdk.Manifest{ID: "demo.clock", Version: "1.0.0", Activate: func(_ context.Context, a *sdk.Activation) error {
		a.Go(func(ctx context.Context) {
			for pause(ctx, 10*time.Millisecond) == nil {
				ticks.Add(1)
			}
		})
		return nil
	}})
	sdk.Handle(x, "clock.ticks", func(context.Context, any) (int64, error) { return ticks.Load(), nil })
}

// moods say what goes wrong in the extension demo.moody; it finds them in its
// part of the host's init.
type moods struct {
	Activate   string `msgpack:"activate"`   // "fail", "panic", "hang", "abort"
	Deactivate string `msgpack:"deactivate"` // the same
}

// moody is the extension that things go wrong in.
func moody(s *sdk.Server) {
	var in moods
	var now *sdk.Activation
	x := sdk.Extend(s, sdk.Manifest{
		ID: "demo.moody", Version: "0.1.0",
		Activate: func(ctx context.Context, a *sdk.Activation) error {
			now = a
			if err := a.Decode(&in); err != nil {
				return err
			}
			return mood(ctx, in.Activate)
		},
		Deactivate: func(ctx context.Context) error { return mood(ctx, in.Deactivate) },
	})
	sdk.Handle(x, "moody.run", func(ctx context.Context, in struct {
		Mood string `msgpack:"mood"`
	}) (string, error) {
		if in.Mood == "beside" {
			now.Go(func(context.Context) { panic("nobody has asked for this") })
			return "", nil
		}
		return "fine", mood(ctx, in.Mood)
	})
}

// mood does what goes wrong.
func mood(ctx context.Context, name string) error {
	switch name {
	case "":
		return nil
	case "fail":
		return &codec.Error{Name: "DemoMood", Message: "it fails on request"}
	case "panic":
		panic("it panics on request")
	case "wait":
		<-ctx.Done()
		return context.Cause(ctx)
	case "hang":
		select {}
	case "abort":
		if err := die(syscall.SIGABRT); err != nil {
			return err
		}
		select {} // the signal is on its way
	case "exit":
		os.Exit(3)
	case "overflow":
		debug.SetMaxStack(1 << 20)
		var deeper func(int) int
		deeper = func(n int) int { return deeper(n+1) + 1 }
		return fmt.Errorf("no end after %d", deeper(0))
	case "throw":
		go func() { panic("in a goroutine of its own") }()
		select {}
	}
	return errors.New("no mood " + name)
}
