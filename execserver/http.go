package execserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// maxRequestBody is the longest body of a request, and the longest file that goes
// into one message: in base64, with the rest of the message, it fits into the 64 MiB
// that servers accept.
const maxRequestBody = 47 << 20

// RoundTripper returns a transport that has the server make HTTP requests, so
// that http.Client{Transport: c.RoundTripper()} sees the network as the server
// sees it. It is safe for concurrent use.
//
// Redirects are left to the http.Client. The protocol carries the body of a
// request in one piece: RoundTrip reads it to its end first, and fails with
// ErrTooLarge over 47 MiB. The body of an answer comes while it is read; one that
// is read slowly behaves as a Subscription with Keep, and its Read fails with
// ErrLagged when its file is full. Nothing is decompressed. Trailers, 1xx answers
// and upgrades to another protocol do not pass.
//
// What the server could not do, such as resolving a name, is a *RequestError. A
// request that was under way when the connection ended fails with
// ErrDisconnected and is not made again.
func (c *Client) RoundTripper() http.RoundTripper { return roundTripper{c} }

type roundTripper struct{ c *Client }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := requestBody(req)
	if err != nil {
		return nil, err
	}
	target := *req.URL
	target.User, target.Fragment, target.RawFragment = nil, "", "" // the http.Client has made a header of User
	p := wire.HTTPRequestParams{
		Method: req.Method, URL: target.String(), Body: body, RequestID: newID(),
		RedirectPolicy: wire.RedirectStop, StreamResponse: true,
	}
	if p.Method == "" {
		p.Method = http.MethodGet
	}
	if req.Host != "" && req.Host != req.URL.Host {
		p.Headers = append(p.Headers, wire.HTTPHeader{Name: "Host", Value: req.Host})
	}
	for name, values := range req.Header {
		for _, v := range values {
			p.Headers = append(p.Headers, wire.HTTPHeader{Name: name, Value: v})
		}
	}
	r, b, err := t.c.httpStream(req.Context(), p)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		Status:     fmt.Sprintf("%03d %s", r.Status, http.StatusText(int(r.Status))),
		StatusCode: int(r.Status),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: -1, Body: b, Request: req,
	}
	for _, h := range r.Headers {
		resp.Header.Add(h.Name, h.Value)
	}
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		resp.ContentLength = n
	}
	return resp, nil
}

// requestBody reads and closes the body of a request. It returns nil without a body.
func requestBody(req *http.Request) (*[]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	tooLarge := fmt.Errorf("%w: the body of a request may have %d bytes", ErrTooLarge, maxRequestBody)
	if req.ContentLength > maxRequestBody {
		return nil, tooLarge
	}
	stop := context.AfterFunc(req.Context(), func() { req.Body.Close() }) // ends a Read, as net/http does
	defer stop()
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequestBody+1))
	switch {
	case req.Context().Err() != nil:
		return nil, context.Cause(req.Context())
	case err != nil:
		return nil, err
	case len(body) > maxRequestBody:
		return nil, tooLarge
	case req.ContentLength > 0 && int64(len(body)) != req.ContentLength:
		return nil, fmt.Errorf("the body of the request has %d bytes, its ContentLength says %d", len(body), req.ContentLength)
	case len(body) == 0:
		return nil, nil
	}
	return &body, nil
}

