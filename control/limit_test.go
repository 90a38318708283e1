package control_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// TestConnectionsAreLimited opens silent connections: the next ones must get a
// reason, those above must be closed, and there must be room again when others
// close.
func TestConnectionsAreLimited(t *testing.T) {
	const limit = 4
	h := controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running})
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
	// A few stay open until they have sent a request; the descriptors are bounded. The
	// connection of the client above may have counted until then.
	const most = 16
	var crowd []net.Conn
	for range 100 {
		crowd = append(crowd, dial())
	}
	told := 0
	for _, c := range slices.Backward(crowd) { // when the last is decided on, all are
		fmt.Fprint(c, "GET /v1/status HTTP/1.1\r\nHost: hostsup\r\n\r\n") // it may be closed
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			continue
		}
		told++
		if res.Body.Close(); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s", res.Status)
		}
	}
	if told < most-1 || told > most {
		t.Errorf("%d connections were told why, want %d", told, most)
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
