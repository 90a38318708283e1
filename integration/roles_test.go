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
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/demo"
)

// capsEnv names, as a number, the capabilities that the role "caps" offers.
const capsEnv = "HOSTSUP_TEST_CAPS"

func init() {
	roles["quitter"] = quitter
	roles["caps"] = withCaps
	roles["recorder"] = recorder
	roles["refuses"] = refuses
	roles["chatterbox"] = chatterbox
}

// chatterbox is a host that goes on talking in notifications, whatever becomes of
// it otherwise: "hang" is the last request that it reads, and on "deafen" it
// closes the end that it reads from, and answers then.
func chatterbox() int {
	in, out := os.Stdin, os.Stdout
	if fd, err := strconv.Atoi(os.Getenv("HOSTSUP_HOST_FD")); err == nil {
		in = os.NewFile(uintptr(fd), "host")
		out = in
	}
	session := native.Open(codec.Limits{})
	accept := session.Accept(native.Self{Name: "chatterbox", Version: "1", Caps: codec.CapAck | codec.CapPing})
	send := func(m codec.Message) {
		b, err := session.Append(nil, &m)
		if err == nil {
			_, err = out.Write(b)
		}
		if err != nil {
			os.Exit(1)
		}
	}
	talk := func() int {
		for range time.Tick(20 * time.Millisecond) {
			send(codec.Message{Kind: codec.Notification, Method: "log", Params: []byte{0xc0}})
		}
		return 0
	}
	r := session.NewReader(in)
	opened := false
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return 0
		}
		var replies []codec.Message
		var err error
		switch {
		case !opened:
			if replies, opened, err = accept.Handle(&m); err != nil {
				return 2
			}
		case m.Kind == codec.Request && m.Method == "hang":
			return talk()
		case m.Kind == codec.Request:
			replies = []codec.Message{{Kind: codec.Response, ID: m.ID, Result: []byte{0xc0}}}
		}
		deaf := m.Method == "deafen"
		if deaf {
			if in == out {
				err = syscall.Shutdown(int(in.Fd()), syscall.SHUT_RD)
			} else {
				err = in.Close()
			}
			if err != nil {
				return 2
			}
		}
		for _, reply := range replies {
			send(reply)
		}
		if deaf {
			return talk()
		}
	}
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
	rw, err := sdk.Open()
	if err != nil {
		return 2
	}
	if demo.Serve(context.Background(), rw, sdk.WithCapabilities(codec.Caps(n))) != nil {
		return 1
	}
	return 0
}

// recorder is a host that remembers what it was asked.
func recorder() int {
	s := sdk.New(sdk.Info{Name: "recorder", Version: "1"})
	var life uint64
	s.OnInitialize(func(_ context.Context, h sdk.Hello) error {
		life = h.Life
		return nil
	})
	var notes []int
	sdk.Handle(s, "note", func(_ context.Context, n int) (any, error) {
		notes = append(notes, n)
		return nil, nil
	}, sdk.Inline())
	sdk.Handle(s, "notes", func(context.Context, any) ([]int, error) { return notes, nil }, sdk.Inline())
	// Dies in every life before the given one.
	sdk.Handle(s, "outlive", func(_ context.Context, n uint64) (uint64, error) {
		if life < n {
			os.Exit(9)
		}
		return life, nil
	}, sdk.Inline())
	var sent, ended atomic.Int64
	sdk.Stream(s, "count", func(_ context.Context, n int, send func(any) error) error {
		defer ended.Add(1)
		for i := range n {
			if err := send(i); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	})
	sdk.Handle(s, "sent", func(context.Context, any) (int64, error) { return sent.Load(), nil }, sdk.Inline())
	sdk.Handle(s, "ended", func(context.Context, any) (int64, error) { return ended.Load(), nil }, sdk.Inline())
	sdk.Handle(s, "say", func(ctx context.Context, text string) (any, error) { return nil, s.Notify(ctx, "said", text) })
	sdk.Handle(s, "ask", func(ctx context.Context, method string) (any, error) {
		var out any
		return out, s.Call(ctx, method, nil, &out)
	})
	sdk.Handle(s, "trace", func(ctx context.Context, _ any) (string, error) { return sdk.TraceFrom(ctx).Parent, nil })
	if err := s.Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// refuses is a host that answers the handshake with an error.
func refuses() int {
	s := sdk.New(sdk.Info{Name: "refuses", Version: "1"})
	s.OnInitialize(func(context.Context, sdk.Hello) error { return errors.New("no licence") })
	if s.Serve(context.Background()) != nil {
		return 1
	}
	return 0
}
