package execserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

const (
	outgoing     = 128         // messages that wait to be written
	askedByPeer  = 64          // requests of the server that are being answered
	drainPending = time.Second // how long a connection that can't be written to is still read
)

// handler gets what comes over a link, in order and on one goroutine.
type handler interface {
	// output gets the hot notification, whose memory it may keep.
	output(l *link, o output) error
	// notification gets every other one, whose memory it may not keep. An error
	// ends the link.
	notification(l *link, m *wire.Message) error
	// request is a request of the server; the answer is a result or an error.
	// It is called on a goroutine of its own and is not to wait.
	request(method string, params []byte) (any, *wire.Error)
	// ended is called once, last.
	ended(l *link)
}

// link is one connection: requests go out and are matched with their answers,
// notifications are handed on. It ends once, for one reason; everything that
// waits for an answer then gets that reason.
type link struct {
	t transport
	h handler

	out     chan []byte
	asked   chan struct{} // a request was made; room for one
	closing chan struct{} // no more is to be read or written
	done    chan struct{} // ended, and everybody was told
	wg      sync.WaitGroup
	answers chan struct{} // tokens of those that answer the server

	unwritten atomic.Bool // it is ending because it can't be written to

	mu      sync.Mutex
	nextID  int64
	pending map[int64]*call
	cause   error // why it is ending; nil while it is not
	end     error // what everybody is told; nil until it has ended
	drained *time.Timer
	bodies  map[string]*Body
	watches map[uint64]*Watch
}

// call is a request that waits for its answer.
type call struct {
	method string
	done   chan answer // room for one
	// late gets a result that nobody waits for any more; nil for one that is
	// of no consequence.
	late func()
	left bool // nobody waits any more
}

type answer struct {
	result json.RawMessage
	err    error
}

// newLink makes a link; its run is to be called.
func newLink(t transport, h handler) *link {
	return &link{
		t: t, h: h,
		out:     make(chan []byte, outgoing),
		asked:   make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		answers: make(chan struct{}, askedByPeer),
		pending: map[int64]*call{},
	}
}

// fail ends the link. The first reason stays.
func (l *link) fail(cause error) {
	l.latch(cause)
	l.t.hangUp()
}

func (l *link) latch(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closing:
		return false
	default:
	}
	l.cause = cause
	close(l.closing)
	return true
}

// run is the goroutine of a link; it returns when nothing of it is left. What
// was received before the end is handed on before anybody is told of it.
func (l *link) run() {
	l.wg.Go(l.write)
	err := l.read()
	if l.latch(err) || l.unwritten.Load() {
		if said := l.t.cause(err); said != "" {
			l.mu.Lock()
			l.cause = errors.New(said)
			l.mu.Unlock()
		}
	}
	l.t.hangUp()
	l.wg.Wait()
	l.finish()
	l.t.close()
	l.h.ended(l)
}

func (l *link) read() error {
	for {
		msg, err := l.t.read()
		if err != nil {
			return err
		}
		if o, ok := scanOutput(msg); ok {
			err = l.h.output(l, o)
		} else {
			err = l.receive(msg)
		}
		if err != nil {
			return err
		}
	}
}

func (l *link) receive(msg []byte) error {
	m, err := wire.Decode(msg)
	if err != nil {
		return malformed(msg, "%w", err)
	}
	switch m.Kind {
	case wire.KindResult, wire.KindError:
		return l.answered(m, msg)
	case wire.KindNotification:
		return l.h.notification(l, m)
	}
	select {
	case l.answers <- struct{}{}:
	default:
		return &ProtocolError{Err: errors.New("too many requests at once")}
	}
	method, params, id := m.Method, bytes.Clone(m.Params), m.ID
	l.wg.Go(func() {
		defer func() { <-l.answers }()
		l.answer(id, method, params)
	})
	return nil
}

// answered gives an answer to whoever waits for it.
func (l *link) answered(m *wire.Message, msg []byte) error {
	id, ok := m.ID.Int()
	if ok && id == -1 && m.Err != nil {
		return &ProtocolError{Err: m.Err} // it has not understood what we sent
	}
	l.mu.Lock()
	c := l.pending[id]
	delete(l.pending, id)
	never := !ok || id < 1 || id > l.nextID
	left := c != nil && c.left
	l.mu.Unlock()
	switch {
	case never:
		return malformed(msg, "answer to a request that was never made")
	case c == nil: // answered before
	case left:
		if m.Err == nil && c.late != nil {
			c.late()
		}
	case m.Err != nil:
		c.done <- answer{err: &RequestError{Method: c.method, Err: m.Err}}
	default:
		c.done <- answer{result: bytes.Clone(m.Result)}
	}
	return nil
}

