package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/supervisor"
)

// streamAhead is the number of lines buffered between the source of a stream and its
// reader. A slower reader blocks the source, which then counts what it missed.
const streamAhead = 256

// maxTail bounds how many lines of output one request may request.
const maxTail = 1_000_000

func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	follow, err := boolQuery(r, "follow")
	if err != nil {
		return err
	}
	s.stream(w, r, func(ctx context.Context, send func(any) bool) *Error {
		for ev := range s.sup.Events(ctx, follow) {
			var line any = ev
			if ev.Lost > 0 {
				line = lostLine{ev.Lost}
			}
			if !send(line) {
				break
			}
		}
		return nil
	})
	return nil
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request, h Host) error {
	follow, err := boolQuery(r, "follow")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 0 || n > maxTail {
		return invalid(fmt.Sprintf("n is a number of lines from 0 to %d", maxTail))
	}
	var past iter.Seq[capture.Line]
	if !follow {
		lines, err := h.History(n)
		if err != nil && len(lines) == 0 {
			return hostFail(h, err)
		}
		past = slices.Values(lines) // the readable lines are better than none
	}
	s.stream(w, r, func(ctx context.Context, send func(any) bool) *Error {
		lines := past
		if follow {
			lines = h.Follow(ctx, n)
		}
		for ln := range lines {
			if !send(ln) {
				break
			}
		}
		return nil
	})
	return nil
}

// messages follows the messages that a host sends by itself, until the reader has gone.
func (s *Server) messages(w http.ResponseWriter, r *http.Request, h Host) error {
	if h.Encoding() == nil {
		return hostFail(h, &actors.CallError{Host: r.PathValue("host"), Err: actors.ErrNoProtocol})
	}
	s.stream(w, r, func(ctx context.Context, send func(any) bool) *Error {
		for m := range h.Messages(ctx) {
			if !send(m) {
				break
			}
		}
		return nil
	})
	return nil
}

func (s *Server) callStream(w http.ResponseWriter, r *http.Request, h Host, c Call) error {
	s.stream(w, r, func(ctx context.Context, send func(any) bool) *Error {
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
	})
	return nil
}

// stream responds with one JSON document a line: what source sends, then the end. It
// writes the lines in a separate goroutine, so that lines which arrive together are
// sent together; that goroutine ends before stream returns. send returns false once
// the reader has gone.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, source func(ctx context.Context, send func(any) bool) *Error) {
	ctx, cancel := context.WithCancel(r.Context())
	lines, written := make(chan any, streamAhead), make(chan struct{})
	go func() {
		defer close(written)
		if err := writeLines(w, lines); err != nil {
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
	err := source(ctx, func(v any) bool {
		lines <- v
		return ctx.Err() == nil
	})
	if err != nil && err.Class == Cancelled && s.ctx.Err() != nil {
		err = closed()
	}
	lines <- endLine{End: err == nil, Error: err}
}

// writeLines writes until lines is closed, and flushes when no line is waiting.
func writeLines(w http.ResponseWriter, lines <-chan any) error {
	w.Header().Set("Content-Type", typeNDJSON)
	w.WriteHeader(http.StatusOK)
	out, enc := http.NewResponseController(w), encoder(w)
	if err := out.Flush(); err != nil { // a follower sees the response at once
		return err
	}
	for v := range lines {
		if err := enc.Encode(v); err != nil {
			return err
		}
		if len(lines) > 0 {
			continue
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) crashes(w http.ResponseWriter, r *http.Request) error {
	host := r.URL.Query().Get("host")
	if host != "" {
		if _, err := s.host(host); err != nil {
			return err
		}
	}
	kept, err := s.sup.Crashes(host)
	if err != nil {
		return err
	}
	out := crashList{Crashes: make([]actors.CrashReport, len(kept))}
	for i, c := range kept {
		out.Crashes[i] = tidyCrash(c)
	}
	return answer(w, out)
}

func (s *Server) crash(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	report, err := s.sup.Crash(id)
	switch {
	case errors.Is(err, supervisor.ErrNoCrash), errors.Is(err, reports.ErrBadID):
		return &Error{Class: NoSuchCrash, Message: fmt.Sprintf("no crash report %q is kept; hostsup crashes lists those that are", id)}
	case errors.Is(err, supervisor.ErrAmbiguous):
		return invalid(err.Error())
	case err != nil:
		return err
	}
	return answer(w, tidyCrash(*report))
}

func boolQuery(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalid(fmt.Sprintf("%s is true or false, not %q", name, text))
	}
	return b, nil
}
