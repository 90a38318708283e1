package mcphttp

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// accepts reports which of the types of a response a caller takes. One that does not say takes
// both.
func accepts(r *http.Request) (asJSON, asEvents bool) {
	list := strings.Join(r.Header.Values("Accept"), ",")
	if list == "" {
		return true, true
	}
	for part := range strings.SplitSeq(list, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil || strings.Trim(params["q"], "0.") == "" && params["q"] != "" {
			continue
		}
		asJSON = asJSON || name == typeJSON || name == "application/*" || name == "*/*"
		asEvents = asEvents || name == typeEvents || name == "text/*" || name == "*/*"
	}
	return asJSON, asEvents
}

// events responds with a stream of events, those behind the first n, until the stream is over
// or somebody is gone.
func (x *exchange) events(st *stream, taken chan struct{}, n uint64) {
	o := x.o
	x.begun(nil)
	h := x.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("X-Accel-Buffering", "no")
	x.opt.Stream(x.w)
	x.w.WriteHeader(http.StatusOK)
	o.mu.Lock()
	prime := st.number != standing && !x.brief && o.version >= primed
	st.named = st.named || prime
	o.mu.Unlock()
	first := ""
	if prime {
		first = fmt.Sprintf("id: %d-%d\ndata:\n\n", st.number, n)
	}
	if x.write(first) != nil {
		return
	}
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	gone := x.r.Context().Done()
	for last := false; ; {
		o.mu.Lock()
		if st.reader != taken {
			st.nudge() // it may have been for the other one
			o.mu.Unlock()
			return
		}
		n = max(n, st.past)
		events, over := st.from(n), st.over
		st.named = st.named || len(events) > 0 && !x.brief
		o.mu.Unlock()
		for _, e := range events {
			n++
			if !x.event(st, e, n) {
				return
			}
		}
		switch {
		case len(events) > 0:
			continue
		case over || last:
			return
		}
		select {
		case <-st.wake:
		case <-taken:
		case <-idle.C:
			if x.write(":\n\n") != nil {
				return
			}
		case <-gone:
			// The server may be the one that goes: then there is an answer.
			gone, last = nil, true
		}
	}
}

// event sends an event, which is the nth of its stream. It returns false if the reader is gone.
func (x *exchange) event(st *stream, e event, n uint64) bool {
	id := ""
	if !x.brief {
		id = fmt.Sprintf("id: %d-%d\n", st.number, n)
	}
	if x.write(id+"event: message\ndata: "+string(e.text)+"\n\n") != nil {
		return false
	}
	if e.kind == codec.Response {
		x.begun([]event{e})
	}
	x.o.mu.Lock()
	defer x.o.mu.Unlock()
	st.wrote(n)
	x.o.changed.Broadcast()
	return true
}

// write sends a part of a stream at once.
func (x *exchange) write(text string) error {
	if _, err := io.WriteString(x.w, text); err != nil {
		return err
	}
	return http.NewResponseController(x.w).Flush()
}

// get responds with the messages of the server that belong to no request, or with the rest of
// a stream that was cut off.
func (s *Server) get(w http.ResponseWriter, r *http.Request, host string) error {
	if _, asEvents := accepts(r); !asEvents {
		return wrong(http.StatusNotAcceptable, codeInvalidRequest, "Accept has no %s, which the answer is", typeEvents)
	}
	if r.Header.Get(headerSession) == "" && r.Header.Get(headerVersion) >= sessionless {
		w.Header().Set("Allow", "POST")
		return wrong(http.StatusMethodNotAllowed, codeInvalidRequest, "revision %s has no stream of GET: news are asked for with subscriptions/listen", sessionless)
	}
	o, release, err := s.session(r, host)
	if err != nil {
		return err
	}
	defer release()
	o.mu.Lock()
	st, n := o.streams.standing(), o.streams.standing().sent
	if last := r.Header.Get(headerLast); last != "" {
		st, n, err = o.streams.at(last)
	}
	if err != nil {
		o.mu.Unlock()
		return wrong(http.StatusBadRequest, codeInvalidRequest, "%s %q: %v", headerLast, cut(r.Header.Get(headerLast)), err)
	}
	if st.over && n == st.end() {
		o.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	taken := st.join()
	o.mu.Unlock()
	x := &exchange{Server: s, w: w, r: r, o: o}
	defer x.leave(st, taken)
	x.events(st, taken, n)
	return nil
}

// at returns the stream of an event by its id, and how many events were seen of it.
func (s *streams) at(id string) (*stream, uint64, error) {
	a, b, _ := strings.Cut(id, "-")
	number, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return nil, 0, errNever
	}
	n, err := strconv.ParseUint(b, 10, 64)
	if err != nil {
		return nil, 0, errNever
	}
	st, err := s.after(number, n)
	return st, n, err
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, host string) error {
	o, release, err := s.session(r, host)
	if err != nil {
		return err
	}
	defer release()
	o.end(errDeleted)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
