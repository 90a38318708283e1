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
	"strings"
	"time"

	"github.com/hostsup/hostsup/attach"
)

// dirHeader carries the working folder of a program that attaches.
const dirHeader = "Hostsup-Dir"

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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The transport reads the body as long as it can; a pipe can be closed.
	body, input := io.Pipe()
	defer func() { _ = body.Close() }()
	go func() { // ends with in, or with the next bytes from it
		_, err := io.Copy(input, in)
		_ = input.CloseWithError(err)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+hostPath(host, "attach"), body)
	if err != nil {
		return invalid(err.Error())
	}
	// Nothing is sent before the supervisor has agreed: bytes on their way would hide the
	// reason of a refusal.
	req.Header.Set("Expect", "100-continue")
	if dir, err := os.Getwd(); err == nil { // else the host may have no need of it
		req.Header.Set(dirHeader, url.PathEscape(dir))
	}
	res, err := c.send(ctx, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := res.Body.Read(b)
		if n > 0 {
			if _, err := out.Write(b[:n]); err != nil {
				return &Error{Class: Cancelled, Message: "the output is closed: " + err.Error()}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c.broken(ctx, err)
		}
	}
	if text := res.Trailer.Get(errorTrailer); text != "" {
		told := new(Error)
		if err := json.Unmarshal([]byte(text), told); err != nil {
			return c.broken(ctx, err)
		}
		return told
	}
	return nil
}