// answer answers a request of the server.
func (l *link) answer(id wire.ID, method string, params []byte) {
	result, e := l.h.request(method, params)
	var frame []byte
	if e == nil {
		var err error
		if frame, err = wire.AppendResult(nil, id, result); err != nil {
			e = wire.Internal("%v", err)
		}
	}
	if e != nil {
		frame = wire.AppendError(nil, id, e)
	}
	select {
	case l.out <- frame:
	case <-l.closing:
	}
}

// write is the goroutine that writes.
func (l *link) write() {
	for {
		select {
		case frame := <-l.out:
			if err := l.t.write(frame, len(l.out) > 0); err != nil {
				// What the server has sent before it went away is still read.
				if l.latch(err) {
					l.unwritten.Store(true)
					l.mu.Lock()
					l.drained = time.AfterFunc(drainPending, l.t.hangUp)
					l.mu.Unlock()
				}
				return
			}
		case <-l.closing:
			return
		}
	}
}

// finish tells everybody that the link has ended.
func (l *link) finish() {
	l.mu.Lock()
	if l.drained != nil {
		l.drained.Stop()
	}
	end := &DisconnectedError{Reason: plain(l.cause)}
	if end.Reason != "" {
		end.Err = l.cause
	}
	l.end = end
	if errors.Is(l.cause, ErrClosed) {
		l.end = ErrClosed
	}
	pending, bodies, watches := l.pending, l.bodies, l.watches
	l.pending, l.bodies, l.watches = nil, nil, nil
	told := l.end
	l.mu.Unlock()
	for _, c := range pending {
		c.done <- answer{err: told} // has room: a call is answered once
	}
	for _, b := range bodies {
		b.fail(told)
	}
	for _, w := range watches {
		w.fail(told)
	}
	close(l.done)
}

// call makes a request and waits for the answer, which is decoded into result
// unless that is nil. late, if any, is called when the request succeeds after
// ctx has ended.
func (l *link) call(ctx context.Context, method string, params, result any, late func()) error {
	c, err := l.ask(ctx, method, params, late)
	if err != nil {
		return err
	}
	select {
	case a := <-c.done:
		return a.into(result)
	case <-ctx.Done():
	}
	l.mu.Lock()
	c.left = true
	l.mu.Unlock()
	select {
	case a := <-c.done: // it has come in the meantime
		return a.into(result)
	default:
		return context.Cause(ctx)
	}
}

func (a answer) into(result any) error {
	if a.err != nil || result == nil {
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return malformed(a.result, "%w", err)
	}
	return nil
}

// ask sends a request.
func (l *link) ask(ctx context.Context, method string, params any, late func()) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c := &call{method: method, done: make(chan answer, 1), late: late}
	l.mu.Lock()
	if l.end != nil {
		l.mu.Unlock()
		return nil, l.end
	}
	l.nextID++
	id := l.nextID
	l.pending[id] = c
	l.mu.Unlock()
	signal(l.asked)

	frame, err := wire.AppendRequest(nil, wire.IntID(id), method, params)
	if err == nil {
		select {
		case l.out <- frame:
			return c, nil
		case <-l.closing:
			<-l.done
			return nil, l.end
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	l.mu.Lock()
	delete(l.pending, id)
	l.mu.Unlock()
	return nil, err
}

// notify sends a notification.
func (l *link) notify(ctx context.Context, method string) error {
	select {
	case l.out <- []byte(`{"method":"` + method + `","params":{}}`):
		return nil
	case <-l.closing:
		<-l.done
		return l.end
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waiting says whether a request waits for its answer.
func (l *link) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending) > 0
}

// stalling is a reader that is too slow.
type stalling interface {
	full(waiting bool) bool
	hasRoom() <-chan struct{}
}

// stall waits until s has room. Only the reading goroutine calls it.
func (l *link) stall(s stalling) {
	for s.full(l.waiting()) {
		select {
		case <-s.hasRoom():
		case <-l.asked:
		case <-l.closing:
			return
		}
	}
}
