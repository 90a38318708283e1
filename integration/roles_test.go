//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	ossignal "os/signal"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extension"
	"github.com/hostsup/hostsup/extension/demo"
)

// capsEnv names, as a number, the capabilities that the role "caps" offers.
const capsEnv = "HOSTSUP_TEST_CAPS"

func init() {
	roles["quitter"] = quitter
	roles["caps"] = withCaps
	roles["recorder"] = recorder
	roles["refuses"] = refuses
}

// quitter is a demo host that ends with 0 at once, whatever it is doing, on
// SIGUSR1.
func quitter() int {
	quit := make(chan os.Signal, 1)
	ossignal.Notify(quit, syscall.SIGUSR1)
	go func() {
		<-quit
		os.Exit(0)
	}()
	return demo.Main(context.Background())
}

// withCaps is a demo host with fewer abilities.
func withCaps() int {
	n, err := strconv.Atoi(os.Getenv(capsEnv))
	if err != nil {
		return 2
	}
	rw, err := extension.Open()
	if err != nil {
		return 2
	}
	if demo.Serve(context.Background(), rw, extension.WithCapabilities(codec.Caps(n))) != nil {
		return 1
	}
	return 0
}

// recorder is a host that remembers what it was asked.
func recorder() int {
	s := extension.New(extension.Info{Name: "recorder", Version: "1"})
	var life uint64
	s.OnInitialize(func(_ context.Context, h extension.Hello) error {
		life = h.Life
		return nil
	})
	var notes []int
	extension.Handle(s, "note", func(_ context.Context, n int) (any, error) {
		notes = append(notes, n)
		return nil, nil
	}, extension.Inline())
	extension.Handle(s, "notes", func(context.Context, any) ([]int, error) { return notes, nil }, extension.Inline())
	// Dies in every life before the given one.
	extension.Handle(s, "outlive", func(_ context.Context, n uint64) (uint64, error) {
		if life < n {
			os.Exit(9)
		}
		return life, nil
	}, extension.Inline())
	var sent, ended atomic.Int64
	extension.Stream(s, "count", func(_ context.Context, n int, send func(any) error) error {
		defer ended.Add(1)
		for i := range n {
			if err := send(i); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	})
	extension.Handle(s, "sent", func(context.Context, any) (int64, error) { return sent.Load(), nil }, extension.Inline())
	extension.Handle(s, "ended", func(context.Context, any) (int64, error) { return ended.Load(), nil }, extension.Inline())
	extension.Handle(s, "say", func(ctx context.Context, text string) (any, error) { return nil, s.Notify(ctx, "said", text) })
	extension.Handle(s, "ask", func(ctx context.Context, method string) (any, error) {
		var out any
		return out, s.Call(ctx, method, nil, &out)
	})
	extension.Handle(s, "trace", func(ctx context.Context, _ any) (string, error) { return extension.TraceFrom(ctx).Parent, nil })
	if err := s.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// refuses is a host that answers the handshake with an error.
func refuses() int {
	s := extension.New(extension.Info{Name: "refuses", Version: "1"})
	s.OnInitialize(func(context.Context, extension.Hello) error { return errors.New("no licence") })
	if s.Serve(context.Background()) != nil {
		return 1
	}
	return 0
}
