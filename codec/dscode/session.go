package dscode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// session is the state of one life's connections taken together.
type session struct {
	lim codec.Limits

	mu     sync.Mutex
	number uint64 // frames appended for connection 0
	ours   asked  // our requests without an answer
	next   uint32 // last id given to a request of the host
	open   map[uint32]request
	conns  map[uint32]map[uint32]struct{} // open requests by connection
	oneway uint64                         // last id of a one-way message
}

// request is one of the host's that is not answered yet.
type request struct {
	conn     uint32
	id, kind string
}

// Append encodes m as one frame with its label. A response to a request whose
// connection has ended is left out without an error: dst is returned as it is.
func (s *session) Append(dst []byte, m *codec.Message) ([]byte, error) {
	if len(m.Params) > s.lim.Frame || len(m.Result) > s.lim.Frame {
		return dst, s.tooLarge(max(len(m.Params), len(m.Result)))
	}
	switch m.Kind {
	case codec.Request, codec.Notification:
		return s.ask(dst, m)
	case codec.Response:
		return s.answer(dst, m)
	}
	return dst, unsendable(codec.ErrShape, "%s: the protocol has none", m.Kind)
}

func (s *session) ask(dst []byte, m *codec.Message) ([]byte, error) {
	switch {
	case m.Kind == codec.Request && m.ID == 0:
		return dst, unsendable(codec.ErrShape, "request without an id")
	case m.Method == "":
		return dst, unsendable(codec.ErrShape, "method: empty")
	case len(m.Method) > MaxMethod:
		return dst, unsendable(codec.ErrString, "method: %d bytes, limit %d", len(m.Method), MaxMethod)
	case !utf8.ValidString(m.Method):
		return dst, unsendable(codec.ErrShape, "method: not UTF-8: %.64q", m.Method)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, n := "req_", uint64(m.ID)
	if m.Kind == codec.Notification {
		id, n = "msg_", s.oneway+1
	}
	start := len(dst)
	dst = Label{Frame, 0, s.number + 1}.Append(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(append(dst, `{"id":"`...), id...)
	dst = strconv.AppendUint(dst, n, 10)
	dst = jsonwalk.AppendText(append(dst, `","type":`...), m.Method)
	dst, err := s.finish(dst, start, m.Params)
	if err != nil {
		return dst, err
	}
	s.number++
	if m.Kind == codec.Notification {
		s.oneway = n
	} else {
		s.ours.add(m.ID, s.number)
	}
	return dst, nil
}

func (s *session) answer(dst []byte, m *codec.Message) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, found := s.open[m.ID]
	switch {
	case found:
	case m.ID != 0 && m.ID <= s.next:
		return dst, nil // its connection has ended
	default:
		return dst, unsendable(codec.ErrID, "response to request %d, which the host never made", m.ID)
	}
	suffix, payload := "-response", m.Result
	if m.Err != nil {
		suffix = "-error"
		payload = append(jsonwalk.AppendText([]byte(`{"error":`), m.Err.Error()), '}')
	}
	start := len(dst)
	dst = Label{Frame, to.conn, 0}.Append(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = jsonwalk.AppendText(append(dst, `{"id":`...), to.id)
	dst = jsonwalk.AppendText(append(dst, `,"type":`...), to.kind+suffix)
	dst, err := s.finish(dst, start, payload)
	if err != nil {
		return dst, err // still open: the caller can answer with an error instead
	}
	s.forget(m.ID, to.conn)
	return dst, nil
}

// finish appends the payload and writes the frame's length.
func (s *session) finish(dst []byte, start int, payload codec.Raw) ([]byte, error) {
	dst = append(dst, `,"payload":`...)
	if len(payload) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, payload...)
	}
	dst = append(dst, '}')
	n := len(dst) - start - LabelSize - Header
	if n > s.lim.Frame {
		return dst[:start], s.tooLarge(n)
	}
	binary.BigEndian.PutUint32(dst[start+LabelSize:], uint32(n))
	return dst, nil
}

// enter gives a request of the host its id.
func (s *session) enter(conn uint32, id, kind string) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= MaxOpen {
		return 0, fmt.Errorf("request %.64q of the host: %d requests of its own are open already, limit %d", kind, len(s.open), MaxOpen)
	}
	if s.next++; s.next == 0 {
		return 0, errors.New("the host has made 4294967295 requests")
	}
	s.open[s.next] = request{conn, id, kind}
	of := s.conns[conn]
	if of == nil {
		of = make(map[uint32]struct{})
		s.conns[conn] = of
	}
	of[s.next] = struct{}{}
	return s.next, nil
}

// forget takes a request of the host out. Under the lock.
func (s *session) forget(id, conn uint32) {
	delete(s.open, id)
	of := s.conns[conn]
	delete(of, id)
	if len(of) == 0 {
		delete(s.conns, conn)
	}
}

// answered takes a request of ours out.
func (s *session) answered(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours.answered(id)
}

// lost takes out our requests whose frames had been written up to number.
func (s *session) lost(number uint64) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ours.upTo(number)
}

// gone takes out the requests of a connection of the host that has ended.
func (s *session) gone(conn uint32) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []uint32
	for id := range s.conns[conn] {
		ids = append(ids, id)
		delete(s.open, id)
	}
	delete(s.conns, conn)
	slices.Sort(ids)
	return ids
}

func (s *session) NewReader(r io.Reader) codec.Reader { return newReader(s, r) }

// Ping returns "": the protocol has no request that every host answers, and an
// unknown one need not be answered at all.
func (s *session) Ping() string { return "" }

// Features returns nothing.
func (s *session) Features() codec.SessionFeatures { return codec.SessionFeatures{} }

// Goodbye asks for nothing: the sockets are closed, and a signal follows.
func (s *session) Goodbye() (ask *codec.Message, last []codec.Message) { return nil, nil }

// Handshake is done at once: the protocol has none.
func (s *session) Handshake(codec.Hello) codec.Handshake { return handshake{} }

type handshake struct{}

func (handshake) Start() ([]codec.Message, bool) { return nil, true }

func (handshake) Handle(*codec.Message) ([]codec.Message, bool, error) {
	return nil, true, codec.ErrUnrelated
}

func (handshake) Peer() codec.Peer { return codec.Peer{Caps: codec.CapAbandon} }

func (s *session) tooLarge(n int) error {
	return unsendable(codec.ErrTooLarge, "%d bytes, limit %d", n, s.lim.Frame)
}

// unsendable is what this side was asked to say and does not.
func unsendable(err error, format string, args ...any) error {
	return &codec.FrameError{Err: err, Offset: -1, Detail: fmt.Sprintf(format, args...)}
}
