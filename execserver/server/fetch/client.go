package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Options are what requests may do. The zero value of a field is its default.
type Options struct {
	// RefusePrivate refuses every address that is not of the public internet. A
	// proxy of the environment is not used then: it would connect instead.
	RefusePrivate bool

	Active int   // requests and streams at a time; default 128
	Body   int64 // bytes of a body that is answered as a whole; default 512 MiB

	// LookupEnv looks up the values of headers that name a variable. Default:
	// os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// Dial, when not nil, makes every connection, and no proxy is used. If it
	// returns a *wire.Error, that is the answer to the request.
	Dial func(ctx context.Context, host string, port uint16) (net.Conn, error)
	// Proxy chooses an http:// proxy. Default: that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is used for https, with the server's name filled in.
	TLS *tls.Config
}

const (
	headBytes    = 1 << 20 // of the head of an answer
	maxRedirects = 10      // that are followed
)

// Client makes the requests of one connection.
type Client struct {
	o Options

	mu     sync.Mutex
	closed bool
	active map[*Request]struct{} // those whose body was not read yet
}

var errCancelled = errors.New("cancelled")

// New makes a Client; it must be closed.
func New(o Options) *Client {
	o.Active, o.Body = cmp.Or(o.Active, 128), cmp.Or(o.Body, 512<<20)
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return &Client{o: o, active: map[*Request]struct{}{}}
}

// Request is a request that was begun: its id is in use. Do must be called.
type Request struct {
	c      *Client
	ctx    context.Context // until the body has been read
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // releases the timer of ctx
	params wire.HTTPRequestParams
	req    *request
}

// Begin takes a request. ctx must last as long as the body: it is that of the
// connection.
func (c *Client) Begin(ctx context.Context, p wire.HTTPRequestParams) (*Request, *wire.Error) {
	req, bad := c.prepare(p)
	if bad != nil {
		return nil, bad
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, wire.Internal("http/request failed: the connection has ended")
	}
	for other := range c.active {
		if p.StreamResponse && other.params.StreamResponse && other.params.RequestID == p.RequestID {
			return nil, wire.InvalidParams("http/request streamResponse requestId `%s` is already active", p.RequestID)
		}
	}
	if len(c.active) >= c.o.Active {
		return nil, wire.InvalidRequest("at most %d http requests may be active per connection", c.o.Active)
	}
	r := &Request{c: c, stop: func() {}, params: p, req: req}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if t := p.TimeoutMs; t != nil && *t <= math.MaxInt64/uint64(time.Millisecond) {
		r.ctx, r.stop = context.WithTimeout(r.ctx, time.Duration(*t)*time.Millisecond)
	}
	c.active[r] = struct{}{}
	return r, nil
}

// Do makes the request, once. For a streamed response it returns as soon as
// there is a head, with a Body that must be run when the answer has been sent;
// else Body is nil.
func (r *Request) Do() (wire.HTTPResponse, *Body, *wire.Error) {
	if t := r.params.TimeoutMs; t != nil && *t == 0 {
		r.end()
		return wire.HTTPResponse{}, nil, wire.Internal("http/request failed: route-aware request timed out")
	}
	a, err := r.c.follow(r.ctx, r.req, r.params.RedirectPolicy != wire.RedirectStop)
	if err != nil {
		defer r.end()
		return wire.HTTPResponse{}, nil, failed(r.ctx, err)
	}
	out := wire.HTTPResponse{Status: a.status, Headers: a.visible()}
	if r.params.StreamResponse {
		out.Body = []byte{} // an empty text, not null
		return out, &Body{r: r, answer: a}, nil
	}
	defer r.end()
	defer a.close()
	out.Body, err = io.ReadAll(io.LimitReader(a.body, r.c.o.Body+1))
	if int64(len(out.Body)) > r.c.o.Body {
		err = errTooLarge
	}
	if err != nil {
		return wire.HTTPResponse{}, nil, wire.Internal("failed to read http/request response body: %s", bodyText(r.ctx, err))
	}
	return out, nil, nil
}

// failed returns err as the answer to a request.
func failed(ctx context.Context, err error) *wire.Error {
	var known *wire.Error
	switch {
	case errors.Is(context.Cause(ctx), errCancelled):
		return wire.Internal("http/request failed: cancelled")
	case errors.As(err, &known):
		return known
	}
	return wire.Internal("http/request failed: %s", err)
}

var errTooLarge = errors.New("too large")

// bodyText says why a body ended early, in the words that clients know.
func bodyText(ctx context.Context, err error) string {
	switch {
	case errors.Is(context.Cause(ctx), errCancelled):
		return "cancelled"
	case errors.Is(err, errTooLarge):
		return "response body is too large: ask for a streamed response"
	}
	return "error decoding response body"
}

// end frees the id of a request.
func (r *Request) end() {
	r.stop()
	r.cancel(nil)
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	delete(r.c.active, r)
}

// Cancel ends the requests and the stream with an id; it reports whether there
// were any. A stream then ends with the error "cancelled".
func (c *Client) Cancel(id string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.active {
		if r.params.RequestID == id {
			r.cancel(errCancelled)
			found = true
		}
	}
	return found
}

// Close ends all requests and streams and refuses new ones. It does not wait.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for r := range c.active {
		r.cancel(errCancelled)
	}
}
