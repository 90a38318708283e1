package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// Close must end followers properly, respond to waiting requests, and wait for all
// handlers.
func TestClose(t *testing.T) {
	h := controltest.NewHost(record.HostStatus{Name: "ts"})
	waiting := make(chan struct{})
	h.OnVerb = func(ctx context.Context, _ string) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}
	l, err := control.Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(&controltest.Supervisor{Members: []*controltest.Host{h}, History: []supervisor.Event{{Seq: 1}}}, control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()

	c := control.NewClient(l.Addr().String())
	defer c.Close()
	next, stop := iter.Pull2(c.Events(t.Context(), true))
	defer stop()
	if _, err, _ := next(); err != nil {
		t.Fatal(err)
	}
	verb := make(chan error, 1)
	go func() {
		_, err := c.Start(t.Context(), "ts")
		verb <- err
	}()
	within(t, waiting, "the verb")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := <-verb; class(err) != control.Closed || !errors.Is(err, supervisor.ErrClosed) {
		t.Errorf("the verb got %v", err)
	}
	if ev, err, ok := next(); ok {
		t.Errorf("the follower got %+v, %v", ev, err)
	}
	if _, err := c.Status(t.Context()); class(err) != control.NoSupervisor {
		t.Errorf("afterwards: %v", err)
	}
}

// A stalled reader must not keep the server from closing.
func TestCloseWithAStalledReader(t *testing.T) {
	var forever iter.Seq[supervisor.Event] = func(yield func(supervisor.Event) bool) {
		for yield(supervisor.Event{Reason: strings.Repeat("x", 1<<16)}) {
		}
	}
	l, err := control.Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(endless{&controltest.Supervisor{}, forever}, control.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/events?follow=true HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, 1024)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := srv.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

type endless struct {
	*controltest.Supervisor
	events iter.Seq[supervisor.Event]
}

func (e endless) Events(context.Context, uint64, bool) iter.Seq[supervisor.Event] { return e.events }
