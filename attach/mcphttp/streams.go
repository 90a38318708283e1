package mcphttp

import (
	"errors"
	"slices"

	"github.com/hostsup/hostsup/codec"
)

// Bounds of a session.
const (
	maxKept   = 4 << 20 // bytes of events
	maxEnded  = 64      // streams that have ended
	maxOpen   = 1024    // requests of its caller that are not answered
	maxUnread = 1 << 20 // bytes that wait for the reader of a stream
)

var (
	errOpen  = errors.New("an earlier request of this id is not answered")
	errMany  = errors.New("too many requests of this session are not answered")
	errNever = errors.New("this session has no such event")
	errGone  = errors.New("what followed this event is not kept any more")
)

// standing is the number of the stream that GET opens.
const standing = 0

// event is a message for the caller. Its place in its stream, from 1, is in its id.
type event struct {
	message
}

// stream is what a caller reads as the response to one request of HTTP, or to several if it
// is cut off.
type stream struct {
	number uint64
	plain  bool              // only responses can be sent
	calls  map[string]string // requests that are not answered: their tokens by their ids
	over   bool              // nothing more comes
	named  bool              // its reader knows ids of it

	events []event // that are kept
	past   uint64  // how many came before events[0]
	sent   uint64  // how many were sent
	unread int     // bytes that were not sent

	reader chan struct{} // closed when another reader replaces this one; nil without a reader
	wake   chan struct{} // capacity 1: something has changed
}

func (st *stream) nudge() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// end is how many events there have been.
func (st *stream) end() uint64 { return st.past + uint64(len(st.events)) }

// from returns the events behind the first n.
func (st *stream) from(n uint64) []event {
	if n <= st.past {
		return st.events
	}
	return st.events[n-st.past:]
}

// streams are those of a session. They decide what goes where, and what is kept. Their
// methods must be called under the lock of the session.
type streams struct {
	all  []*stream // in the order of their numbers; the first is the standing one
	next uint64
	open map[string]*stream // by the ids of requests
	kept int                // bytes of events
}

func newStreams() streams {
	return streams{all: []*stream{{number: standing, wake: make(chan struct{}, 1)}}, next: 1, open: map[string]*stream{}}
}

// standing is the stream of GET.
func (s *streams) standing() *stream { return s.all[0] }

// begin makes the stream of the requests in list. It returns nil for a list without requests.
func (s *streams) begin(list []message, plain bool) (*stream, error) {
	st := &stream{number: s.next, plain: plain, calls: map[string]string{}, wake: make(chan struct{}, 1)}
	for _, m := range list {
		if m.kind != codec.Request {
			continue
		}
		if _, twice := st.calls[m.id]; twice || s.open[m.id] != nil {
			return nil, errOpen
		}
		st.calls[m.id] = m.token
	}
	switch {
	case len(st.calls) == 0:
		return nil, nil
	case len(s.open)+len(st.calls) > maxOpen:
		return nil, errMany
	}
	s.next++
	for id := range st.calls {
		s.open[id] = st
	}
	s.all = append(s.all, st)
	return st, nil
}

// put takes what the server says to the stream that it is for. It returns nil for a response
// that nobody waits for.
func (s *streams) put(m message) *stream {
	st := s.home(m)
	if st == nil {
		return nil
	}
	if m.kind == codec.Response {
		delete(st.calls, m.id)
		delete(s.open, m.id)
		st.over = len(st.calls) == 0
	}
	st.events = append(st.events, event{m})
	st.unread += len(m.text)
	s.kept += len(m.text)
	st.nudge()
	return st
}

// home returns the stream that a message is for.
func (s *streams) home(m message) *stream {
	if m.kind == codec.Response {
		return s.open[m.id]
	}
	var calling []*stream
	for _, st := range s.all[1:] {
		if st.over || st.plain {
			continue
		}
		calling = append(calling, st)
		if m.token == "" {
			continue
		}
		for _, token := range st.calls {
			if token == m.token {
				return st
			}
		}
	}
	switch own := s.standing(); {
	case len(calling) == 1 && (m.kind == codec.Request || own.reader == nil):
		return calling[0]
	case own.reader != nil || len(calling) == 0:
		return own
	}
	return calling[len(calling)-1]
}

