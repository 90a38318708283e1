package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
)

// How a WebSocket is closed.
const (
	closeNormal    = 1000
	closeGoingAway = 1001
	closeProtocol  = 1002
	closePolicy    = 1008
)

// closeWait is how long the other end may take to read what was written before a Close
// frame, and to answer that. It may answer pings first, and data for a socket that is
// closed already makes the system discard what the other end has not read.
const closeWait = 2 * time.Second

// upgrade is the HTTP side of the server.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	plain := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	switch {
	case len(r.Header.Values("Origin")) > 0: // a page in a browser
		plain(http.StatusForbidden, "")
		return
	case r.URL.Path == "/readyz" && r.Method != http.MethodGet && r.Method != http.MethodHead:
		plain(http.StatusMethodNotAllowed, "")
		return
	case r.URL.Path == "/readyz":
		plain(http.StatusOK, "")
		return
	case r.URL.Path != "/":
		plain(http.StatusNotFound, "")
		return
	case r.Method != http.MethodGet:
		plain(http.StatusMethodNotAllowed, "Request method must be `GET`")
		return
	}
	if wrong := noWebSocket(r.Header); wrong != "" {
		plain(http.StatusBadRequest, wrong)
		return
	}
	if refusal := s.opt.Auth.check(r); refusal != "" {
		plain(http.StatusUnauthorized, refusal)
		return
	}
	if !s.admit() {
		plain(http.StatusServiceUnavailable, ErrStopped.Error())
		return
	}
	defer s.serves.Done()
	h := &hijacker{ResponseWriter: w}
	var c *conn
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		CompressionMode: websocket.CompressionDisabled,
		// The library would wait for room in the socket, and then give up.
		OnPingReceived: func(_ context.Context, payload []byte) bool {
			c.control(opPong, payload)
			return false
		},
		OnPongReceived: func(_ context.Context, payload []byte) { c.ponged(payload) },
	})
	if err != nil {
		s.opt.Log.Debug("a WebSocket was not opened", "peer", r.RemoteAddr, "error", err)
		return
	}
	c = s.newConn(h.socket, frames{}, r.RemoteAddr)
	c.pings = true
	s.enter(c)
	defer s.exit(c)
	go c.write()
	c.pingLater()
	why := c.readFrames(ws)
	var bad fatal
	if errors.As(why, &bad) {
		s.opt.Log.Debug("a client broke the protocol", "peer", c.peer, "reason", why)
		c.kick(closeProtocol, bad.Error())
		c.drain(ws)
	}
	c.close(why)
	_ = ws.CloseNow()
}

// noWebSocket returns why a request does not open a WebSocket, or "".
func noWebSocket(h http.Header) string {
	asks := func(name, value string) bool {
		return strings.Contains(strings.ToLower(strings.Join(h.Values(name), ",")), value)
	}
	switch {
	case !asks("Connection", "upgrade"):
		return "Connection header did not include 'upgrade'"
	case !asks("Upgrade", "websocket"):
		return "`Upgrade` header did not include 'websocket'"
	case h.Get("Sec-WebSocket-Key") == "":
		return "`Sec-WebSocket-Key` header missing"
	case h.Get("Sec-WebSocket-Version") != "13":
		return "`Sec-WebSocket-Version` header did not include '13'"
	}
	return ""
}

// readFrames takes messages until the connection ends.
func (c *conn) readFrames(ws *websocket.Conn) error {
	ws.SetReadLimit(-1) // it is ours to watch
	var buf bytes.Buffer
	for {
		_, r, err := ws.Reader(c.ctx)
		if err != nil {
			return errEnd
		}
		buf.Reset()
		n, err := buf.ReadFrom(io.LimitReader(r, int64(c.srv.opt.MaxMessage)+1))
		if err != nil {
			return errEnd
		}
		c.alive()
		if n > int64(c.srv.opt.MaxMessage) {
			beginning, end := bytes.Clone(buf.Next(maxBeginning)), ending{}
			_, _ = end.Write(buf.Bytes())
			c.srv.memory.released(buf.Cap())
			buf = bytes.Buffer{}
			if _, err := io.Copy(&end, r); err != nil {
				return errEnd
			}
			c.tooLarge(beginning, end)
			continue
		}
		if err := c.message(buf.Bytes()); err != nil {
			return err
		}
		if buf.Cap() > 64<<10 {
			c.srv.memory.released(buf.Cap())
			buf = bytes.Buffer{}
		}
	}
}

