package control

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hostsup/hostsup/supervisor"
)

// profileInput is the input of a request for a CPU profile.
type profileInput struct {
	Host Host `path:"host" doc:"name of a host"`
	Body profileRequest
}

// profileRequest is the body of a request for a CPU profile.
type profileRequest struct {
	Seconds float64 `json:"seconds"`
}

const typeBytes = "application/octet-stream"

// endTrailer of a response that is a file reports how it ended, as an endLine. A
// response without it was cut off.
const endTrailer = "Hostsup-End"

func (s *Server) inspect(ctx context.Context, in hostInput) (*supervisor.Inspection, error) {
	out, err := in.Host.Inspect(ctx)
	if err != nil {
		return nil, hostFail(in.Host, err)
	}
	return out, nil
}

func (s *Server) profile(w http.ResponseWriter, r *http.Request, in profileInput) error {
	d, err := seconds(in.Body.Seconds)
	if err != nil {
		return err
	}
	if d < supervisor.MinProfile || d > supervisor.MaxProfile {
		return invalid(fmt.Sprintf("a profile lasts from %v to %v, not %v", supervisor.MinProfile, supervisor.MaxProfile, d))
	}
	return s.file(w, r, in.Host, func(ctx context.Context, w io.Writer) error { return in.Host.Profile(ctx, d, w) })
}

func (s *Server) heap(w http.ResponseWriter, r *http.Request, in hostInput) error {
	return s.file(w, r, in.Host, in.Host.HeapSnapshot)
}

// file responds with the output of write, and how that ended.
func (s *Server) file(w http.ResponseWriter, r *http.Request, h Host, write func(context.Context, io.Writer) error) error {
	if t, ok := w.(*timed); ok {
		t.beginStream() // the host may make it more slowly than it is taken
	}
	out := &fileWriter{w: w}
	err := write(r.Context(), out)
	if err != nil && !out.begun {
		return hostFail(h, err)
	}
	out.begin()
	end := endLine{End: err == nil}
	if err != nil {
		if end.Error = hostFail(h, err); end.Error.Class == Cancelled && s.ctx.Err() != nil {
			end.Error = closed()
		}
	}
	text, err := json.Marshal(end)
	if err != nil {
		return nil //nolint:nilerr // too late for another response; without the trailer it counts as cut off
	}
	w.Header().Set(endTrailer, string(text))
	return nil
}

// fileWriter begins the response with the first bytes, so that it can still be an
// error before them.
type fileWriter struct {
	w     http.ResponseWriter
	begun bool
}

func (f *fileWriter) begin() {
	if !f.begun {
		f.begun = true
		f.w.Header().Set("Content-Type", typeBytes)
		f.w.Header().Set("Trailer", endTrailer)
		f.w.WriteHeader(http.StatusOK)
	}
}

func (f *fileWriter) Write(b []byte) (int, error) {
	f.begin()
	return f.w.Write(b)
}

// Inspect makes a host that runs node open its inspector, which stays open.
func (c *Client) Inspect(ctx context.Context, host string) (*supervisor.Inspection, error) {
	return post[supervisor.Inspection](ctx, c, hostPath(host, "inspect"), nil)
}

// Profile writes a CPU profile of length d of a host that runs node to w, the
// content of a .cpuprofile file. After an error w may hold a part of it.
func (c *Client) Profile(ctx context.Context, host string, d time.Duration, w io.Writer) error {
	return c.file(ctx, hostPath(host, "profile"), profileRequest{d.Seconds()}, w)
}

// HeapSnapshot writes a heap snapshot of a host that runs node to w, the content of
// a .heapsnapshot file. After an error w may hold a part of it.
func (c *Client) HeapSnapshot(ctx context.Context, host string, w io.Writer) error {
	return c.file(ctx, hostPath(host, "heap"), nil, w)
}

func (c *Client) file(ctx context.Context, path string, body any, w io.Writer) error {
	res, err := c.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // only read
	to := &sink{w: w}
	if _, err := io.Copy(to, res.Body); err != nil {
		if to.err != nil {
			return &Error{Class: Internal, Message: to.err.Error()}
		}
		return c.broken(ctx, err)
	}
	var end endLine
	switch err := json.Unmarshal([]byte(res.Trailer.Get(endTrailer)), &end); {
	case err != nil:
		return c.broken(ctx, io.ErrUnexpectedEOF)
	case end.Error != nil:
		return end.Error
	}
	return nil
}

// sink records the error of the writer, to distinguish it from one of the reader.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}
