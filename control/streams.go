package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// streamAhead is the number of lines buffered between the source of a stream and its
// reader. A slower reader blocks the source, which then counts what it missed.
const streamAhead = 256

func (s *Server) events(in eventsInput) (source, error) {
	if in.Since == 0 {
		in.Since = in.Last
	}
	return func(ctx context.Context, send func(any) bool) *Error {
		for ev := range s.sup.Events(ctx, in.Since, in.Follow) {
			var line any = ev
			if ev.Lost > 0 {
				line = lostLine{ev.Lost}
			}
			if !send(line) {
				break
			}
		}
		return nil
	}, nil
}

func (s *Server) logs(in logsInput) (source, error) {
	var from ChannelLog = in.Host
	if in.Channel != "" {
		host := in.Host.Status().Name
		c, err := s.sup.Channel(host, in.Channel)
		if err != nil {
			return nil, s.channelFail(host, err)
		}
		from = c
	}
	if in.Follow {
		return func(ctx context.Context, send func(any) bool) *Error { return pass(from.Follow(ctx, in.N), send) }, nil
	}
	past, err := from.History(in.N)
	if err != nil && len(past) == 0 {
		return nil, hostFail(in.Host, err)
	}
	// The readable lines are better than none.
	return func(_ context.Context, send func(any) bool) *Error { return pass(slices.Values(past), send) }, nil
}

// messages follows the messages that a host sends by itself, until the reader has gone.
func (s *Server) messages(in hostInput) (source, error) {
	if in.Host.Encoding() == nil {
		return nil, hostFail(in.Host, &actors.CallError{Host: in.Host.Status().Name, Err: actors.ErrNoProtocol})
	}
	return func(ctx context.Context, send func(any) bool) *Error { return pass(in.Host.Messages(ctx), send) }, nil
}

// pass sends all of seq, as long as the reader is there.
func pass[T any](seq iter.Seq[T], send func(any) bool) *Error {
	for v := range seq {
		if !send(v) {
			break
		}
	}
	return nil
}

// results sends the elements of a streamed result.
func results(h Host, c Call) source {
	return func(ctx context.Context, send func(any) bool) *Error {
		for raw, err := range h.Stream(ctx, c) {
			if err != nil {
				return callFail(h, c.Method, err)
			}
			text, err := resultJSON(h, raw)
			if err != nil {
				return describe(err, nil)
			}
			if !send(itemLine{json.RawMessage(text)}) {
				break
			}
		}
		return nil
	}
}

// stream responds with what src sends, then the end: one JSON document a line, or as
// server-sent events if the caller accepts them. It writes in a separate goroutine, so
// that lines which arrive together are sent together; that goroutine ends before stream
// returns.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, src source) {
	if t, ok := w.(*timed); ok {
		t.beginStream()
	}
	ctx, cancel := context.WithCancel(r.Context())
	lines, written := make(chan any, streamAhead), make(chan struct{})
	go func() {
		defer close(written)
		if err := writeLines(w, lines, strings.Contains(r.Header.Get("Accept"), typeSSE)); err != nil {
			cancel()
			for range lines { // so that source, which may be sending, can end
			}
		}
	}()
	defer func() {
		close(lines)
		<-written
		cancel()
	}()
	err := src(ctx, func(v any) bool {
		lines <- v
		return ctx.Err() == nil
	})
	if err != nil && err.Class == Cancelled && s.ctx.Err() != nil {
		err = closed()
	}
	lines <- endLine{End: err == nil, Error: err}
}

// writeLines writes until in is closed, and flushes when no line is waiting.
func writeLines(w http.ResponseWriter, in <-chan any, asEvents bool) error {
	out := lineWriter{w: w, control: http.NewResponseController(w), enc: encoder(w)}
	w.Header().Set("Content-Type", typeNDJSON)
	write := out.line
	if asEvents {
		w.Header().Set("Content-Type", typeSSE)
		w.Header().Set("Cache-Control", "no-store")
		write = out.event
	}
	w.WriteHeader(http.StatusOK)
	if err := out.control.Flush(); err != nil { // a follower sees the response at once
		return err
	}
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for {
		var err error
		select {
		case v, more := <-in:
			if !more {
				return nil
			}
			err = write(v)
		case <-idle.C:
			if !asEvents {
				continue
			}
			_, err = io.WriteString(w, ":\n\n")
		}
		if err == nil && len(in) == 0 {
			err = out.control.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// keepAlive is how often a stream of events has a comment, so that neither end, nor what
// is between them, takes the other for gone.
const keepAlive = 15 * time.Second

// lineWriter writes the documents of a stream.
type lineWriter struct {
	w       io.Writer
	control *http.ResponseController
	enc     *json.Encoder // to w
}

func (o lineWriter) line(v any) error { return o.enc.Encode(v) }

// event writes v as a server-sent event. The document has no line end but its last.
func (o lineWriter) event(v any) error {
	head := "data: "
	switch v := v.(type) {
	case supervisor.Event:
		head = fmt.Sprintf("id: %d\ndata: ", v.Seq)
	case lostLine:
		head = "event: lost\ndata: "
	case endLine:
		head = "event: end\ndata: "
	}
	if _, err := io.WriteString(o.w, head); err != nil {
		return err
	}
	if err := o.enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(o.w, "\n")
	return err
}

// crashesInput is the input of a request for crash reports.
type crashesInput struct {
	Host  string `query:"host" doc:"name of the only host"`
	Brief bool   `query:"brief" doc:"without output, messages, refusals, bytes and evidence"`
}

func (s *Server) crashes(_ context.Context, in crashesInput) (out crashList, err error) {
	if in.Host != "" {
		if _, err := s.host(in.Host, false); err != nil {
			return out, err
		}
	}
	kept, err := s.sup.Crashes(in.Host)
	if err != nil {
		return out, err
	}
	out.Crashes = make([]record.CrashReport, len(kept))
	for i, c := range kept {
		if in.Brief {
			c.Lines, c.Messages, c.Noise, c.Denials, c.Extensions, c.Evidence = nil, nil, nil, nil, nil, nil
		}
		out.Crashes[i] = tidyCrash(c)
	}
	return out, nil
}

// crashInput is the input of a request for one crash report.
type crashInput struct {
	ID string `path:"id" doc:"id of a crash report, or a beginning of it that no other has"`
}

func (s *Server) crash(_ context.Context, in crashInput) (out record.CrashReport, err error) {
	report, err := s.sup.Crash(in.ID)
	switch {
	case errors.Is(err, supervisor.ErrNoCrash), errors.Is(err, reports.ErrBadID):
		return out, &Error{Class: NoSuchCrash, Message: fmt.Sprintf("no crash report %q is kept; hostsup crashes lists those that are", in.ID)}
	case errors.Is(err, supervisor.ErrAmbiguous):
		return out, invalid(err.Error())
	case err != nil:
		return out, err
	}
	return tidyCrash(*report), nil
}
