package execserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/internal/busypoll"
)

// WebSocket is a server that listens at ws:// or wss://.
type WebSocket struct {
	URL string
	// Token is sent as "Authorization: Bearer" when it is not "".
	Token string
	// Header is sent with the upgrade. An Origin makes servers refuse it.
	Header http.Header
	// Client makes the upgrade; nil for one without proxies that notices a
	// peer that is gone within half a minute.
	Client *http.Client
}

// String returns the URL without its secrets.
func (w WebSocket) String() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "websocket"
	}
	u.RawQuery = ""
	return u.Redacted()
}

func (w WebSocket) lasting() bool { return true }

// direct makes upgrades without a proxy. TCP notices a peer that has vanished.
var direct = &http.Client{
	Transport: &http.Transport{
		DialContext:       dialTCP,
		ForceAttemptHTTP2: false,
		DisableKeepAlives: true, // what is not upgraded is closed
		WriteBufferSize:   4 << 10,
		ReadBufferSize:    64 << 10,
	},
}

func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return busypoll.Conn(c), nil
}

func (w WebSocket) dial(ctx context.Context) (transport, error) {
	header := w.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if w.Token != "" {
		header.Set("Authorization", "Bearer "+w.Token)
	}
	client := w.Client
	if client == nil {
		client = direct
	}
	conn, resp, err := websocket.Dial(ctx, w.URL, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header}) //nolint:bodyclose // the library has read and closed it
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			refused := &RefusedError{Status: resp.StatusCode}
			if resp.Body != nil {
				text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // as much as there is
				refused.Text = strings.TrimSpace(string(text))
			}
			return nil, refused
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return &frames{conn: conn}, nil
}

// frames is a WebSocket with one message a frame, or several when it is long.
type frames struct {
	conn *websocket.Conn
	buf  bytes.Buffer
	once sync.Once
	said string // the server's reason for closing it
}

// Contexts are not used for single reads and writes: the library would end the
// connection with them, and each costs. Closing ends both.

func (f *frames) read() ([]byte, error) {
	_, r, err := f.conn.Reader(context.Background())
	if err != nil {
		return nil, f.note(err)
	}
	if f.buf.Cap() > keepBuffer {
		f.buf = bytes.Buffer{}
	}
	f.buf.Reset()
	if _, err := f.buf.ReadFrom(r); err != nil {
		return nil, f.note(err)
	}
	return f.buf.Bytes(), nil
}

// note records the reason of a Close frame, and returns the error for the caller of
// read.
func (f *frames) note(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		f.said = closed.Reason
		if f.said == "" && closed.Code != websocket.StatusNormalClosure {
			f.said = closed.Code.String()
		}
		return io.EOF
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return errTooLarge
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return io.EOF
	}
	return fmt.Errorf("websocket: %w", err)
}

// maxFrame bounds a frame: servers take messages of 64 MiB, but frames of 16.
const maxFrame = 8 << 20

func (f *frames) write(msg []byte, _ bool) error {
	if len(msg) <= maxFrame {
		return f.conn.Write(context.Background(), websocket.MessageText, msg)
	}
	w, err := f.conn.Writer(context.Background(), websocket.MessageText)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(msg, maxFrame) { // a frame for each
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Close()
}

// hangUp does not send a Close frame: it must not wait for a peer that is gone.
func (f *frames) hangUp() {
	f.once.Do(func() { _ = f.conn.CloseNow() }) // it may be gone
}

func (f *frames) close() {}

func (f *frames) cause(error) string { return f.said }
