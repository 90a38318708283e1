package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	// streamAfter is how long an answer may take before a stream of events is begun for it.
	streamAfter = time.Second
	// keepAlive is how often a stream of events has a comment.
	keepAlive = 15 * time.Second
	// batchVersion is the last revision in which a body may be a list of messages.
	batchVersion = "2025-03-26"
	// primed is the first revision whose clients take an event without data.
	primed = "2025-11-25"
	// sessionless is the first revision without sessions.
	sessionless = "2026-07-28"
)

// body reads what a request of HTTP carries.
func (s *Server) body(w http.ResponseWriter, r *http.Request, host string) (list []message, line []byte, err error) {
	if name, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || name != typeJSON {
		return nil, nil, wrong(http.StatusUnsupportedMediaType, codeInvalidRequest, "Content-Type is %q, %s expected", cut(r.Header.Get("Content-Type")), typeJSON)
	}
	at, err := s.opt.Find(host)
	if err != nil {
		return nil, nil, wrong(http.StatusServiceUnavailable, codeInternal, "%v", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opt.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, nil, wrong(http.StatusRequestEntityTooLarge, codeInvalidRequest, "the body is over the limit of %d bytes", large.Limit)
	case err != nil:
		return nil, nil, wrong(http.StatusBadRequest, codeParse, "the body cannot be read: %v", err)
	}
	return read(body, at.Protocol, at.Limits)
}

// post takes messages of a caller, and answers those that are requests.
func (s *Server) post(w http.ResponseWriter, r *http.Request, host string) error {
	asJSON, asEvents := accepts(r)
	if !asJSON && !asEvents {
		return wrong(http.StatusNotAcceptable, codeInvalidRequest, "Accept has neither %s nor %s, one of which the answer is", typeJSON, typeEvents)
	}
	list, line, err := s.body(w, r, host)
	if err != nil {
		return err
	}
	first := list[0]
	version := r.Header.Get(headerVersion)
	if line[0] == '[' && version > batchVersion {
		return wrong(http.StatusBadRequest, codeInvalidRequest, "a list of messages is not allowed in revision %s: send each in a request of its own", cut(version))
	}
	inSession := r.Header.Get(headerSession) != ""
	var o *session
	switch begins := slices.ContainsFunc(list, func(m message) bool { return m.kind == codec.Request && m.method == methodInitialize }); {
	case begins && (inSession || len(list) > 1):
		return wrong(http.StatusBadRequest, codeInvalidRequest, "%s begins a session: it comes alone, and without %s", methodInitialize, headerSession)
	case begins:
		if o, err = s.begin(host, s.opt.Caller(r), false); err != nil {
			return err
		}
		defer o.unuse(s.opt.Idle)
	case !inSession && (version >= sessionless || revisionOf(first) >= sessionless):
		return s.alone(w, r, host, list, line, asJSON, asEvents)
	default:
		var release func()
		if o, release, err = s.session(r, host); err != nil {
			return err
		}
		defer release()
	}
	x := &exchange{Server: s, w: w, r: r, o: o, asJSON: asJSON, asEvents: asEvents, initialize: first.method == methodInitialize}
	return x.run(list, line)
}

// exchange is one request of HTTP and the response to it.
type exchange struct {
	*Server
	w                http.ResponseWriter
	r                *http.Request
	o                *session
	asJSON, asEvents bool
	initialize       bool // the request begins the session
	brief            bool // of a revision without sessions: events have no ids
}

// run hands messages to the host, and answers them.
func (x *exchange) run(list []message, line []byte) error {
	o := x.o
	o.mu.Lock()
	st, err := o.streams.begin(list, !x.asEvents)
	var taken chan struct{}
	if st != nil {
		taken = st.join()
	}
	o.mu.Unlock()
	switch {
	case errors.Is(err, errOpen):
		return wrong(http.StatusBadRequest, codeInvalidRequest, "%v", err)
	case err != nil:
		return wrong(http.StatusServiceUnavailable, codeInternal, "%v", err)
	}
	if st != nil {
		defer x.leave(st, taken)
	}
	if err := o.feed(x.r.Context(), line); err != nil {
		if st != nil {
			o.mu.Lock()
			o.streams.drop(st)
			o.mu.Unlock()
		}
		if x.initialize {
			o.end(err)
		}
		return wrong(http.StatusServiceUnavailable, codeInternal, "the request was not made: %v", err)
	}
	for _, m := range list {
		if m.kind == codec.Notification && m.method == methodCancelled {
			o.mu.Lock()
			o.streams.withdraw(m.id)
			o.mu.Unlock()
		}
	}
	if st == nil {
		x.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if !x.whole(st) {
		x.events(st, taken, 0)
	}
	return nil
}

// leave ends the reading of a stream.
func (x *exchange) leave(st *stream, taken chan struct{}) {
	o := x.o
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams.leave(st, taken)
	o.makeRoom()
	o.changed.Broadcast()
}

// whole waits for the answer and responds with it, unless a stream of events has to be begun
// first: then it returns false.
func (x *exchange) whole(st *stream) (done bool) {
	o := x.o
	var slow <-chan time.Time
	if x.asEvents {
		t := time.NewTimer(streamAfter)
		defer t.Stop()
		slow = t.C
		if !x.asJSON {
			return false
		}
	}
	gone := x.r.Context().Done()
	for last := false; ; {
		o.mu.Lock()
		events, over := st.events, st.over
		o.mu.Unlock()
		switch {
		case over:
			return x.answer(st, events)
		case len(events) > 0 && x.asEvents && events[0].kind != codec.Response:
			return false
		case last:
			if x.initialize {
				o.end(fmt.Errorf("its client has left before it had begun: %w", context.Cause(x.r.Context())))
			}
			return true // the caller has left
		}
		select {
		case <-st.wake:
		case <-slow:
			return false
		case <-gone:
			// The server may be the one that goes: then there is an answer.
			gone, last = nil, true
		}
	}
}

// answer responds with the answers to requests. It returns false if there is more than these.
func (x *exchange) answer(st *stream, events []event) (done bool) {
	if slices.ContainsFunc(events, func(e event) bool { return e.kind != codec.Response }) {
		return false
	}
	var text []byte
	switch len(events) {
	case 0: // the caller has taken its requests back
		x.w.WriteHeader(http.StatusAccepted)
		return true
	case 1:
		text = events[0].text
	default:
		for i, e := range events {
			text = append(append(text, "[,"[min(i, 1)]), e.text...)
		}
		text = append(text, ']')
	}
	status := http.StatusOK
	if x.brief {
		status = briefStatus(events[0].text)
	}
	x.begun(events)
	x.w.Header().Set("Content-Type", typeJSON)
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text) // the caller may be gone
	x.o.mu.Lock()
	defer x.o.mu.Unlock()
	st.wrote(st.end())
	return true
}

// begun notes what the answer to initialize says, and names the session to its caller.
func (x *exchange) begun(events []event) {
	if !x.initialize {
		return
	}
	for _, e := range events {
		if e.kind != codec.Response {
			continue
		}
		result := jsonwalk.Member(e.text, "result")
		if result == nil {
			x.o.end(errors.New("initialize has failed"))
			return
		}
		x.o.mu.Lock()
		x.o.version = jsonwalk.Text(jsonwalk.Member(result, "protocolVersion"))
		x.o.mu.Unlock()
	}
	x.w.Header().Set(headerSession, x.o.id)
}