// withdraw ends requests that were never made, or that their caller has taken back: nothing
// more is said of them.
func (s *streams) withdraw(id string) {
	st := s.open[id]
	if st == nil {
		return
	}
	delete(s.open, id)
	delete(st.calls, id)
	st.over = len(st.calls) == 0
	st.nudge()
}

// join makes a caller the reader of a stream. A present reader is told to leave, because its
// connection may be dead.
func (st *stream) join() (taken chan struct{}) {
	if st.reader != nil {
		close(st.reader)
	}
	st.reader = make(chan struct{})
	return st.reader
}

// wrote notes that the first n events of a stream were sent.
func (st *stream) wrote(n uint64) {
	for _, e := range st.from(st.sent)[:max(n, st.sent)-max(st.sent, st.past)] {
		st.unread -= len(e.text)
	}
	st.sent = max(st.sent, n)
}

// leave ends the reading of a stream by the reader that joined it as taken.
func (s *streams) leave(st *stream, taken chan struct{}) {
	if st.reader != taken {
		return
	}
	st.reader = nil
	// What was not named to the reader cannot be asked for again.
	if st.number != standing && !st.named {
		s.drop(st)
	}
}

// drop forgets a stream that has ended or that nobody can read. The answers to its requests
// are not waited for.
func (s *streams) drop(st *stream) {
	if !slices.Contains(s.all, st) {
		return
	}
	for id := range st.calls {
		delete(s.open, id)
	}
	for _, e := range st.events {
		s.kept -= len(e.text)
	}
	s.all = slices.DeleteFunc(s.all, func(o *stream) bool { return o == st })
}

// after returns the stream of an event, behind which n events were seen.
func (s *streams) after(number, n uint64) (*stream, error) {
	i := slices.IndexFunc(s.all, func(st *stream) bool { return st.number == number })
	switch {
	case i < 0 && number < s.next:
		return nil, errGone
	case i < 0 || n > s.all[i].end():
		return nil, errNever
	case number != standing && n < s.all[i].past:
		return nil, errGone
	}
	return s.all[i], nil
}

// room makes room where more is kept than may be. It returns the ids of requests of the server
// that were dropped, and how many notifications were.
func (s *streams) room() (refused []string, lost int) {
	ended := 0
	for _, st := range s.all {
		if st.over && st.reader == nil && st.sent == st.end() {
			ended++
		}
	}
	for i := 1; i < len(s.all) && ended > maxEnded; {
		if st := s.all[i]; st.over && st.reader == nil && st.sent == st.end() {
			s.drop(st)
			ended--
			continue
		}
		i++
	}
	for _, st := range s.all {
		for s.kept > maxKept && st.past < st.sent && len(st.events) > 0 {
			s.shift(st)
		}
	}
	for _, st := range s.all {
		if st.reader != nil {
			continue
		}
		for i := 0; s.kept > maxKept && i < len(st.events); {
			switch e := &st.events[i]; {
			case e.kind == codec.Response: // it is not lost, but becomes an error
				short := failure(e.id, codeInternal, "the answer was not fetched, and is too large to be kept")
				if len(short) < len(e.text) {
					s.kept += len(short) - len(e.text)
					st.unread += len(short) - len(e.text)
					e.text = short
				}
				i++
				continue
			case e.kind == codec.Request && i == 0:
				refused = append(refused, e.id)
			case i == 0:
				lost++
			}
			if i > 0 {
				break // the places in a stream have no gaps
			}
			st.unread -= len(st.events[0].text)
			s.shift(st)
			st.sent = max(st.sent, st.past)
		}
	}
	return refused, lost
}

// shift drops the first event of a stream.
func (s *streams) shift(st *stream) {
	s.kept -= len(st.events[0].text)
	st.events[0] = event{}
	st.events = st.events[1:]
	st.past++
}
