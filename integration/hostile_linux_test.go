package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/supervisor"
)

// Whatever is sent to a running supervisor by either door, its hosts keep their processes and
// can be called; and when it ends, no connection and no goroutine of a caller is left.
func TestHostileRequestsLeaveTheTree(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts")), supervisor.Alone(mute("quiet"))}})
	before, last := pidsOf(sup), sup.History()[len(sup.History())-1].Seq
	socket := filepath.Join(place(t, os.Getuid()), "control")
	unix, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("full-", 10)
	token, err := control.NewToken("page", control.RoleFull, text)
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(control.Over(sup), control.Options{MaxBody: 1 << 16})
	served := make(chan error, 2)
	go func() { served <- srv.Serve(unix) }()
	go func() { served <- srv.ServeConsole(tcp, control.Access{Tokens: []control.Token{token}}) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(context.Background()), <-served, <-served); err != nil {
			t.Error(err)
		}
	})
	addr := tcp.Addr().String()
	document, err := controltest.Send("unix", socket, "GET /v1/openapi.json HTTP/1.0\r\n\r\n", false)
	if err != nil || document == nil {
		t.Fatalf("no document, %v", err)
	}
	all, err := controltest.Hostiles(document.Body, "ts", 1<<14)
	if err != nil || len(all) < 1000 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	for i, h := range all {
		network, address, raw := "unix", socket, h.Raw("h", "")
		if i%2 == 0 {
			network, address, raw = "tcp", addr, h.Raw(addr, text)
		}
		if h.Name == "body: too much" { // which one test is enough for
			continue
		}
		if got, err := controltest.Send(network, address, raw, false); err != nil || got == nil || got.Status < 400 || got.Status >= 500 {
			t.Errorf("%s: %s, %s: %+v, %v", network, h.Operation, h.Name, got, err)
		}
	}
	// Some say half of what they have to say, or do not listen, and go, or stay to the end.
	for i := range 40 {
		network, address := "unix", socket
		if i%2 == 0 {
			network, address = "tcp", addr
		}
		c, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		raw := fmt.Sprintf("GET /v1/events?follow=true HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", addr, text)
		if i%4 > 1 {
			raw = fmt.Sprintf("POST /v1/hosts/ts/call HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 50\r\n\r\n{\"method\":\"hang\"", addr, text)
		}
		if _, err := io.WriteString(c, raw[:len(raw)-i%3]); err != nil {
			t.Error(err)
		}
		if i < 20 {
			_ = c.Close()
		} else {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	if after := pidsOf(sup); !maps.Equal(before, after) {
		t.Errorf("%v, expected %v", after, before)
	}
	for e := range sup.Events(ctx(t), last, false) {
		t.Errorf("something happened: %+v", e)
	}
	got, err := controltest.Send("tcp", addr, controltest.Hostile{Method: http.MethodPost, Target: "/v1/hosts/ts/call", Body: `{"method":"echo","params":"still"}`}.Raw(addr, text), false)
	if err != nil || got == nil || strings.TrimSpace(string(got.Body)) != `{"result":"still"}` {
		t.Errorf("%+v, %v", got, err)
	}
}
