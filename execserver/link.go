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

// link is one connection: it sends requests, matches answers with them, and
// delivers notifications. It ends once, for one reason, which every call that waits
// for an answer then returns.
type link struct {
	t transport
	c *Client // takes what comes, in order and on the goroutine that reads

	out     chan []byte
	asked   chan struct{} // a request was made; room for one
	closing chan struct{} // no more is to be read or written
	done    chan struct{} // closed when it has ended and calls may return that
	wg      sync.WaitGroup
	answers chan struct{} // tokens of those that answer the server

	unwritten atomic.Bool // it is ending because it can't be written to

	mu      sync.Mutex
	nextID  int64
	pending map[int64]*call
	// oversize is the size of the largest request so far: the server may answer
	// each one that it passes over, and this ends them all at the first answer.
	oversize int
	cause    error // why it is ending; nil while it is not
	end      error // what calls return; nil until it has ended
	drained  *time.Timer
	bodies   map[string]*body
	watches  map[uint64]*Watch
}

// call is a request that waits for its answer.
type call struct {
	method string
	done   chan answer // room for one
	// late is called for a result whose caller has left; nil if it does not matter.
	late func()
	// take is called with the result on the goroutine that reads, before anything
	// that comes behind it. It must not block or keep the result. nil: the caller gets
	// the result.
	take func(json.RawMessage) error
	left bool // the caller does not wait any more
	size int  // bytes of the request; 0 until it is known
}

type answer struct {
	result json.RawMessage
	err    error
}

// newLink makes a link; its run is to be called.
func newLink(t transport, c *Client) *link {
	return &link{
		t: t, c: c,
		out:     make(chan []byte, outgoing),
		asked:   make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		answers: make(chan struct{}, askedByPeer),
		pending: map[int64]*call{},
		bodies:  map[string]*body{},
		watches: map[uint64]*Watch{},
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

// run is the goroutine of a link; it returns when nothing of the link is left. What
// was received before the end is delivered before the end is reported.
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
	l.c.linkEnded(l)
}

func (l *link) read() error {
	for {
		msg, err := l.t.read()
		if err != nil {
			return err
		}
		if o, ok := scanOutput(msg); ok {
			l.c.publish(l, o)
		} else if err := l.receive(msg); err != nil {
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
		return l.c.notification(l, m)
	}
	select {
	case l.answers <- struct{}{}:
	default:
		return &ProtocolError{Err: errors.New("too many requests at once")}
	}
	method, id := m.Method, m.ID
	l.wg.Go(func() {
		defer func() { <-l.answers }()
		l.answer(id, method)
	})
	return nil
}

// answered gives an answer to the call that waits for it.
func (l *link) answered(m *wire.Message, msg []byte) error {
	id, ok := m.ID.Int()
	if ok && id == -1 && m.Err != nil {
		if limit, is := m.Err.TooLargeLimit(); is && l.passedOver(limit, m.Err) {
			return nil
		}
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
	case c.take != nil:
		c.done <- answer{err: c.take(m.Result)}
	default:
		c.done <- answer{result: bytes.Clone(m.Result)}
	}
	return nil
}

// passedOver ends the requests of more than limit bytes: the server does not say
// which of them it has not read. It reports whether there are any.
func (l *link) passedOver(limit int, why *wire.Error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	for id, c := range l.pending {
		if c.size <= limit {
			continue
		}
		found = true
		delete(l.pending, id)
		c.done <- answer{err: &RequestError{Method: c.method, Err: why}} // has room: a call is answered once
	}
	return found || l.oversize > limit
}

// answer answers a request of the server.
func (l *link) answer(id wire.ID, method string) {
	result, e := l.c.asked(method)
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

// finish reports the end of the link to all that wait.
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
	close(l.done) // first: a caller that learns of the end and calls again must not get this link
	for _, c := range pending {
		c.done <- answer{err: told} // has room: a call is answered once
	}
	for _, b := range bodies {
		b.fail(told)
	}
	for _, w := range watches {
		w.end(told)
	}
}

// call makes a request and waits for the answer, which is decoded into result
// unless that is nil. late, if any, is called when the request succeeds after
// ctx has ended.
func (l *link) call(ctx context.Context, method string, params, result any, late func()) error {
	c := &call{method: method, done: make(chan answer, 1), late: late}
	return l.make(ctx, c, params, result)
}

// callInOrder is call for a result that has to be seen before what comes behind
// it: take gets it on the goroutine that reads. It may run on when ctx has ended.
func (l *link) callInOrder(ctx context.Context, method string, params any, take func(json.RawMessage) error) error {
	return l.make(ctx, &call{method: method, done: make(chan answer, 1), take: take}, params, nil)
}

// make makes the request c and waits for its answer.
func (l *link) make(ctx context.Context, c *call, params, result any) error {
	if err := l.ask(ctx, c, params); err != nil {
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
func (l *link) ask(ctx context.Context, c *call, params any) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	if l.end != nil {
		l.mu.Unlock()
		return l.end
	}
	l.nextID++
	id := l.nextID
	l.pending[id] = c
	l.mu.Unlock()
	signal(l.asked)

	frame, err := wire.AppendRequest(nil, wire.IntID(id), c.method, params)
	if err == nil {
		l.mu.Lock()
		c.size, l.oversize = len(frame), max(l.oversize, len(frame))
		l.mu.Unlock()
		select {
		case l.out <- frame:
			return nil
		case <-l.closing:
			<-l.done
			return l.end
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	l.mu.Lock()
	delete(l.pending, id)
	l.mu.Unlock()
	return err
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

// stalling is a reader that is behind.
type stalling interface {
	full() bool
	hasRoom() <-chan struct{}
}

// stall waits until s has room, for as long as nothing but s uses the
// connection. Only the reading goroutine calls it.
func (l *link) stall(s stalling) {
	for s.full() && !l.sharedBeside(s) {
		select {
		case <-s.hasRoom():
		case <-l.asked:
		case <-l.closing:
			return
		}
	}
}

// sharedBeside reports whether a call or a reader other than s waits for what comes
// over the connection.
func (l *link) sharedBeside(s stalling) bool {
	l.mu.Lock()
	used := len(l.pending) > 0 || len(l.watches) > 0
	for _, b := range l.bodies {
		used = used || stalling(b) != s
	}
	l.mu.Unlock()
	return used || l.c.processBeside(s)
}
