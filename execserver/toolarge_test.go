//go:build unix

package execserver

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
)

// TestRequestThatIsTooLarge: it ends with an error that says so, and takes
// nothing else with it.
func TestRequestThatIsTooLarge(t *testing.T) {
	const limit = 64 << 10
	for _, listen := range []string{"", "unix://" + filepath.Join(t.TempDir(), "sock")} {
		e, err := ParseEndpoint(ours(t, server.Options{MaxMessage: limit, Listen: listen}).URL())
		if err != nil {
			t.Fatal(err)
		}
		c, err := Connect(t.Context(), e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		session := c.SessionID()
		_, sub, err := c.StartSubscribed(t.Context(), command("read line; echo it was $line"), Keep)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				size := limit / 2
				if i%2 == 0 {
					size = 2 * limit
				}
				err := c.FS().WriteFile(t.Context(), filepath.Join(dir, string(rune('a'+i))), bytes.Repeat([]byte("x"), size))
				if i%2 == 0 && (!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "limit is 65536 bytes")) || i%2 == 1 && err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			})
		}
		all.Wait()
		var out bytes.Buffer
		if _, err := sub.Copy(t.Context(), &out, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != "it was\n" || c.SessionID() != session {
			t.Errorf("%q, session %s after %s", out.String(), c.SessionID(), session)
		}
	}
}

// TestTooLargeWithoutID: a server that cannot say which request it has passed
// over ends none but those that are too large.
func TestTooLargeWithoutID(t *testing.T) {
	f := newFake(t)
	c, fc := f.client(Options{}, false)
	small, large := make(chan error, 1), make(chan error, 2)
	go func() { _, err := c.Status(t.Context()); small <- err }()
	for range 2 {
		go func() {
			large <- c.FS().WriteFile(t.Context(), "/large", bytes.Repeat([]byte("x"), 2000))
		}()
	}
	var status *wire.Message
	for range 3 {
		if m := <-fc.got; m.Method == wire.MethodEnvironmentStatus {
			status = m
		}
	}
	for range 2 {
		fc.send(string(wire.AppendError(nil, wire.UnknownID, wire.TooLarge(1000))))
	}
	for range 2 {
		if err := <-large; !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	}
	fc.result(status, wire.EnvironmentStatus{Status: "ready"})
	if err := <-small; err != nil {
		t.Error(err)
	}
	// Nothing of ours is too large for this: it is about something else.
	go func() { _, err := c.Status(t.Context()); small <- err }()
	<-fc.got
	fc.send(string(wire.AppendError(nil, wire.UnknownID, wire.TooLarge(1<<20))))
	if err := <-small; !errors.Is(err, ErrDisconnected) {
		t.Error(err)
	}
}
