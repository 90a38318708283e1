package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// maxMessage bounds one message of the other side, in bytes.
const maxMessage = 64 << 20

// Errors of a session; test with errors.Is.
var (
	ErrProtocol = errors.New("not the protocol of an inspector")
	ErrGone     = errors.New("the inspector went away")
)

// errEnding is the [ErrGone] of a process that ends.
var errEnding = fmt.Errorf("%w: the process is ending", ErrGone)

// CallError is what the inspector answers instead of a result.
type CallError struct {
	Method  string
	Code    int
	Message string
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%s: %s (%d)", e.Method, e.Message, e.Code)
}

// Session is a connection with an inspector. Make it with [Address.Dial].
type Session struct {
	ws     *websocket.Conn
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // the read loop has ended

	mu    sync.Mutex
	last  int
	waits map[int]chan<- message
	heard func(method string, params json.RawMessage) error
	err   error
}

// message is what comes: an answer or an event. Its parts have been checked to be
// JSON.
type message struct {
	id     int
	method string
	params json.RawMessage
	result json.RawMessage
	err    *refusal
}

// refusal is what comes instead of a result.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// parse reads a message in one pass and where it lies: a heap snapshot is tens of
// megabytes of them. What it returns refers to data.
func parse(data []byte) (m message, err error) {
	if err := jsonwalk.Check(data, nil); err != nil {
		return m, err
	}
	if kind := jsonwalk.KindOf(data); kind != jsonwalk.Map {
		return m, fmt.Errorf("%v, not an object", kind)
	}
	jsonwalk.Object(data, func(name string, value []byte) bool {
		switch name {
		case "id":
			err = json.Unmarshal(value, &m.id)
		case "method":
			err = json.Unmarshal(value, &m.method)
		case "error":
			err = json.Unmarshal(value, &m.err)
		case "params":
			m.params = value
		case "result":
			m.result = value
		}
		return err == nil
	})
	return m, err
}

type request struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// dial connects; ctx bounds that alone, with prepareWithin for what has begun.
func dial(ctx context.Context, url string, connect func(ctx context.Context, network, addr string) (net.Conn, error)) (*Session, error) {
	ctx, cancel := outlast(ctx, prepareWithin)
	defer cancel()
	transport := &http.Transport{DialContext: connect, DisableCompression: true}
	defer transport.CloseIdleConnections()
	ws, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if res != nil && res.Body != nil {
		_ = res.Body.Close() // of an answer that was none to this
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	ws.SetReadLimit(maxMessage)
	s := &Session{ws: ws, done: make(chan struct{}), waits: map[int]chan<- message{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.read(s.ctx)
	return s, nil
}

// prepareWithin bounds how long a process may take to begin a session, and to
// prepare for its end, when nobody wants the session any more.
const prepareWithin = time.Second

// prepare has the process end without a wait when it ends during the session.
// With ours, which must be false for a port that a debugger of somebody else may
// use, it closes the port then. A session that is not prepared must be closed, as
// the process would wait for it without a limit. Errors: [ErrGone], also for a
// process that ends already; when ctx has ended for prepareWithin, ctx's.
//
// NOTE: The end of ctx is mostly the end of the process, which may be prepared or
// may wait by then. The answers tell.
func (s *Session) prepare(ctx context.Context, ours bool) error {
	ctx, cancel := outlast(ctx, prepareWithin)
	defer cancel()
	code := isEnding
	if ours {
		code = hook + code
	}
	var refused *CallError
	ending := false
	switch err := s.evaluate(ctx, code, &ending); {
	case ending:
		return errEnding
	case errors.As(err, &refused): // it has no JavaScript any more
		return fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil && !errors.Is(err, errThrown): // one that does not take the listener ends as node does
		return err
	}
	// A process that does not close the port tells that it waits for the session.
	err := s.Call(ctx, "NodeRuntime.notifyWhenWaitingForDisconnect", map[string]bool{"enabled": true}, nil)
	if errors.As(err, &refused) {
		return nil // it is a node that does not know the method
	}
	return err
}

// keepsPort takes back that the process closes the port when it ends.
func (s *Session) keepsPort(ctx context.Context) error { return s.evaluate(ctx, unhook, nil) }

// outlast returns a context that ends a time after another.
func outlast(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(d, cancel)
		context.AfterFunc(longer, func() { t.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// read is the loop that takes what comes.
func (s *Session) read(ctx context.Context) {
	var err error
	for err == nil {
		var data []byte
		if _, data, err = s.ws.Read(ctx); err != nil {
			err = fmt.Errorf("%w: %w", ErrGone, err)
			break
		}
		err = s.take(data)
	}
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	_ = s.ws.CloseNow() // it is over either way
	close(s.done)
}

func (s *Session) take(data []byte) error {
	m, err := parse(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if m.id == 0 {
		if m.method == "" {
			return fmt.Errorf("%w: neither an answer nor an event", ErrProtocol)
		}
		if m.method == "NodeRuntime.waitingForDisconnect" {
			return errEnding
		}
		s.mu.Lock()
		heard := s.heard
		s.mu.Unlock()
		if heard == nil {
			return nil
		}
		return heard(m.method, m.params)
	}
	s.mu.Lock()
	answer := s.waits[m.id]
	delete(s.waits, m.id)
	s.mu.Unlock()
	if answer != nil { // else its caller has left
		answer <- m
	}
	return nil
}

// hear hands events to f, on the read loop, until it is set to another; an error
// of f ends the session.
func (s *Session) hear(f func(method string, params json.RawMessage) error) {
	s.mu.Lock()
	s.heard = f
	s.mu.Unlock()
}

// Call asks for something and reads the result into out, unless that is nil.
// Errors: a *[CallError], [ErrProtocol], [ErrGone], what was wrong with taking
// what came meanwhile, ctx's. The session goes on after a *CallError and after
// ctx's end.
func (s *Session) Call(ctx context.Context, method string, params, out any) error {
	answer := make(chan message, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.waits[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waits, id)
		s.mu.Unlock()
	}()
	data, err := json.Marshal(request{id, method, params})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The end of the context of a write would close the connection.
	if err := s.ws.Write(s.ctx, websocket.MessageText, data); err != nil {
		<-s.done // what cannot be written to ends
		return s.why()
	}
	select {
	case m := <-answer:
		if m.err != nil {
			return &CallError{method, m.err.Code, m.err.Message}
		}
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(m.result, out); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrProtocol, method, err)
		}
		return nil
	case <-s.done:
		return s.why()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the session. The port stays open.
func (s *Session) Close() {
	s.mu.Lock()
	if s.err == nil {
		s.err = fmt.Errorf("%w: closed", ErrGone)
	}
	s.mu.Unlock()
	s.cancel()
	_ = s.ws.CloseNow() // nothing that the other side says matters any more
	<-s.done
}
