package execserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
)

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]Endpoint{
		"ws://127.0.0.1:80": WebSocket{URL: "ws://127.0.0.1:80"},
		"wss://host/x":      WebSocket{URL: "wss://host/x"},
		"unix:///run/x":     Unix{Path: "/run/x"},
		"unix://run":        nil, "http://x": nil, "stdio": nil, "": nil,
	} {
		got, err := ParseEndpoint(text)
		if (err != nil) != (want == nil) {
			t.Errorf("%q: %v", text, err)
		}
		if want != nil && got.String() != want.String() {
			t.Errorf("%q: %v", text, got)
		}
	}
	is(t, WebSocket{URL: "ws://user:pass@h:1/p?token=x"}.String(), "ws://user:xxxxx@h:1/p")
}

// serve answers on rwc as a small server does: it shakes hands, and answers
// every other request by its method's name.
func serve(t *testing.T, read func() ([]byte, error), write func([]byte) error) {
	for {
		line, err := read()
		if err != nil {
			return
		}
		m, err := wire.Decode(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			return
		}
		if m.Kind != wire.KindRequest {
			continue
		}
		var result any = wire.EnvironmentStatus{Status: m.Method}
		if m.Method == wire.MethodInitialize {
			result = wire.InitializeResult{SessionID: "s-1"}
		}
		b, err := wire.AppendResult(nil, m.ID, result)
		if err != nil {
			t.Error(err)
		}
		if write(b) != nil {
			return
		}
	}
}

func status(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := c.Status(ctx)
	if err != nil || r.Status != wire.MethodEnvironmentStatus {
		t.Errorf("%+v %v", r, err)
	}
}

func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		serve(t, func() ([]byte, error) { return r.ReadBytes('\n') }, func(b []byte) error {
			_, err := conn.Write(append(b, "\r\n\n"...))
			return err
		})
	}()
	c := New(Unix{Path: path}, Options{})
	defer c.Close()
	status(t, c)
}

// webServer accepts what has the token and hands its connections to f.
func webServer(t testing.TB, f func(*websocket.Conn)) WebSocket {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Origin") != "":
			http.Error(w, "no origin", http.StatusForbidden)
			return
		case r.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, "invalid websocket bearer token", http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(64 << 20)
		f(conn)
	}))
	t.Cleanup(srv.Close)
	return WebSocket{URL: "ws" + strings.TrimPrefix(srv.URL, "http"), Token: "secret"}
}

func TestWebSocket(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	e := webServer(t, func(conn *websocket.Conn) {
		typ := websocket.MessageText
		serve(t, func() ([]byte, error) {
			_, b, err := conn.Read(context.Background())
			return b, err
		}, func(b []byte) error {
			typ = websocket.MessageBinary // both are taken
			return conn.Write(context.Background(), typ, bytes.ReplaceAll(b, []byte("big"), []byte(big)))
		})
	})
	c := New(e, Options{})
	defer c.Close()
	status(t, c)
	var r wire.EnvironmentStatus
	if err := c.Call(t.Context(), "big", nil, &r); err != nil || r.Status != big {
		t.Errorf("%d bytes, %v", len(r.Status), err)
	}
}

func TestWebSocketRefused(t *testing.T) {
	e := webServer(t, func(*websocket.Conn) {})
	e.Token = "wrong"
	c := New(e, Options{})
	defer c.Close()
	err := c.Connect(t.Context())
	var refused *RefusedError
	if !errors.Is(err, ErrUnauthorized) || !errors.As(err, &refused) || refused.Status != 401 || refused.Text != "invalid websocket bearer token" {
		t.Error(err)
	}
}

// The reason of a Close frame is the reason that everybody gets.
func TestWebSocketCloseReason(t *testing.T) {
	var conns int
	e := webServer(t, func(conn *websocket.Conn) {
		if conns++; conns > 1 {
			_, b, _ := conn.Read(context.Background())
			m, _ := wire.Decode(b)
			_ = conn.Write(context.Background(), websocket.MessageText, wire.AppendError(nil, m.ID, wire.InvalidRequest("unknown session id s-1")))
			_, _, _ = conn.Read(context.Background()) // until it goes
			return
		}
		served := false
		serve(t, func() ([]byte, error) {
			_, b, err := conn.Read(context.Background())
			return b, err
		}, func(b []byte) error {
			if served {
				conn.Close(websocket.StatusPolicyViolation, "message too large")
				return io.EOF
			}
			served = true
			return conn.Write(context.Background(), websocket.MessageText, b)
		})
	})
	c := New(e, Options{Latched: true})
	defer c.Close()
	_, err := c.Status(t.Context())
	if !errors.Is(err, ErrDisconnected) || err.Error() != "exec-server transport disconnected: message too large" {
		t.Error(err)
	}
	if _, err = c.Status(t.Context()); !errors.Is(err, ErrSessionLost) || !strings.HasPrefix(err.Error(), "exec-server transport disconnected: message too large; failed to resume") {
		t.Error(err)
	}
}
