package mcphttp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	methodInitialized = "notifications/initialized"
	methodListen      = "subscriptions/listen"
	methodListening   = "notifications/subscriptions/acknowledged"
	methodTools       = "tools/list"

	// maxCalls is how many requests are open at once.
	maxCalls = 1024
	// lastAnswers is how long open requests are waited for after the end of the input.
	lastAnswers = time.Second
	// farewell bounds the request that ends the session.
	farewell = 2 * time.Second
)

// Remote is a server that speaks MCP by the transport Streamable HTTP. It is used for one
// call of Connect.
type Remote struct {
	URL     *url.URL    // https or http, without a user
	Headers http.Header // of each request, such as Authorization; those of MCP itself win
	TLS     *tls.Config // nil: the authorities of the system, and no certificate. The first of Certificates is shown to a server that asks for one.
	// ConnectTimeout bounds each attempt to connect, and the time for which a server that
	// cannot be reached is tried again before Connect gives up; default 10 s.
	ConnectTimeout time.Duration
	// IdleTimeout is the time without a byte after which a stream counts as cut off; 0: never.
	IdleTimeout time.Duration
	MaxMessage  int // bytes, in either direction; default 50 MiB
	// Log is called with what belongs to no request, one line at a time, from several
	// goroutines; nil: it is dropped.
	Log func(text string)

	client *http.Client
	asked  atomic.Bool     // the server has asked for a certificate
	ctx    context.Context // ends with the first error that ends Connect
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	calls  sync.WaitGroup // those of work that make a request of the client

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex // of what follows
	over    bool       // no work is begun any more
	session string
	version string
	open    map[string]*call
	tools   params
}

// call is a request that has no answer yet.
type call struct {
	message
	modern bool               // of a revision without sessions
	cancel context.CancelFunc // ends its stream
	heard  bool               // of methodListen: the client knows that it is open
}

// Connect speaks for a client, whose messages are lines of in, with the server, whose
// messages become lines of out. Each request of the client has at most one answer: the
// server's, or an error that says why the server has not answered.
//
// Connect returns nil after the end of in, and the cause of ctx when that ends. It returns an
// error when the server cannot be reached, refuses the token, or has ended the session;
// requests that are open are not answered then. The session is ended before it returns. A
// Read of in that waits is left behind.
func (r *Remote) Connect(ctx context.Context, in io.Reader, out io.Writer) error {
	r.ConnectTimeout = cmp.Or(r.ConnectTimeout, 10*time.Second)
	r.MaxMessage = cmp.Or(r.MaxMessage, codec.Limits{}.WithDefaults().Frame)
	if r.Log == nil {
		r.Log = func(string) {}
	}
	transport := r.transport()
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport, CheckRedirect: r.redirect}
	r.out, r.open = out, map[string]*call{}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	read := make(chan struct{})
	go func() { // ends with in, or is left behind
		defer close(read)
		if err := r.read(in); err != nil {
			r.cancel(err)
		}
	}()
	select {
	case <-r.ctx.Done():
	case <-read:
		r.drain()
		r.cancel(nil)
	}
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.work.Wait()
	err := context.Cause(r.ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	if !errors.Is(err, errSession) {
		r.leave()
	}
	return err
}

// drain waits for the answers to open requests.
func (r *Remote) drain() {
	done := make(chan struct{})
	r.work.Go(func() { // ends with the requests, which end with the context
		r.calls.Wait()
		close(done)
	})
	late := time.NewTimer(lastAnswers)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-r.ctx.Done():
	}
}

// read hands on what the client says, in order, until it says no more.
func (r *Remote) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), r.MaxMessage+1)
	for lines.Scan() && r.ctx.Err() == nil {
		line := bytes.TrimSpace(lines.Bytes())
		switch {
		case len(line) == 0:
		case !json.Valid(line):
			r.write(failure("", codeParse, "the line is not JSON"))
		case line[0] == '[': // revision 2025-03-26 allows a list, and each message alone
			jsonwalk.Array(line, func(value []byte) bool {
				r.take(bytes.Clone(value))
				return true
			})
		default:
			r.take(bytes.Clone(line))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("the client has sent a message of more than %d bytes", r.MaxMessage)
	} else if err != nil {
		return fmt.Errorf("read from the client: %w", err)
	}
	return nil
}

// take hands a message on. It returns when the message is on its way, and for those that
// change what the next ones mean when the server has answered.
func (r *Remote) take(text []byte) {
	m := messageOf(text)
	switch {
	case m.method == "" && m.id == "":
		r.write(failure("", codeInvalidRequest, "the line is not a JSON-RPC message"))
	case m.kind == codec.Request:
		r.request(m)
	case m.kind == codec.Notification && m.method == methodCancelled:
		r.recall(m)
	default:
		err := r.tell(m)
		r.report(err)
		if m.method == methodInitialized && err == nil {
			r.spawn(r.listen)
		}
	}
}

