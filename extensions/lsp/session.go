package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/status"
)

// Codes of errors of JSON-RPC and of LSP.
const (
	codeInvalidRequest  = -32600
	codeMethodNotFound  = -32601
	codeInvalidParams   = -32602
	codeNotInitialized  = -32002
	codeRequestFailed   = -32803
	codeCancelled       = -32800
	codeContentModified = -32801
)

// errLeft is how the context of a session ends whose client has left.
var errLeft = errors.New("the client has left")

// session serves one client.
type session struct {
	s    *Server
	rw   io.ReadWriteCloser
	wire codec.Session
	ctx  context.Context
	work sync.WaitGroup

	writing sync.Mutex
	buffer  []byte // guarded by writing

	mu          sync.Mutex
	initialized bool
	started     bool // the client has the answer to initialize
	down        bool // shutdown was asked for
	caps        capabilities
	open        map[uint32]context.CancelFunc // requests of the client
	asked       map[uint32]chan *codec.Message
	lastAsked   uint32
	offers      map[int]language.Command // the last ones
	lastOffer   int
	problems    map[string]workbench.URI // to be published
	wake        chan struct{}            // has room for one
	providers   chan struct{}            // likewise
	begun       chan struct{}            // closed when started is true
	cancelers   map[string][]string      // ids of progress that the client cancels, by its token
	claimed     map[string]bool          // progress that belongs to a request of the client, by id
	lastTokens  int                      // the id of semantic tokens; the mutex of the server guards it
}

func newSession(ctx context.Context, s *Server, rw io.ReadWriteCloser) *session {
	return &session{
		s: s, rw: rw, ctx: ctx, wire: jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{Frame: s.opt.MaxMessage}),
		open: map[uint32]context.CancelFunc{}, asked: map[uint32]chan *codec.Message{}, offers: map[int]language.Command{},
		problems: map[string]workbench.URI{}, wake: make(chan struct{}, 1), providers: make(chan struct{}, 1),
		begun: make(chan struct{}), cancelers: map[string][]string{}, claimed: map[string]bool{},
	}
}

// ready reports whether the client was initialized.
func (c *session) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

// send writes a message. An error ends the session, whose reader then has it, too.
func (c *session) send(m codec.Message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	b, err := c.wire.Append(c.buffer[:0], &m)
	if err != nil {
		if m.Kind != codec.Response {
			return err
		}
		m.Result, m.Err = nil, &codec.Error{Code: codeRequestFailed, Message: err.Error()}
		if b, err = c.wire.Append(c.buffer[:0], &m); err != nil {
			return err
		}
	}
	if c.buffer = b; cap(b) > 1<<20 {
		c.buffer = nil
	}
	if _, err = c.rw.Write(b); err != nil {
		_ = c.rw.Close()
	}
	return err
}

// tell sends a notification.
func (c *session) tell(method string, params any) {
	raw, err := json.Marshal(params)
	if err == nil {
		err = c.send(codec.Message{Kind: codec.Notification, Method: method, Params: raw})
	}
	if err != nil {
		c.s.opt.Log.Debug("a client was not told", "method", method, "error", err)
	}
}

// log writes a message into the log of the client.
func (c *session) log(message string) {
	c.tell("window/logMessage", map[string]any{"type": 2, "message": "hostsup: " + message})
}

// ask sends a request to the client and waits for the answer.
func (c *session) ask(method string, params any, out any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan *codec.Message, 1)
	c.mu.Lock()
	c.lastAsked++
	id := c.lastAsked
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, id)
	}()
	if err := c.send(codec.Message{Kind: codec.Request, ID: id, Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Err != nil {
			return m.Err
		}
		if len(m.Result) == 0 { // null
			return nil
		}
		return json.Unmarshal(m.Result, out)
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// read carries out what the client sends until it leaves.
func (c *session) read() error {
	can := c.wire.Features()
	if can.OnNoise != nil {
		can.OnNoise(func([]byte) {})
	}
	r := c.wire.NewReader(c.rw)
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			for _, gone := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed} {
				if errors.Is(err, gone) {
					return nil
				}
			}
			return err
		}
		switch m.Kind {
		case codec.Request:
			c.request(m)
		case codec.Notification:
			if m.Method == "exit" {
				return nil
			}
			c.notification(&m)
		case codec.Response:
			c.mu.Lock()
			to := c.asked[m.ID]
			delete(c.asked, m.ID)
			c.mu.Unlock()
			if to != nil {
				answer := m
				to <- &answer
			}
		case codec.Cancel:
			c.mu.Lock()
			cancel := c.open[m.ID]
			c.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	}
}

func (c *session) notification(m *codec.Message) {
	if !c.ready() { // they are to be ignored before initialize
		return
	}
	if m.Method == "initialized" {
		c.mu.Lock()
		if !c.started {
			close(c.begun)
		}
		c.started = true
		c.mu.Unlock()
		wake(c.wake)
		wake(c.providers)
		return
	}
	if err := c.notified(m.Method, json.RawMessage(m.Params)); err != nil && isKnown(m.Method) {
		c.log(m.Method + ": " + err.Error())
	}
}

