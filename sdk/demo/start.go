package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
)

// EnvStart is the environment variable that names a way to start.
const EnvStart = "HOSTSUP_DEMO_START"

// Start is one way to start that a supervisor has to cope with.
type Start struct {
	Name string // the value of [EnvStart]; what follows a colon there is an example
	What string // what the host does, for a person
}

// Starts returns every way to start.
func Starts() []Start {
	return []Start{
		{"never", "connects, reads, and never answers the handshake"},
		{"early", "sends a request before it has answered the handshake"},
		{"version", "answers the handshake with protocol 2"},
		{"die", "exits with code 7 when the handshake arrives"},
		{"close", "closes its connection after the handshake and lives on until SIGTERM"},
		{"slow:500ms", "connects after that time"},
		{"exit:3", "exits with that code at once"},
		{"nocaps", "names no capabilities"},
		{"ignore-term", "ignores SIGTERM, the request to shut down and the end of the connection"},
		{"noise", "prints a line on standard output before anything else"},
	}
}

// misbehave starts in the named way.
func misbehave(ctx context.Context, how string) int {
	name, arg, _ := strings.Cut(how, ":")
	switch name {
	case "never":
		return onWire(func(w *wire) error { return discard(ctx, w) })
	case "early":
		return onWire(func(w *wire) error {
			if _, err := w.Write(frame([]byte("\x94\x00\x01\xa5early\xc0"))); err != nil {
				return err
			}
			return newServer(w).ServeConn(ctx, w)
		})
	case "version":
		return onWire(func(w *wire) error { return otherVersion(ctx, w) })
	case "die":
		return onWire(func(w *wire) error {
			if _, err := opening(w); err != nil {
				return err
			}
			os.Exit(7)
			return nil
		})
	case "close":
		return onWire(func(w *wire) error { return closeAndLive(ctx, w) })
	case "slow":
		d, err := time.ParseDuration(arg)
		if err == nil {
			err = pause(ctx, d)
		}
		if err == nil {
			err = serve(ctx)
		}
		return report(err)
	case "exit":
		code, err := strconv.Atoi(arg)
		if err != nil {
			return report(fmt.Errorf("%s: %w", EnvStart, err))
		}
		return code
	case "nocaps":
		return report(serve(ctx, sdk.WithCapabilities(0)))
	case "ignore-term":
		return onWire(ignoreTerm)
	case "noise":
		fmt.Println("demo-host: this line is not part of any protocol")
		return report(serve(ctx))
	}
	return report(fmt.Errorf("%s is %q, which is no way to start", EnvStart, how))
}

// onWire runs fn on the connection that the environment names.
func onWire(fn func(*wire) error) int {
	rw, err := sdk.Open()
	if err != nil {
		return report(err)
	}
	return report(fn(&wire{ReadWriteCloser: rw}))
}

// opening reads the supervisor's first message.
func opening(w *wire) (m codec.Message, err error) {
	err = native.Open(codec.Limits{}).NewReader(w).Next(&m)
	return m, err
}

// discard reads until the end of the connection or of ctx.
func discard(ctx context.Context, w *wire) error {
	defer context.AfterFunc(ctx, func() { w.Close() })()
	_, err := io.Copy(io.Discard, w)
	return err
}

func otherVersion(ctx context.Context, w *wire) error {
	m, err := opening(w)
	if err != nil {
		return err
	}
	body := mpack.AppendNil(mpack.AppendUint([]byte{0x94, byte(codec.Response)}, uint64(m.ID)))
	body = mpack.AppendMap(body, 4)
	body = mpack.AppendUint(mpack.AppendString(body, "protocol"), 2)
	body = mpack.AppendString(mpack.AppendString(body, "name"), "demo")
	body = mpack.AppendString(mpack.AppendString(body, "version"), Version)
	body = mpack.AppendArray(mpack.AppendString(body, "capabilities"), 0)
	if _, err := w.Write(frame(body)); err != nil {
		return err
	}
	return discard(ctx, w)
}

func closeAndLive(ctx context.Context, w *wire) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	s := newServer(w)
	ended := make(chan error, 1)
	go func() { ended <- s.ServeConn(ctx, w) }()
	select {
	case err := <-ended:
		return err
	case <-s.Ready():
	}
	err := w.Close()
	<-ended // by our own hand
	<-ctx.Done()
	return err
}

func ignoreTerm(w *wire) error {
	signal.Ignore(syscall.SIGTERM)
	s := newServer(w)
	s.OnShutdown(func(context.Context) error {
		w.silence() // also the answer to the request to shut down
		return nil
	})
	if err := s.ServeConn(context.Background(), w); err != nil {
		report(err)
	}
	for {
		time.Sleep(time.Hour)
	}
}
