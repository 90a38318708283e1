package control_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
)

// TestConnectionsAreLimited opens silent connections: the next ones must get a
// reason, those above must be closed, and there must be room again when others
// close.
func TestConnectionsAreLimited(t *testing.T) {
	const limit = 4
	h := controltest.NewHost(actors.HostStatus{Name: "ts", State: lifecycle.Running})
	socket := controltest.Serve(t, &controltest.Supervisor{Members: []*controltest.Host{h}}, control.Options{MaxConns: limit})
	dial := func() net.Conn {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	status := func() error {
		c := control.NewClient(socket)
		defer c.Close()
		_, err := c.Status(t.Context())
		return err
	}
	var idle []net.Conn
	for range limit {
		idle = append(idle, dial())
	}
	err := status()
	if class(err) != control.Overloaded || !strings.Contains(err.Error(), "4 connections") {
		t.Errorf("%v", err)
	}
	// A few stay open until they have sent a request; the descriptors are bounded.
	const told = 16
	for n := range 100 {
		c := dial()
		if n < told {
			idle = append(idle, c)
		} else if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Fatalf("connection %d is not closed", n)
		}
	}
	for _, c := range idle {
		c.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for err = status(); err != nil; err = status() { // each attempt is a round trip
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
