package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// maxMessage bounds one message of the inspector, in bytes.
const maxMessage = 64 << 20

// Errors of a session; test with errors.Is.
var (
	ErrProtocol = errors.New("not the protocol of an inspector")
	ErrGone     = errors.New("the inspector went away")
)

// errEnding is the [ErrGone] of a process that is ending.
var errEnding = fmt.Errorf("%w: the process is ending", ErrGone)

// CallError is an inspector's error response.
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
	pid    int             // of the process; 0 for a session that Dial has not made
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // the read loop has ended

	mu      sync.Mutex
	last    int
	waits   map[int]chan<- message
	onEvent func(method string, params json.RawMessage) error
	err     error
}

// message is an incoming response or event. Its parts have been checked to be JSON.
type message struct {
	id     int
	method string
	params json.RawMessage
	result json.RawMessage
	err    *refusal
}

// refusal is the error of a response.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// parse reads a message in one pass without copying: a heap snapshot is tens of
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

// dial connects.
func dial(ctx context.Context, url string, connect func(ctx context.Context, network, addr string) (net.Conn, error)) (*Session, error) {
	transport := &http.Transport{DialContext: connect, DisableCompression: true}
	defer transport.CloseIdleConnections()
	ws, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if res != nil && res.Body != nil {
		_ = res.Body.Close() // the response refused the upgrade
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

// prepare makes the process end without waiting if it ends during the session. With
// ours, which must be false for a port that another debugger may use, the process
// closes the port then. Errors: [ErrGone], also for a process that is already ending,
// which would wait for the session without a limit, so that it must be closed; ctx's,
// after which the process may be prepared or may be waiting.
func (s *Session) prepare(ctx context.Context, ours bool) error {
	code := isEnding
	if ours {
		code = hook + code
	}
	var refused *CallError
	ending := false
	switch err := s.evaluate(ctx, code, &ending); {
	case ending:
		return errEnding
	case errors.As(err, &refused): // it runs no JavaScript any more
		return fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil && !errors.Is(err, ErrThrown): // without the listener it ends as node does
		return err
	}
	// A process that does not close the port notifies that it waits for the session.
	err := s.Call(ctx, "NodeRuntime.notifyWhenWaitingForDisconnect", map[string]bool{"enabled": true}, nil)
	if errors.As(err, &refused) {
		return nil // this version of node does not know the method
	}
	return err
}

// keepsPort undoes what prepare did with ours: the process no longer closes the port.
func (s *Session) keepsPort(ctx context.Context) error { return s.evaluate(ctx, unhook, nil) }

// read is the read loop.
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
	_ = s.ws.CloseNow() // the session has ended either way
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
		onEvent := s.onEvent
		s.mu.Unlock()
		if onEvent == nil {
			return nil
		}
		return onEvent(m.method, m.params)
	}
	s.mu.Lock()
	answer := s.waits[m.id]
	delete(s.waits, m.id)
	s.mu.Unlock()
	if answer != nil { // else its caller has given up
		answer <- m
	}
	return nil
}

// handleEvents passes events to f, on the read loop, until the next call of
// handleEvents. An error of f ends the session.
func (s *Session) handleEvents(f func(method string, params json.RawMessage) error) {
	s.mu.Lock()
	s.onEvent = f
	s.mu.Unlock()
}

// Call sends a request and decodes the result into out, unless out is nil. Errors: a
// *[CallError], [ErrProtocol], [ErrGone], the error of an event handler meanwhile,
// ctx's. The session stays usable after a *CallError and after the end of ctx.
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
		<-s.done // a connection that cannot be written to ends
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
	_ = s.ws.CloseNow() // the close handshake does not matter
	<-s.done
}