// request makes a request, whose answer comes later. That of initialize is waited for.
func (r *Remote) request(m message) {
	version := revisionOf(m)
	c := &call{message: m, modern: version >= sessionless}
	ctx, cancel := context.WithCancel(r.ctx)
	c.cancel = cancel
	r.mu.Lock()
	switch {
	case r.open[m.id] != nil:
		r.mu.Unlock()
		cancel()
		r.write(failure(m.id, codeInvalidRequest, "a request with this id is open"))
		return
	case len(r.open) >= maxCalls:
		r.mu.Unlock()
		cancel()
		r.write(failure(m.id, codeInternal, fmt.Sprintf("%d requests are open, the limit", maxCalls)))
		return
	}
	r.open[m.id] = c
	if c.modern {
		r.version = version
	}
	r.mu.Unlock()
	sent, done := make(chan struct{}), make(chan struct{})
	r.calls.Add(1)
	begun := r.spawn(func() {
		defer r.calls.Done()
		defer close(done)
		defer cancel()
		if err := r.call(ctx, c, sync.OnceFunc(func() { close(sent) })); err != nil {
			r.fail(c, err)
		}
	})
	if !begun {
		cancel()
		r.calls.Done()
		return
	}
	if m.method == methodInitialize {
		<-done
		return
	}
	select {
	case <-sent:
	case <-done:
	}
}

// spawn runs f in a goroutine that Connect waits for. It returns false if Connect is over.
func (r *Remote) spawn(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.work.Go(f)
	}
	return !r.over
}

// fail answers a request with an error, unless that ends everything.
func (r *Remote) fail(c *call, err error) {
	if r.ctx.Err() != nil || r.ends(err) {
		return
	}
	r.settle(c.id, failure(c.id, codeInternal, err.Error()))
}

// ends ends Connect if the error is one that all requests have from now on.
func (r *Remote) ends(err error) bool {
	var over *fatal
	if !errors.As(err, &over) {
		return false
	}
	r.cancel(over.error)
	return true
}

// report says what has become of something that nobody waits for.
func (r *Remote) report(err error) {
	if err != nil && r.ctx.Err() == nil && !r.ends(err) {
		r.Log(err.Error())
	}
}

// recall takes a request back. Without a session that is the end of its stream.
func (r *Remote) recall(m message) {
	r.mu.Lock()
	c := r.open[m.id]
	delete(r.open, m.id)
	r.mu.Unlock()
	if c == nil {
		return // it has its answer
	}
	if !c.modern {
		r.report(r.tell(m))
	}
	c.cancel()
}

// settle writes the answer to a request. It returns false if the request is not open: then
// it has an answer, or was taken back.
func (r *Remote) settle(id string, text []byte) bool {
	r.mu.Lock()
	_, open := r.open[id]
	delete(r.open, id)
	r.mu.Unlock()
	if open {
		r.write(text)
	}
	return open
}

func (r *Remote) isOpen(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[c.id] == c
}

// write writes one message to the client.
func (r *Remote) write(text []byte) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	if _, err := r.out.Write(append(slices.Clip(text), '\n')); err != nil {
		r.cancel(fmt.Errorf("write to the client: %w", err))
	}
}

// deliver hands on what the server says: one message, or a list of them. c is the request
// that it was said for; nil: none.
func (r *Remote) deliver(c *call, body []byte) error {
	var out bytes.Buffer
	if err := json.Compact(&out, body); err != nil {
		return fmt.Errorf("%s has sent what is not JSON: %w", r.URL.Host, err)
	}
	text := out.Bytes()
	if len(text) > 0 && text[0] == '[' {
		jsonwalk.Array(text, func(value []byte) bool {
			r.pass(c, bytes.Clone(value))
			return true
		})
		return nil
	}
	r.pass(c, text)
	return nil
}

// pass hands on one message of the server.
func (r *Remote) pass(c *call, text []byte) {
	m := messageOf(text)
	switch {
	case m.method == "" && m.id == "", text[0] != '{':
		r.Log(fmt.Sprintf("%s has sent what is not a JSON-RPC message: %s", r.URL.Host, cut(string(text))))
	case m.kind == codec.Response:
		r.mu.Lock()
		of := r.open[m.id]
		if of != nil && of.method == methodTools && of.modern {
			r.tools.learn(text)
		}
		r.mu.Unlock()
		if !r.settle(m.id, text) {
			r.Log(fmt.Sprintf("%s has answered a request that is not open: id %s", r.URL.Host, cut(m.id)))
		}
	case c != nil && c.method == methodListen && m.method == methodListening:
		if !c.heard {
			c.heard = true
			r.write(text)
		}
	default:
		r.write(text)
	}
}

// leave ends the session. What comes of that does not matter: a server ends sessions that
// are not used by itself.
func (r *Remote) leave() {
	r.mu.Lock()
	session := r.session
	r.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), farewell)
	defer cancel()
	req, err := r.newRequest(ctx, http.MethodDelete, nil)
	if err != nil {
		return
	}
	if res, err := r.client.Do(req); err == nil {
		_ = res.Body.Close()
	}
}
