package execserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// HTTP has the server make an HTTP request and returns the whole answer. A
// status of 400 and more is no error. An empty RequestID is given a fresh one.
func (c *Client) HTTP(ctx context.Context, p wire.HTTPRequestParams) (wire.HTTPResponse, error) {
	p.StreamResponse = false
	if p.RequestID == "" {
		p.RequestID = newID()
	}
	var r wire.HTTPResponse
	l, err := c.ready(ctx)
	if err == nil {
		err = l.call(ctx, wire.MethodHTTPRequest, p, &r, nil)
		if ctx.Err() != nil {
			c.cancelHTTP(l, p.RequestID)
		}
	}
	return r, err
}

// HTTPStream is HTTP with a body that comes while it is read; it has to be
// closed, and ends with ctx. A body that nobody reads stalls the connection once more than 1 MiB
// of it waits, as a subscription with Stall does.
func (c *Client) HTTPStream(ctx context.Context, p wire.HTTPRequestParams) (wire.HTTPResponse, *Body, error) {
	p.StreamResponse = true
	if p.RequestID == "" {
		p.RequestID = newID()
	}
	var r wire.HTTPResponse
	l, err := c.ready(ctx)
	if err != nil {
		return r, nil, err
	}
	b := &Body{c: c, l: l, id: p.RequestID, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	if err := l.addBody(b); err != nil {
		return r, nil, err
	}
	if err := l.call(ctx, wire.MethodHTTPRequest, p, &r, func() { c.cancelHTTP(l, b.id) }); err != nil {
		b.forget()
		if ctx.Err() != nil {
			c.cancelHTTP(l, b.id)
		}
		return r, nil, err
	}
	stop := context.AfterFunc(ctx, func() { b.abort(context.Cause(ctx)) })
	b.mu.Lock()
	b.stop = stop
	b.mu.Unlock()
	return r, b, nil
}

// cancelHTTP tells the server that nobody wants an answer any more, if it
// understands that. It never blocks.
func (c *Client) cancelHTTP(l *link, id string) {
	if !c.Has(wire.ExtHTTPCancel) {
		return
	}
	c.work(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.opt.InitializeTimeout)
		defer cancel()
		_ = l.call(ctx, wire.MethodHTTPCancel, wire.HTTPCancelParams{RequestID: id}, nil, nil) // it may have ended
	})
}

// Body is the body of a streamed answer. Read is for one goroutine at a time;
// Close may be called by any.
type Body struct {
	c    *Client
	l    *link
	id   string
	wake chan struct{}
	room chan struct{}

	mu     sync.Mutex
	queue  [][]byte
	bytes  int
	seq    uint64 // of the last delta
	err    error  // what comes after the queue; io.EOF for its end
	closed bool
	stop   func() bool // the watch on the caller's context
}

// Read implements io.Reader. When the connection ends it returns
// ErrDisconnected, after what had come.
func (b *Body) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	for {
		b.mu.Lock()
		switch {
		case b.closed:
			b.mu.Unlock()
			return 0, ErrClosed
		case len(b.queue) > 0:
			n := copy(into, b.queue[0])
			if b.queue[0] = b.queue[0][n:]; len(b.queue[0]) == 0 {
				b.queue[0], b.queue = nil, b.queue[1:]
			}
			b.bytes -= n
			b.mu.Unlock()
			signal(b.room)
			return n, nil
		case b.err != nil:
			defer b.mu.Unlock()
			return 0, b.err
		}
		b.mu.Unlock()
		<-b.wake
	}
}

// Close gives up what was not read. The server is told, if it understands
// that; others go on sending what is then thrown away.
func (b *Body) Close() error {
	b.mu.Lock()
	ended := b.err != nil || b.closed
	b.closed, b.queue, b.bytes = true, nil, 0
	if b.stop != nil {
		b.stop()
	}
	b.mu.Unlock()
	signal(b.wake)
	signal(b.room)
	if !ended {
		b.forget()
		b.c.cancelHTTP(b.l, b.id)
	}
	return nil
}

// abort ends it because its user's context has ended.
func (b *Body) abort(why error) {
	b.mu.Lock()
	ended := b.err != nil || b.closed
	b.mu.Unlock()
	if !ended {
		b.fail(why)
		b.forget()
		b.c.cancelHTTP(b.l, b.id)
	}
	signal(b.room)
}

func (b *Body) fail(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	signal(b.wake)
}

// add takes what has come and says whether it was the last.
func (b *Body) add(d wire.HTTPBodyDelta) (last bool) {
	b.mu.Lock()
	defer signal(b.wake)
	defer func() {
		if last {
			b.forget() // before anybody knows, who may use the id again
		}
		b.mu.Unlock()
	}()
	b.seq++
	switch {
	case b.err != nil:
		return true
	case d.Seq != b.seq:
		b.err = &ProtocolError{Err: fmt.Errorf("piece %d of a body where %d is due", d.Seq, b.seq)}
		return true
	case b.closed:
	case len(d.Delta) > 0:
		b.queue = append(b.queue, d.Delta)
		b.bytes += len(d.Delta)
	}
	switch {
	case d.Error != nil:
		b.err = &RequestError{Method: wire.MethodHTTPRequest, Err: wire.Internal("%s", *d.Error)}
	case d.Done:
		b.err = io.EOF
	}
	return b.err != nil
}

func (b *Body) full(waiting bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && b.err == nil && (b.bytes > stallHard || b.bytes > stallBytes && !waiting)
}

func (b *Body) hasRoom() <-chan struct{} { return b.room }

func (l *link) addBody(b *Body) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	if l.bodies[b.id] != nil {
		return errors.New("request id " + b.id + " is in use")
	}
	if l.bodies == nil {
		l.bodies = map[string]*Body{}
	}
	l.bodies[b.id] = b
	return nil
}

func (b *Body) forget() {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	if b.l.bodies[b.id] == b {
		delete(b.l.bodies, b.id)
	}
}

// bodyDelta hands a piece of a body on. It may wait for its reader.
func (l *link) bodyDelta(d wire.HTTPBodyDelta) {
	l.mu.Lock()
	b := l.bodies[d.RequestID]
	l.mu.Unlock()
	if b == nil {
		return // nobody wants it any more
	}
	if !b.add(d) {
		l.stall(b)
	}
}
