//go:build unix

package server

import (
	"testing"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
)

func TestCloseFramesSayWhy(t *testing.T) {
	s := startServer(t, Options{})
	for text, want := range map[string]string{
		`{"method":"initialized"}`: "initialized came before initialize",
		`{"method":"nonsense"}`:    "unexpected notification nonsense",
		`{"id":5,"result":{}}`:     "an answer to a request that was not made: id 5",
	} {
		c := dial(t, s.URL())
		if err := c.send([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var ce websocket.CloseError
		if err := c.awaitEnd(); !asClose(err, &ce) || ce.Code != closeProtocol || ce.Reason != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The end of the server is told to every client, also to one that is busy with
// output, and to one without a session.
func TestEndOfTheServerIsSaidInCloseFrames(t *testing.T) {
	s := startServer(t, Options{})
	idle := dial(t, s.URL())
	busy, _ := extended(t, s)
	busy.start(shell("busy", "yes"))
	busy.awaitOutput("busy", wire.Stdout, "y")
	waits, _ := extended(t, s)
	waits.start(shell("silent", "sleep 1000"))
	waits.ask(wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "silent", WaitMs: ptr(uint64(3600_000))})
	call[wire.EnvironmentStatus](waits, wire.MethodEnvironmentStatus, nil)
	ends := map[string]chan error{}
	for name, c := range map[string]*client{"idle": idle, "busy": busy, "waits": waits} {
		end := make(chan error, 1)
		ends[name] = end
		go func() { end <- c.awaitEnd() }() // one that does not read meanwhile is cut off
	}
	stopServer(t, s)
	for name, end := range ends {
		var ce websocket.CloseError
		if err := <-end; !asClose(err, &ce) || ce.Code != closeGoingAway || ce.Reason != ErrStopped.Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client whose WebSocket opens while the server begins to stop is told, too.
func TestEndOfTheServerIsSaidToWhoJustCame(t *testing.T) {
	for i := range require.Rounds(200, 50) {
		s := startServer(t, Options{})
		stopped := make(chan struct{})
		ws, _, err := websocket.Dial(t.Context(), s.URL(), nil) //nolint:bodyclose // the library closes it
		go func() {
			defer close(stopped)
			stopServer(t, s)
		}()
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ws.Read(t.Context())
		var ce websocket.CloseError
		if !asClose(err, &ce) || ce.Code != closeGoingAway || ce.Reason != ErrStopped.Error() {
			t.Errorf("client %d: %v", i, err)
		}
		_ = ws.CloseNow()
		<-stopped
	}
}

func asClose(err error, ce *websocket.CloseError) bool {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(websocket.CloseError); ok { //nolint:errorlint // the loop unwraps
			*ce = e
			return true
		}
	}
	return false
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}