// drain waits for the other end to answer our close.
func (c *conn) drain(ws *websocket.Conn) {
	for {
		_, r, err := ws.Reader(c.ctx)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return
		}
	}
}

// kick ends the connection with a reason, once what was queued is written, or
// soon.
func (c *conn) kick(code int, reason string) {
	c.mu.Lock()
	if c.bye == nil {
		c.bye = []byte{}
		if c.pings {
			reason = strings.ToValidUTF8(reason[:min(len(reason), 120)], "")
			c.bye = appendFrameHead(c.bye, opClose, 2+len(reason))
			c.bye = binary.BigEndian.AppendUint16(c.bye, uint16(code))
			c.bye = append(c.bye, reason...)
		}
		c.signal()
	}
	c.mu.Unlock()
	time.AfterFunc(closeWait, func() { c.drop(errors.New(reason)) })
}

// alive records a sign of life.
func (c *conn) alive() {
	c.pingMu.Lock()
	c.pinged = time.Time{}
	c.pingMu.Unlock()
}

// ping asks for a sign of life, unless the last ping was not answered yet.
func (c *conn) ping() {
	c.pingMu.Lock()
	fresh := c.pinged.IsZero()
	if fresh {
		c.pinged = time.Now()
	}
	c.pingMu.Unlock()
	if fresh {
		c.control(opPing, nil)
	}
}

// lost reports whether the other end has not answered a ping in time. If no ping is
// under way, lost sends one.
func (c *conn) lost() bool {
	if !c.pings {
		return false
	}
	c.pingMu.Lock()
	since := c.pinged
	c.pingMu.Unlock()
	if since.IsZero() {
		c.ping()
		return false
	}
	return time.Since(since) >= c.srv.opt.PongWait
}

// pingLater pings at intervals until the connection has ended.
func (c *conn) pingLater() {
	c.pingMu.Lock()
	defer c.pingMu.Unlock()
	if every := c.srv.opt.Ping; every > 0 && c.ctx.Err() == nil {
		c.pinger = time.AfterFunc(every, func() {
			c.ping()
			c.pingLater()
		})
	}
}

// hijacker gives the WebSocket library a socket whose writes are whole, so that
// its frames and ours do not get into each other.
type hijacker struct {
	http.ResponseWriter
	socket *socket
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetNoDelay(true) // it is on already, and must be
	}
	h.socket = newSocket(nc)
	return h.socket, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.socket, 256)), nil
}

// socket is a connection that is written to by several goroutines, and whose reader
// spins for a moment before it blocks.
type socket struct {
	net.Conn
	in  io.Reader
	out sender
}

func newSocket(nc net.Conn) *socket {
	s := &socket{Conn: nc, in: nc, out: sender{w: nc}}
	if src, ok := nc.(busypoll.Source); ok {
		s.in = busypoll.NewReader(src)
		if raw, err := src.SyscallConn(); err == nil {
			s.out.try = func(b []byte) (int, error) { return sys.TryWrite(raw, b) }
		}
	}
	return s
}

// Read is for one goroutine at a time.
func (s *socket) Read(b []byte) (int, error) { return s.in.Read(b) }

// Write writes all of b.
func (s *socket) Write(b []byte) (int, error) { return s.out.Write(b) }

func (s *socket) tryWrite(b []byte) (rest bool, err error) { return s.out.tryWrite(b) }

func (s *socket) writeBuffers(b *net.Buffers) (int64, error) { return s.out.writeBuffers(b) }
