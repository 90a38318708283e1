package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// maxInput is how many bytes of requests wait for the host at once; one message alone may
// have more.
const maxInput = 1 << 20

// errDeleted means that a caller has ended its session.
var errDeleted = errors.New("the session was ended by its client")

// session is a program that has attached to a host, whose two streams of bytes it is. The
// other end of them are requests of HTTP.
type session struct {
	id     string // "" for one request only
	host   string
	caller string
	ended  func(*session, error)
	ctx    context.Context // of what attaches
	cancel context.CancelFunc

	mu      sync.Mutex
	changed *sync.Cond // of what follows
	streams streams
	in      []byte // what the host has yet to read
	part    []byte // of a message of the host's whose end has yet to come
	closed  bool   // nothing is read or written any more
	reason  error  // why it has ended; nil: it has not
	users   int    // requests of HTTP that are being served
	used    time.Time
	version string // of the protocol; "" before the answer to initialize
	idle    *time.Timer
}

func newSession(id, host, caller string, ended func(*session, error)) *session {
	s := &session{id: id, host: host, caller: caller, ended: ended, streams: newStreams()}
	s.changed = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Read returns what the caller has sent.
func (s *session) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) == 0 && !s.closed {
		s.changed.Wait()
	}
	if s.closed {
		return 0, io.EOF
	}
	n := copy(p, s.in)
	if s.in = s.in[n:]; len(s.in) == 0 {
		s.in = nil
	}
	s.changed.Broadcast()
	return n, nil
}

// feed hands whole messages to the host, and waits while it does not read. It returns an
// error if the session ends or ctx does; then none of line was handed on.
func (s *session) feed(ctx context.Context, line []byte) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) > 0 && len(s.in)+len(line) > maxInput && !s.closed && s.reason == nil && ctx.Err() == nil {
		s.changed.Wait()
	}
	switch {
	case s.reason != nil:
		return s.reason
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed:
		return io.ErrClosedPipe
	}
	s.in = append(s.in, line...)
	s.changed.Broadcast()
	return nil
}

// Write takes what the server says, and waits while the reader that it is for has too much
// to read.
func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := p; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		s.part = append(s.part, line...)
		if !whole {
			return len(p), nil
		}
		if s.closed {
			return 0, io.ErrClosedPipe
		}
		text := s.part
		s.part, rest = nil, after
		if len(text) == 0 {
			continue
		}
		st := s.streams.put(messageOf(text))
		s.makeRoom()
		for st != nil && st.reader != nil && st.unread > maxUnread && !s.closed {
			s.changed.Wait()
		}
	}
}

// makeRoom drops what is over the bounds. The host is told of its requests that were dropped.
// Under the lock.
func (s *session) makeRoom() {
	refused, _ := s.streams.room()
	for _, id := range refused {
		s.in = append(append(s.in, failure(id, codeInternal, "the client does not read what the server asks")...), '\n')
		s.changed.Broadcast()
	}
}

// Close implements [io.Closer] for the hub, which says why by an error afterwards.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	return nil
}

// close ends Read and Write. Under the lock.
func (s *session) close() {
	s.closed = true
	s.changed.Broadcast()
}

// end ends the session: its requests that are open are answered with the reason.
func (s *session) end(reason error) {
	if s.finish(reason) {
		s.cancel()
		s.ended(s, reason)
	}
}

// finish is what end does under the lock. It returns false if the session has ended before.
func (s *session) finish(reason error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		return false
	}
	s.reason = reason
	s.close()
	for id := range s.streams.open {
		s.streams.put(message{kind: codec.Response, id: id, text: failure(id, codeInternal, reason.Error())})
	}
	for _, st := range s.streams.all {
		st.over = true
		st.nudge()
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	return true
}

// use counts a request of HTTP. It returns false if the session has ended.
func (s *session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != nil {
		return false
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
	}
	return true
}

// unuse ends use. A session that nobody uses for a time ends.
func (s *session) unuse(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.users > 0 || s.reason != nil || s.id == "" {
		return
	}
	used := s.used
	s.idle = time.AfterFunc(after, func() {
		s.mu.Lock()
		busy := s.users > 0 || s.used != used
		s.mu.Unlock()
		if !busy {
			s.end(errIdle)
		}
	})
}

// errIdle means that a session was idle for longer than Options.Idle.
var errIdle = errors.New("the session was not used for too long")