// isKnown reports whether a notification is carried out, so that the client is told why it was not.
func isKnown(method string) bool {
	switch method {
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/willSave", "textDocument/didSave", "textDocument/didClose",
		"window/workDoneProgress/cancel":
		return true
	}
	return false
}

// request answers a request on a goroutine of its own. The text of the client is that of the document
// before the next message is read.
func (c *session) request(m codec.Message) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.open[m.ID] = cancel
	ready, down := c.initialized, c.down
	if m.Method == "shutdown" {
		c.down = true
	}
	c.mu.Unlock()
	var p request
	var early error
	switch {
	case down:
		early = &codec.Error{Code: codeInvalidRequest, Message: "the client has asked for shutdown"}
	case !ready && m.Method != "initialize":
		early = &codec.Error{Code: codeNotInitialized, Message: "initialize is expected first, " + m.Method}
	case ready && m.Method == "initialize":
		early = &codec.Error{Code: codeInvalidRequest, Message: "initialize was sent twice"}
	case m.Method == "initialize":
		_ = json.Unmarshal(m.Params, &struct{ WorkDoneToken *any }{&p.WorkDoneToken}) // it is read as a whole later
	case m.Method != "shutdown":
		early = c.prepare(&p, &m)
	}
	c.work.Go(func() {
		var out any
		err := early
		if err == nil {
			out, err = c.withProgress(&p, func(report func(status.Update)) (any, error) { return c.answer(ctx, &m, &p, report) })
		}
		answer := codec.Message{Kind: codec.Response, ID: m.ID}
		if err == nil {
			answer.Result, err = json.Marshal(out)
		}
		if err != nil {
			answer.Err = c.failed(ctx, m.Method, err)
		}
		c.mu.Lock()
		delete(c.open, m.ID)
		c.mu.Unlock()
		cancel()
		if err := c.send(answer); err != nil {
			c.s.opt.Log.Debug("a client was not answered", "method", m.Method, "error", err)
		}
	})
}

// prepare reads the parameters of a request.
func (c *session) prepare(p *request, m *codec.Message) error {
	if p.raw = json.RawMessage(m.Params); strings.HasSuffix(m.Method, "/resolve") {
		return nil // an item of ours, which has another form
	}
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, p); err != nil {
			return &codec.Error{Code: codeInvalidParams, Message: err.Error()}
		}
	}
	if p.TextDocument.URI == "" {
		return nil
	}
	var err error
	if p.uri, err = workbench.ParseURI(p.TextDocument.URI); err != nil {
		return err
	}
	return c.s.use(c, p.uri)
}

func (c *session) answer(ctx context.Context, m *codec.Message, p *request, report func(status.Update)) (any, error) {
	switch m.Method {
	case "initialize":
		return c.initialize(ctx, json.RawMessage(m.Params))
	case "shutdown":
		return nil, nil
	case "workspace/executeCommand":
		return c.execute(ctx, p, report)
	}
	f := features[m.Method]
	if f == nil {
		return nil, &codec.Error{Code: codeMethodNotFound, Message: "the extensions of VS Code are not asked by the method " + m.Method}
	}
	out, err := f(ctx, c, p)
	if errors.Is(err, language.ErrNoProvider) {
		return nil, nil
	}
	return out, err
}

// failed returns the error for a client.
func (c *session) failed(ctx context.Context, method string, err error) *codec.Error {
	var own *codec.Error
	var ended *actors.HostError
	switch {
	case errors.As(err, &own) && own.Code != 0:
		return own
	case ctx.Err() != nil:
		return &codec.Error{Code: codeCancelled, Message: "the request was cancelled"}
	case errors.As(err, &ended) && method == "workspace/executeCommand":
		return &codec.Error{Code: codeRequestFailed, Message: fmt.Sprintf("the command has not finished: its extension host ended while it ran, and it is not repeated: %v", err)}
	case errors.As(err, &ended):
		return &codec.Error{Code: codeContentModified, Message: err.Error()}
	case errors.As(err, &own) && own.Name == codec.NameInvalidParams:
		return &codec.Error{Code: codeInvalidParams, Message: own.Message}
	}
	return &codec.Error{Code: codeRequestFailed, Message: err.Error()}
}

// initialize starts the host: which languages there are is known then.
func (c *session) initialize(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct{ Capabilities capabilities }
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &codec.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	if err := c.s.opt.Start(ctx); err != nil {
		return nil, &codec.Error{Code: codeRequestFailed, Message: fmt.Sprintf("extension host %q: %v", c.s.opt.Host, err)}
	}
	c.mu.Lock()
	c.initialized, c.caps = true, p.Capabilities
	for _, uri := range c.s.opt.Diagnostics.All() {
		c.problems[uri.String()] = uri
	}
	c.mu.Unlock()
	return map[string]any{
		"serverInfo":   map[string]string{"name": "hostsup: extensions of " + c.s.opt.Host, "version": version.Version()},
		"capabilities": c.offered(),
	}, nil
}
