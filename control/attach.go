package control

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/internal/busypoll"
	"github.com/hostsup/hostsup/internal/sys"
)

// dirHeader carries the working folder of a program that attaches.
const dirHeader = "Hostsup-Dir"

// Headers that tell a program that attaches what it may send, messages of a protocol as the
// configuration names it, or of one of several, and how many bytes the largest may have; and whether it is told of
// crashes.
const (
	protocolHeader = "Hostsup-Protocol"
	limitHeader    = "Hostsup-Max-Message"
	silentHeader   = "Hostsup-Silent"
)

// keyHeader carries the key and the values of the instance that a program attaches to.
const keyHeader = "Hostsup-Key"

// errorTrailer carries, as JSON, why the supervisor detached a program.
const errorTrailer = "Hostsup-Error"

// stopReading lets a handler respond and return before an endless body has ended;
// otherwise the server would wait for the rest of the body.
func stopReading(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a response that the caller misses is no loss
}

// attach makes the caller a client of the host: the request's body carries its
// messages to the host, the response's body the messages to it, both while it is
// attached.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, in attachInput) error {
	h := in.Host
	protocols := h.AttachProtocols()
	if h.Encoding() == nil || protocols == nil {
		st := h.Status()
		return &Error{Class: Invalid, Host: st.Name, Message: fmt.Sprintf("no program can attach to host %q: hosts of protocol %q cannot be attached to, those of %s can",
			st.Name, st.Protocol, strings.Join(attach.Protocols(), ", "))}
	}
	ctx := r.Context()
	if in.Key != "" {
		var i Instance
		text, err := url.PathUnescape(in.Key)
		if err == nil {
			err = json.Unmarshal([]byte(text), &i)
		}
		if err != nil {
			return invalid("header " + keyHeader + " is not percent-encoded JSON with a key and values")
		}
		if ctx, err = i.context(ctx, h); err != nil {
			return err
		}
	}
	if p, is := h.(pattern); is {
		if err := attach.CheckKey(ctx, p.Spec()); err != nil {
			return hostFail(h, err)
		}
	}
	if err := h.Refused(); err != nil {
		return hostFail(h, err) // a response, before the caller sends anything
	}
	if dir, err := url.PathUnescape(in.Dir); err == nil && dir != "" {
		ctx = attach.WithDir(ctx, dir)
	}
	w.Header().Set(protocolHeader, strings.Join(protocols, ", "))
	w.Header().Set(limitHeader, strconv.Itoa(h.MaxMessage()))
	if h.Silent() {
		w.Header().Set(silentHeader, "true")
	}
	if r.Header.Get("Upgrade") == attachProtocol {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", attachProtocol)
		return s.attachUpgraded(ctx, w, h, w.Header())
	}
	w.WriteHeader(http.StatusContinue)
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", typeBytes)
	w.Header().Set("Trailer", errorTrailer)
	// The rest of the request's body is not read, so no other request can follow it.
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusOK)
	// Only a write notices that the caller has gone away.
	_ = control.Flush()
	if reason := s.detached(ctx, h, h.Attach(ctx, &duplex{r: r.Body, w: w, control: control})); reason != nil {
		w.Header().Set(errorTrailer, string(reason))
	}
	_ = control.SetWriteDeadline(time.Now().Add(lastWrite)) // for the trailer
	return nil
}

// detached logs why a program was detached, and returns that as JSON; nil if the program has
// left by itself.
func (s *Server) detached(ctx context.Context, h Host, err error) []byte {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && s.ctx.Err() != nil {
		err = closed()
	}
	s.opt.Logger.Info("an attached program was detached", "host", h.Status().Name, "reason", err)
	text, _ := json.Marshal(describe(err, nil)) // it has no value that JSON cannot have
	return text
}

// lastWrite bounds the writing of the end of a stream.
const lastWrite = time.Second

// duplex is both bodies of a request.
type duplex struct {
	r       io.Reader
	w       io.Writer
	control *http.ResponseController
}

func (d *duplex) Read(p []byte) (int, error) { return d.r.Read(p) }

func (d *duplex) Write(p []byte) (int, error) {
	n, err := d.w.Write(p)
	if err == nil {
		err = d.control.Flush()
	}
	return n, err
}

// Close ends a Read at once, and a Write that waits soon.
func (d *duplex) Close() error {
	return errors.Join(d.control.SetReadDeadline(time.Unix(1, 0)), d.control.SetWriteDeadline(time.Now().Add(lastWrite)))
}

// Attach makes in and out a client of a host, or of the instance of a template that
// [attach.WithKey] names, until in ends, the program behind them
// detaches, or ctx ends. It may return before in has ended. An error is the reason
// why the supervisor detached the program.
func (c *Client) Attach(ctx context.Context, host string, in io.Reader, out io.Writer) error {
	a, err := c.Join(ctx, host)
	if err != nil {
		return err
	}
	return a.Serve(in, out)
}

// Attachment is a client of a host: a stream of messages in both directions, or what passes
// them on by one Serve.
type Attachment struct {
	// Protocols are those that the client may speak, as the configuration names them. Of several the
	// first byte that the client sends decides, see [attach.Opening]. nil if the supervisor is of a
	// version that does not tell.
	Protocols []string
	// MaxMessage is how many bytes a message may have; 0 if the supervisor does not tell.
	MaxMessage int
	// Silent says that the client is told nothing of crashes, see attach.Rule.
	Silent bool

	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	conn   net.Conn
	in     *bufio.Reader
	try    *sys.TryWriter        // nil: the bytes are encrypted
	left   int                   // bytes of the frame that is being read
	err    error                 // of every Read from now on; nil: none
	torn   atomic.Pointer[Error] // why Serve has closed the connection
}

