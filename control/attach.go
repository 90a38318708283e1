package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/attach"
)

// dirHeader carries the working folder of a program that attaches.
const dirHeader = "Hostsup-Dir"

// Headers that tell a program that attaches what it may send, messages of a protocol as the
// configuration names it, and how many bytes the largest may have; and whether it is told of
// crashes.
const (
	protocolHeader = "Hostsup-Protocol"
	limitHeader    = "Hostsup-Max-Message"
	silentHeader   = "Hostsup-Silent"
)

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
	if h.Encoding() == nil || !h.CanAttach() {
		st := h.Status()
		return &Error{Class: Invalid, Host: st.Name, Message: fmt.Sprintf("no program can attach to host %q: hosts of protocol %q cannot be attached to, those of %s can",
			st.Name, st.Protocol, strings.Join(attach.Protocols(), ", "))}
	}
	if err := h.Refused(); err != nil {
		return hostFail(h, err) // a response, before the caller sends anything
	}
	w.WriteHeader(http.StatusContinue)
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(protocolHeader, h.Status().Protocol)
	w.Header().Set(limitHeader, strconv.Itoa(h.MaxMessage()))
	if h.Silent() {
		w.Header().Set(silentHeader, "true")
	}
	w.Header().Set("Trailer", errorTrailer)
	// The rest of the request's body is not read, so no other request can follow it.
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusOK)
	// Only a write notices that the caller has gone away.
	_ = control.Flush()
	ctx := r.Context()
	if dir, err := url.PathUnescape(in.Dir); err == nil && dir != "" {
		ctx = attach.WithDir(ctx, dir)
	}
	err := h.Attach(ctx, &duplex{r: r.Body, w: w, control: control})
	if err != nil {
		if r.Context().Err() != nil && s.ctx.Err() != nil {
			err = closed()
		}
		s.opt.Logger.Info("an attached program was detached", "host", h.Status().Name, "reason", err)
		if text, jsonErr := json.Marshal(describe(err, nil)); jsonErr == nil {
			w.Header().Set(errorTrailer, string(text))
		}
	}
	_ = control.SetWriteDeadline(time.Now().Add(lastWrite)) // for the trailer
	return nil
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

// Attach makes in and out a client of a host, until in ends, the program behind them
// detaches, or ctx ends. It may return before in has ended. An error is the reason
// why the supervisor detached the program.
func (c *Client) Attach(ctx context.Context, host string, in io.Reader, out io.Writer) error {
	a, err := c.Join(ctx, host)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Serve(in, out)
}

// Attachment is a client of a host that has sent nothing yet. It is for one Serve.
type Attachment struct {
	// Protocol is that of the host, as the configuration names it; "" if the supervisor is of
	// a version that does not tell.
	Protocol string
	// MaxMessage is how many bytes a message may have; 0 if the supervisor does not tell.
	MaxMessage int
	// Silent says that the client is told nothing of crashes, see attach.Rule.
	Silent bool

	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	body   *io.PipeReader // the transport reads the body as long as it can; a pipe can be closed
	input  *io.PipeWriter
	res    *http.Response
}

// Join makes a client of a host, which lasts until Close or the end of ctx at most. Close
// must be called. An error is why the host cannot be attached to.
func (c *Client) Join(ctx context.Context, host string) (*Attachment, error) {
	a := &Attachment{client: c}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.body, a.input = io.Pipe()
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, c.base+hostPath(host, "attach"), a.body)
	if err != nil {
		a.Close()
		return nil, invalid(err.Error())
	}
	// Nothing is sent before the supervisor has agreed: bytes on their way would hide the
	// reason of a refusal.
	req.Header.Set("Expect", "100-continue")
	if dir, err := os.Getwd(); err == nil { // else the host may have no need of it
		req.Header.Set(dirHeader, url.PathEscape(dir))
	}
	if a.res, err = c.send(a.ctx, req); err != nil { //nolint:bodyclose // Close does
		a.Close()
		return nil, err
	}
	a.Protocol = a.res.Header.Get(protocolHeader)
	a.Silent = a.res.Header.Get(silentHeader) == "true"
	a.MaxMessage, _ = strconv.Atoi(a.res.Header.Get(limitHeader)) // 0 for what is no number
	return a, nil
}

// Close ends the client, and a Serve. It may be called again.
func (a *Attachment) Close() {
	a.cancel()
	_ = a.body.Close()
	if a.res != nil {
		_ = a.res.Body.Close()
	}
}

// Serve passes in on to the host, and what the host says to out. It returns as
// [Client.Attach] does.
func (a *Attachment) Serve(in io.Reader, out io.Writer) error {
	defer a.Close()
	go func() { // ends with in, or with the next bytes from it
		_, err := io.Copy(a.input, in)
		_ = a.input.CloseWithError(err)
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := a.res.Body.Read(b)
		if n > 0 {
			if _, err := out.Write(b[:n]); err != nil {
				return &Error{Class: Cancelled, Message: "the output is closed: " + err.Error()}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a.client.broken(a.ctx, err)
		}
	}
	if text := a.res.Trailer.Get(errorTrailer); text != "" {
		told := new(Error)
		if err := json.Unmarshal([]byte(text), told); err != nil {
			return a.client.broken(a.ctx, err)
		}
		return told
	}
	return nil
}
