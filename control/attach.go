package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hostsup/hostsup/attach"
)

// errorTrailer carries, as JSON, why a program that was attached was let go.
const errorTrailer = "Hostsup-Error"

const attachSuffix = "/attach"

// endless says whether a request's body is a stream that may last for days.
func endless(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, attachSuffix) }

// letGo lets a handler answer, and end, while such a body has not come to its
// end: else the rest of it is waited for.
func letGo(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // an answer that nobody gets is no loss
}

// attach makes the caller a client of the host: its request's body is what it
// says, the answer's body what it is told, both as long as it stays.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, h Host) error {
	if h.Encoding() == nil || !h.CanAttach() {
		st := h.Status()
		return &Error{Class: Invalid, Host: st.Name, Message: fmt.Sprintf("no program can attach to host %q: hosts of protocol %q cannot be attached to, those of %s can",
			st.Name, st.Protocol, strings.Join(attach.Protocols(), ", "))}
	}
	if err := attach.Refused(h.Status()); err != nil {
		return hostFail(h, err) // as an answer, before the caller says anything
	}
	w.WriteHeader(http.StatusContinue)
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Trailer", errorTrailer)
	// The rest of the request's body is not read, so that nothing can follow it.
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusOK)
	// A caller that is gone already is found to be by who writes to it.
	_ = control.Flush()
	err := h.Attach(r.Context(), &duplex{r: r.Body, w: w, control: control})
	if err != nil {
		if r.Context().Err() != nil && s.ctx.Err() != nil {
			err = closed()
		}
		s.opt.Logger.Info("a program that was attached is let go", "host", r.PathValue("host"), "reason", err)
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

// Attach makes in and out a client of a host, until in ends, the program behind
// it says that it leaves, or ctx ends. It may return before in has ended. An error
// says why the supervisor let it go.
func (c *Client) Attach(ctx context.Context, host string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The transport reads the body for as long as it can, and this can be closed.
	body, said := io.Pipe()
	defer func() { _ = body.Close() }()
	go func() { // ends with in, or with the next that comes from it
		_, err := io.Copy(said, in)
		_ = said.CloseWithError(err)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://hostsup"+hostPath(host, "attach"), body)
	if err != nil {
		return invalid(err.Error())
	}
	// Nothing is said before the supervisor has agreed: what is on its way when it
	// refuses would hide the reason.
	req.Header.Set("Expect", "100-continue")
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
				return &Error{Class: Cancelled, Message: "nobody reads any more: " + err.Error()}
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