// Join makes a client of a host, or of the instance of a template that [attach.WithKey] names,
// which lasts until Close or the end of ctx at most. Close
// must be called. An error is why the host cannot be attached to.
func (c *Client) Join(ctx context.Context, host string) (*Attachment, error) {
	a := &Attachment{client: c}
	a.ctx, a.cancel = context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, c.base+hostPath(host, "attach"), http.NoBody)
	if err != nil {
		a.cancel()
		return nil, invalid(err.Error())
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", attachProtocol)
	if dir, err := os.Getwd(); err == nil { // else the host may have no need of it
		req.Header.Set(dirHeader, url.PathEscape(dir))
	}
	if key, vars, has := attach.KeyOf(ctx); has {
		text, err := json.Marshal(Instance{key, vars})
		if err != nil {
			_ = a.Close()
			return nil, invalid(err.Error())
		}
		req.Header.Set(keyHeader, url.PathEscape(string(text)))
	}
	if err := a.join(req); err != nil {
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

// join makes the request of Join.
func (a *Attachment) join(req *http.Request) (err error) {
	if a.conn, err = a.client.connect(a.ctx, req.URL); err != nil {
		return a.client.broken(a.ctx, err)
	}
	if src, ok := a.conn.(busypoll.Source); ok {
		a.in, a.try = bufio.NewReader(busypoll.NewReader(src)), sys.NewTryWriter(src, false)
	} else {
		a.in = bufio.NewReader(a.conn)
	}
	context.AfterFunc(a.ctx, func() { _ = a.conn.Close() })
	_ = a.conn.SetDeadline(time.Now().Add(joinWait)) // of a connection that has ended it does not matter
	a.client.authorize(req)
	if err := req.Write(a.conn); err != nil {
		return a.client.broken(a.ctx, err)
	}
	res, err := http.ReadResponse(a.in, req)
	if err != nil {
		return a.client.broken(a.ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusSwitchingProtocols {
		return a.client.refusal(res)
	}
	if names := res.Header.Get(protocolHeader); names != "" {
		a.Protocols = strings.Split(names, ", ")
	}
	a.Silent = res.Header.Get(silentHeader) == "true"
	a.MaxMessage, _ = strconv.Atoi(res.Header.Get(limitHeader)) // 0 for what is no number
	_ = a.conn.SetDeadline(time.Time{})
	return nil
}

// joinWait bounds the wait for an unresponsive supervisor; others answer within milliseconds.
const joinWait = 10 * time.Second

// Close ends the client, and a Read, Write or Serve. It is idempotent.
func (a *Attachment) Close() error {
	a.cancel()
	return nil
}

// Read reads what the host says. The error is io.EOF if the client has left, else an *[Error]:
// the reason why the supervisor detached it, or went away. It must be used by one goroutine
// at a time.
func (a *Attachment) Read(p []byte) (n int, err error) {
	if a.left == 0 && a.err == nil {
		a.begin()
	}
	if a.err != nil {
		return 0, a.err
	}
	n, err = a.in.Read(p[:min(a.left, len(p))])
	a.left -= n
	if err != nil {
		a.err = a.lost(err)
	}
	return n, a.err
}

// begin begins to read a frame. It sets err behind the last one.
func (a *Attachment) begin() {
	length, err := a.in.Peek(lengthSize)
	if err != nil {
		a.err = a.lost(err)
		return
	}
	a.left = int(binary.BigEndian.Uint32(length))
	_, _ = a.in.Discard(lengthSize) // they were peeked at
	if a.left > 0 {
		return
	}
	told := new(Error)
	switch err := json.NewDecoder(a.in).Decode(told); {
	case errors.Is(err, io.EOF):
		a.err = io.EOF
	case err != nil:
		a.err = a.lost(err)
	default:
		a.err = told
	}
}

// lost is an error of the connection.
func (a *Attachment) lost(err error) error {
	if torn := a.torn.Load(); torn != nil {
		return torn
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return a.client.broken(a.ctx, err)
}

// Write sends messages to the host. After an error, Read finds the end of the connection.
func (a *Attachment) Write(p []byte) (int, error) { return a.conn.Write(p) }

// TryWrite writes what the kernel takes at once, which may be nothing.
func (a *Attachment) TryWrite(p []byte) (int, error) {
	if a.try == nil {
		return 0, nil
	}
	return a.try.TryWrite(p)
}

// CloseWrite tells the host that nothing more comes.
func (a *Attachment) CloseWrite() error {
	return a.conn.(interface{ CloseWrite() error }).CloseWrite() // TCP, TLS and unix sockets have it
}

// Serve passes in on to the host, and what the host says to out. It returns as
// [Client.Attach] does.
func (a *Attachment) Serve(in io.Reader, out io.Writer) error {
	defer func() { _ = a.Close() }()
	go a.send(in) // ends with in, or with the next bytes from it
	b := make([]byte, 64<<10)
	for {
		n, err := a.Read(b)
		if n > 0 {
			if _, err := out.Write(b[:n]); err != nil {
				return &Error{Class: Cancelled, Message: "the output is closed: " + err.Error()}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// send sends all of in.
func (a *Attachment) send(in io.Reader) {
	b := make([]byte, 64<<10)
	for {
		n, err := in.Read(b)
		if n > 0 {
			if _, err := a.Write(b[:n]); err != nil {
				return // Serve finds out why
			}
		}
		if errors.Is(err, io.EOF) {
			_ = a.CloseWrite() // Serve finds the end of a connection that has ended
			return
		}
		if err != nil {
			a.torn.Store(&Error{Class: Cancelled, Message: "the input cannot be read: " + err.Error()})
			_ = a.Close()
			return
		}
	}
}