// httpStream makes a request. The body has to be closed, and ends with ctx.
func (c *Client) httpStream(ctx context.Context, p wire.HTTPRequestParams) (wire.HTTPResponse, *body, error) {
	var r wire.HTTPResponse
	l, err := c.ready(ctx)
	if err != nil {
		return r, nil, err
	}
	b := &body{c: c, l: l, id: p.RequestID, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	b.queue.limit = c.opt.Spill
	if err := l.addBody(b); err != nil {
		return r, nil, err
	}
	if err := l.call(ctx, wire.MethodHTTPRequest, p, &r, func() { c.cancelHTTP(l, b.id) }); err != nil {
		b.forget()
		b.fail(err)
		b.Close()
		if ctx.Err() != nil {
			c.cancelHTTP(l, b.id)
		}
		return r, nil, err
	}
	stop := context.AfterFunc(ctx, func() { b.giveUp(context.Cause(ctx)) })
	b.mu.Lock()
	b.stop = stop
	b.mu.Unlock()
	return r, b, nil
}

// cancelHTTP tells the server that the answer is no longer needed, if the server
// has that extension. It never blocks.
func (c *Client) cancelHTTP(l *link, id string) {
	if !c.Has(wire.ExtHTTPCancel) {
		return
	}
	c.request(l, wire.MethodHTTPCancel, wire.HTTPCancelParams{RequestID: id}) // it may have ended
}

// body is the body of an answer. Read is for one goroutine at a time;
// Close may be called by any.
type body struct {
	c    *Client
	l    *link
	id   string
	wake chan struct{}
	room chan struct{}

	mu     sync.Mutex
	queue  backlog
	piece  []byte // the rest of the piece that is being read
	seq    uint64 // of the last delta
	err    error  // what comes after the queue; io.EOF for its end
	closed bool
	stop   func() bool // the watch on the caller's context
}

// Read implements io.Reader. When the connection ends it returns
// ErrDisconnected, after what had come.
func (b *body) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	for {
		b.mu.Lock()
		switch {
		case b.closed:
			b.mu.Unlock()
			return 0, ErrClosed
		case b.next():
			n := copy(into, b.piece)
			b.piece = b.piece[n:]
			b.mu.Unlock()
			signal(b.room)
			return n, nil
		case b.err != nil:
			defer b.mu.Unlock()
			b.queue.close()
			return 0, b.err
		}
		b.mu.Unlock()
		<-b.wake
	}
}

// next reports whether there is something to read. The caller must hold mu.
func (b *body) next() bool {
	if len(b.piece) > 0 {
		return true
	}
	e, ok := b.queue.pop()
	if e.Err != nil {
		b.err = e.Err
		return false
	}
	b.piece = e.Data
	return ok
}

// Close discards what was not read. It cancels the request if the server has that
// extension; other servers go on sending, and what comes is discarded.
func (b *body) Close() error {
	b.giveUp(ErrClosed)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.piece = true, nil
	b.queue.close()
	if b.stop != nil {
		b.stop()
	}
	signal(b.wake)
	return nil
}

// giveUp ends the body early, for a reason on this side.
func (b *body) giveUp(why error) {
	b.mu.Lock()
	ended := b.err != nil
	b.mu.Unlock()
	if !ended {
		b.fail(why)
		b.forget()
		b.c.cancelHTTP(b.l, b.id)
	}
	signal(b.room)
}

func (b *body) fail(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	signal(b.wake)
}

// add takes what has come and says whether it was the last.
func (b *body) add(d wire.HTTPBodyDelta) (last bool) {
	b.mu.Lock()
	defer signal(b.wake)
	defer func() {
		if last {
			b.forget() // before the reader knows, and may use the id again
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
		e := Event{Kind: Output, Data: d.Delta}
		if !b.queue.fits(&e) || !b.queue.push(e) {
			b.err = fmt.Errorf("%w: the body of the answer was not read", ErrLagged)
			b.c.cancelHTTP(b.l, b.id)
			return true
		}
	}
	switch {
	case d.Error != nil:
		b.err = &RequestError{Method: wire.MethodHTTPRequest, Err: wire.Internal("%s", *d.Error)}
	case d.Done:
		b.err = io.EOF
	}
	return b.err != nil
}

func (b *body) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && b.err == nil && b.queue.slow()
}

func (b *body) hasRoom() <-chan struct{} { return b.room }

func (l *link) addBody(b *body) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		return l.end
	}
	l.bodies[b.id] = b
	return nil
}

func (b *body) forget() {
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
		return // the request was canceled
	}
	if !b.add(d) {
		l.stall(b)
	}
}
