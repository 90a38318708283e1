package fetch

import (
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
	// RefusePrivate refuses every address that is not of the public internet.
	// A proxy of the environment is not used then: it would connect for us.
	RefusePrivate bool

	Active    int   // requests and streams at a time; default 128
	Body      int64 // bytes of a body that is answered as a whole; default 512 MiB
	Head      int   // bytes of the head of an answer; default 1 MiB
	Redirects int   // that are followed; default 10

	// LookupEnv has the values of headers that name one. Default: os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// Dial, when not nil, makes every connection, and no proxy is used. A
	// *wire.Error of it is the answer to the request.
	Dial func(ctx context.Context, host string, port uint16) (net.Conn, error)
	// Proxy chooses an http:// proxy. Default: that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is used for https, with the server's name filled in.
	TLS *tls.Config
}

// Client makes the requests of one connection.
type Client struct {
	o Options

	mu     sync.Mutex
	closed bool
	calls  map[string][]*call // by request id; streams have theirs alone
	active int
}

// call is a request until its body has been read.
type call struct {
	id     string
	stream bool
	cancel context.CancelCauseFunc
}

var (
	errCancelled = errors.New("cancelled")
	errTimeout   = errors.New("timed out")
)

// New makes a Client; it must be closed.
func New(o Options) *Client {
	if o.Active <= 0 {
		o.Active = 128
	}
	if o.Body <= 0 {
		o.Body = 512 << 20
	}
	if o.Head <= 0 {
		o.Head = 1 << 20
	}
	if o.Redirects <= 0 {
		o.Redirects = 10
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return &Client{o: o, calls: map[string][]*call{}}
}

// Request is one that has been taken: its id is in use from then on. It must be
// done.
type Request struct {
	c      *Client
	ctx    context.Context // until the body has been read
	call   *call
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
	ctx, cancel := context.WithCancelCause(ctx)
	r := &Request{c: c, ctx: ctx, call: &call{id: p.RequestID, stream: p.StreamResponse, cancel: cancel}, params: p, req: req}
	if bad := c.begin(r.call); bad != nil {
		cancel(nil)
		return nil, bad
	}
	return r, nil
}

// Do makes the request, once. For a streamed response it returns as soon as
// there is a head, with a Body that must be run when the answer has been sent;
// else Body is nil.
func (r *Request) Do() (wire.HTTPResponse, *Body, *wire.Error) {
	c, ctx, p := r.c, r.ctx, &r.params
	end := func() { c.end(r.call) }
	if t := p.TimeoutMs; t != nil && *t <= math.MaxInt64/uint64(time.Millisecond) {
		if *t == 0 {
			end()
			return wire.HTTPResponse{}, nil, wire.Internal("http/request failed: route-aware request timed out")
		}
		timer := time.AfterFunc(time.Duration(*t)*time.Millisecond, func() { r.call.cancel(errTimeout) })
		end = func() {
			timer.Stop()
			c.end(r.call)
		}
	}
	a, err := c.follow(ctx, r.req, p.RedirectPolicy != wire.RedirectStop)
	if err != nil {
		end()
		return wire.HTTPResponse{}, nil, failed(ctx, err)
	}
	out := wire.HTTPResponse{Status: a.status, Headers: a.visible()}
	if p.StreamResponse {
		out.Body = []byte{} // an empty text, not null
		return out, &Body{id: p.RequestID, ctx: ctx, answer: a, end: end}, nil
	}
	defer end()
	defer a.close()
	out.Body, err = readAll(a.body, c.o.Body)
	if err != nil {
		return wire.HTTPResponse{}, nil, wire.Internal("failed to read http/request response body: %s", bodyText(ctx, err))
	}
	return out, nil, nil
}

// failed is the answer to a request that has none.
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

func readAll(r io.Reader, limit int64) ([]byte, error) {
	out := make([]byte, 0, 512)
	for {
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case int64(len(out)) > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, err
		}
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
	}
}

// bodyText is why a body ended early, in the words that clients know.
func bodyText(ctx context.Context, err error) string {
	switch {
	case errors.Is(context.Cause(ctx), errCancelled):
		return "cancelled"
	case errors.Is(err, errTooLarge):
		return "response body is too large: ask for a streamed response"
	}
	return "error decoding response body"
}

func (c *Client) begin(one *call) *wire.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return wire.Internal("http/request failed: the connection has ended")
	}
	if one.stream {
		for _, other := range c.calls[one.id] {
			if other.stream {
				return wire.InvalidParams("http/request streamResponse requestId `%s` is already active", one.id)
			}
		}
	}
	if c.active >= c.o.Active {
		return wire.InvalidRequest("at most %d http requests may be active per connection", c.o.Active)
	}
	c.active++
	c.calls[one.id] = append(c.calls[one.id], one)
	return nil
}

func (c *Client) end(one *call) {
	one.cancel(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.calls[one.id]
	for i, other := range list {
		if other == one {
			c.active--
			if len(list) == 1 {
				delete(c.calls, one.id)
			} else {
				c.calls[one.id] = append(list[:i:i], list[i+1:]...)
			}
			return
		}
	}
}

// Cancel ends the requests and the stream with an id; it reports whether there
// were any. A stream then ends with the error "cancelled".
func (c *Client) Cancel(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls[id] {
		one.cancel(errCancelled)
	}
	return len(c.calls[id]) > 0
}

// Close ends all requests and streams and refuses new ones. It does not wait.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, list := range c.calls {
		for _, one := range list {
			one.cancel(errCancelled)
		}
	}
}
