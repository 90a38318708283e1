package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Codes of JSON-RPC and the Language Server Protocol 3.17 for what the hub
// answers by itself.
const (
	codeInvalidRequest  = -32600
	codeInvalidParams   = -32602
	codeInternal        = -32603
	codeNotInitialized  = -32002
	codeCancelled       = -32800
	codeContentModified = -32801
	codeRequestFailed   = -32803
)

// forever bounds requests of clients, which have deadlines of their own.
const forever = 30 * 24 * time.Hour

// client is one program that is attached.
type client struct {
	hub     *Hub
	number  uint64
	session codec.Session
	can     codec.SessionFeatures
	rw      io.ReadWriteCloser
	try     tryWriter // rw; nil: it cannot be written to without waiting
	ctx     context.Context
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup // answers that are waited for
	gone    chan struct{}  // closed when nothing is written any more

	coming       bool            // under hub.mu: the host is started for it
	introduced   bool            // under hub.mu: its initialize was answered, or is not needed
	greeted      bool            // under hub.mu: and has been told that answer
	settled      bool            // under hub.mu: LSP: it has said initialized
	leaving      bool            // under hub.mu: it has said shutdown
	capabilities codec.Raw       // under hub.mu: that it has announced; nil: none
	generation   string          // under hub.mu: MCP: that it speaks, "" if it has not shown that
	told         codec.Raw       // under hub.mu: LSP: the answer to its initialize
	news         string          // under hub.mu: MCP: a notification that the host asks something after, until it has
	alarmed      bool            // under hub.mu: it was told that the host does not run, and not yet that it does
	early        []codec.Message // under hub.mu: notifications that came before that
	earlyBytes   int             // under hub.mu: of their parameters

	starting context.Context // of the start that is made for it
	giveUp   context.CancelFunc
	running  chan struct{} // MessagePack-RPC: closed after that

	met     chan struct{} // closed when it may be asked: it has the answer to its initialize, or needs none
	meeting sync.Once     // closes met
	backlog atomic.Int64  // bytes that it has not taken
	took    atomic.Int64  // bytes that it has taken so far
	holdAt  int64         // under hub.mu: the host is held up for it while its backlog is over this
	heldAt  int64         // under hub.mu: what it had taken when that was in vain

	mu    sync.Mutex
	queue [][]byte      // messages that it has not taken, some together
	pours bool          // the write loop writes one
	spare []byte        // for the next message that is written at once
	wake  chan struct{} // capacity 1
	ended bool          // nothing is put into queue any more
	watch *time.Timer   // of watchdog; nil while the backlog is within its limit
	next  uint32
	asked map[uint32]chan *codec.Message // requests made to it
	open  map[uint32]*errand             // requests it has made
}

// Serve lets a program speak to the host over rw until it leaves, ctx ends or
// the program breaks the protocol. It returns nil when the program has said
// exit, or ended its stream; the bytes it has not sent whole are lost then. rw is
// closed, which must end a Read and a Write that wait.
//
// Serve returns the error of [Refused] at once where there is one, and one that wraps
// [ErrClient] and a *[codec.FrameError] for what is no message.
func (h *Hub) Serve(ctx context.Context, rw io.ReadWriteCloser) error { return h.serve(ctx, rw, nil) }

// serve is Serve. If apart is not nil, a program that is to have another process is not
// served: the error is an *[elsewhere], and rw goes on in that. apart reports whether there
// is a process for programs of a generation of MCP already.
func (h *Hub) serve(ctx context.Context, rw io.ReadWriteCloser, apart func(generation string) bool) error {
	if err := Refused(h.host.Status()); err != nil {
		_ = rw.Close()
		return err
	}
	spec := h.host.Spec()
	c := &client{
		hub: h, session: spec.Protocol.Open(spec.Limits), rw: rw, holdAt: backlogLimit,
		met: make(chan struct{}), running: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1),
		asked: map[uint32]chan *codec.Message{}, open: map[uint32]*errand{},
	}
	c.can = c.session.Features()
	c.try, _ = rw.(tryWriter)
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.starting, c.giveUp = context.WithCancel(c.ctx)
	defer c.giveUp()
	stop := context.AfterFunc(c.ctx, func() { _ = rw.Close() })
	h.enter(c)
	if u := usageOf(h.host); u != nil {
		u.entered(c.ctx)
	}
	h.log.Debug("a client came", "host", h.host.Name(), "client", c.number)
	go c.write()
	h.dialect.came(c)
	err := c.read(apart)
	var away *elsewhere
	goesOn := errors.As(err, &away) && stop() // else rw is being closed
	if away != nil && !goesOn {
		err = context.Cause(c.ctx)
	}
	c.finish(err)
	if goesOn {
		return err
	}
	stop()
	_ = rw.Close()
	h.log.Debug("a client left", "host", h.host.Name(), "client", c.number, "reason", err)
	return err
}

// Refused returns why no program may attach to a host in its present state, nil
// if one may. A program does not undo what a person did: it does not start a host
// that a person stopped, nor one that was given up. The error is a
// *[actors.StateError].
func Refused(st record.HostStatus) error {
	if !st.StoppedByPerson && st.State != lifecycle.Failed {
		return nil
	}
	err := &actors.StateError{Host: st.Name, Want: lifecycle.Running, State: st.State}
	if st.Reason != nil {
		err.Reason = *st.Reason
	}
	return err
}

// errExit is how a client leaves that has said so.
var errExit = errors.New("the client has left")

// read hands on what the client says. It returns nil when the client has left. See serve
// about apart.
func (c *client) read(apart func(generation string) bool) error {
	if c.can.OnNoise != nil {
		c.can.OnNoise(func([]byte) {}) // what a client prints besides is nobody's
	}
	in := &recorder{Reader: c.rw}
	if c.hub.dialect == dialect(mcp{}) && c.hub.opened && apart != nil {
		in.read = new(bytes.Buffer)
	}
	r := c.session.NewReader(in)
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			switch cause := context.Cause(c.ctx); {
			case errors.Is(err, io.EOF) && cause == nil:
				return nil
			case cause != nil:
				return cause
			}
			return c.malformed(err)
		}
		if in.read != nil {
			if away := c.elsewhere(&m, apart); away != nil {
				away.rw = begun{io.MultiReader(in.read, c.rw), c.rw}
				return away
			}
			in.read = nil
		}
		if err := c.handle(&m); err != nil {
			if errors.Is(err, errExit) {
				return nil
			}
			return err
		}
	}
}

// malformed returns the error for a message that cannot be read.
func (c *client) malformed(err error) error {
	var frame *codec.FrameError
	switch {
	case !errors.As(err, &frame):
		return err
	case errors.Is(err, codec.ErrTooLarge):
		return fmt.Errorf("%w: %w (messages { max_size } of host %q sets it)", ErrClient, err, c.hub.host.Name())
	}
	return fmt.Errorf("%w: %w", ErrClient, err)
}

func (c *client) handle(m *codec.Message) error {
	switch m.Kind {
	case codec.Request:
		return c.hub.dialect.request(c, m)
	case codec.Notification:
		return c.hub.dialect.notification(c, m)
	case codec.Response:
		c.mu.Lock()
		to := c.asked[m.ID]
		delete(c.asked, m.ID)
		c.mu.Unlock()
		if to != nil { // else it was taken back, or never asked
			answer := *m
			to <- &answer
		}
	case codec.Cancel:
		c.mu.Lock()
		e := c.open[m.ID]
		if e != nil {
			e.takenBack = true
		}
		c.mu.Unlock()
		if e != nil {
			c.recall(e)
		}
	}
	return nil
}

// forward hands a request to the host and answers it with what comes back.
// tokens are those that its progress is told under.
func (c *client) forward(id uint32, method string, params codec.Raw, tokens []string) {
	c.pursue(id, method, params, tokens, nil)
}

// attend is forward. done is called with the outcome before the client is told.
func (c *client) attend(id uint32, method string, params codec.Raw, tokens []string, done func(result codec.Raw, err error)) {
	c.pursue(id, method, params, tokens, func(_ *errand, result codec.Raw, err error) (codec.Raw, error) {
		done(result, err)
		return result, err
	})
}

// settling makes of the outcome of an errand what the client is told. It may dispatch
// the errand once more if the outcome is an error, and must not wait otherwise.
type settling func(e *errand, result codec.Raw, err error) (codec.Raw, error)

// pursue is forward with a settling, unless that is nil. What the host answers is passed on by
// the goroutine that reads from the host.
func (c *client) pursue(id uint32, method string, params codec.Raw, tokens []string, settle settling) {
	e := &errand{method: method}
	c.mu.Lock()
	c.open[id] = e // before the host can ask something because of it
	c.mu.Unlock()
	settled := func(result codec.Raw, err error) {
		defer c.work.Done()
		c.hub.forget(tokens)
		if settle != nil {
			result, err = settle(e, result, err)
		}
		c.mu.Lock()
		delete(c.open, id)
		forgotten := e.takenBack && errors.Is(err, actors.ErrCancelled) && c.forget(id)
		c.mu.Unlock()
		if !forgotten {
			c.respond(id, result, err)
		}
	}
	c.work.Add(1)
	_, err := c.dispatch(e, method, params, actors.Then(func(result codec.Raw, err error) {
		if err == nil {
			settled(result, nil)
		} else {
			go settled(nil, err) // it may take time, and the lock may be held
		}
	}))
	if err != nil {
		go settled(nil, err) // likewise
	}
}

// dispatch makes the request of an errand.
func (c *client) dispatch(e *errand, method string, params codec.Raw, opts ...actors.CallOption) (*actors.Pending, error) {
	p, err := c.hub.host.Go(c.ctx, method, params, append(opts, actors.Patient(), actors.Timeout(forever))...)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	e.pending = p
	recalled := e.recalled
	c.mu.Unlock()
	if recalled {
		p.Cancel()
	}
	return p, nil
}

// outcome waits for what comes of a request while the client is there.
func (c *client) outcome(p *actors.Pending) (codec.Raw, error) {
	select {
	case <-p.Done():
	case <-c.ctx.Done():
		p.Cancel()
	}
	var out codec.Raw
	err := p.Result(&out)
	return out, err
}

// errand is a request of a client's that is at the host, or on its way there.
type errand struct {
	method    string
	stop      func()          // cancels one that has no pending; nil for others
	pending   *actors.Pending // under client.mu; nil: it is on its way
	recalled  bool            // under client.mu
	takenBack bool            // by the client, under client.mu
}

// answered reports whether the errand has its outcome. Under client.mu.
func (e *errand) answered() bool {
	if e.pending == nil {
		return false
	}
	select {
	case <-e.pending.Done():
		return true
	default:
		return false
	}
}

// recall cancels errands.
func (c *client) recall(list ...*errand) {
	for _, e := range list {
		c.mu.Lock()
		e.recalled = true
		p := e.pending
		c.mu.Unlock()
		if p != nil {
			p.Cancel()
		}
		if e.stop != nil {
			e.stop()
		}
	}
}

// forget leaves a request that the client has taken back without an answer,
// where the protocol has it so. Under client.mu.
func (c *client) forget(id uint32) bool {
	return c.can.Forget != nil && c.can.Forget(id)
}

// respond answers a request of the client.
func (c *client) respond(id uint32, result codec.Raw, err error) {
	m := &codec.Message{Kind: codec.Response, ID: id, Result: result}
	if err != nil {
		m.Result, m.Err = nil, c.hub.failure(err)
	}
	c.send(m)
}

// failure puts an error into the words of JSON-RPC.
func (h *Hub) failure(err error) *codec.Error {
	if own, ok := err.(*codec.Error); ok { //nolint:errorlint // what wraps one says more
		return own
	}
	var call *actors.CallError
	var told *codec.Error
	if errors.As(err, &call) && errors.As(call.Cause, &told) {
		return told
	}
	e := &codec.Error{Code: h.dialect.failed(), Message: err.Error()}
	if errors.Is(err, actors.ErrCancelled) {
		e.Code = codeCancelled
	}
	return e
}

// welcome answers the client's initialize. What the host asks comes behind that.
func (c *client) welcome(id uint32, result codec.Raw, err error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.respond(id, result, err)
	for _, m := range c.early {
		c.notify(m.Method, m.Params)
	}
	c.early, c.earlyBytes, c.greeted = nil, 0, err == nil
	c.meet()
}

// meet lets the host's requests through to the client.
func (c *client) meet() { c.meeting.Do(func() { close(c.met) }) }

// notify tells the client something.
func (c *client) notify(method string, params codec.Raw) {
	c.send(&codec.Message{Kind: codec.Notification, Method: method, Params: params})
}

// ask makes a request of the host's to the client.
func (c *client) ask(ctx context.Context, method string, params codec.Raw) (codec.Raw, error) {
	select {
	case <-c.met:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.gone:
	case <-c.ctx.Done():
	}
	id, answer := c.begin(method, params)
	return c.await(ctx, id, answer)
}

// begin asks without waiting. The client has to be met.
func (c *client) begin(method string, params codec.Raw) (id uint32, answer chan *codec.Message) {
	answer = make(chan *codec.Message, 1)
	c.mu.Lock()
	c.next++
	if c.next == math.MaxUint32 {
		c.next = 1
	}
	id = c.next
	c.asked[id] = answer
	c.mu.Unlock()
	c.send(&codec.Message{Kind: codec.Request, ID: id, Method: method, Params: params})
	return id, answer
}

// await waits for what the client answers.
func (c *client) await(ctx context.Context, id uint32, answer chan *codec.Message) (codec.Raw, error) {
	select {
	case m := <-answer:
		if m.Err != nil {
			return nil, m.Err
		}
		return m.Result, nil
	case <-ctx.Done():
		c.send(&codec.Message{Kind: codec.Cancel, ID: id})
	case <-c.gone:
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	delete(c.asked, id)
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errLeft
}

// errLeft is the answer of a client that leaves before it has answered.
var errLeft = &codec.Error{Code: codeInternal, Message: "the client that was asked has left"}

// end makes the client leave for a reason.
func (c *client) end(reason error) { c.cancel(reason) }

// How long a client that has ended its stream waits for answers, and how long
// it is then given to read them.
const (
	lastAnswers = 10 * time.Second
	lastWait    = 5 * time.Second
)

// finish takes the client out and waits for everything that works for it.
func (c *client) finish(err error) {
	if err != nil {
		c.cancel(err)
	}
	c.hub.leave(c)
	defer context.AfterFunc(c.ctx, c.abandon)() // at once if it is cut off
	// Who has piped its requests into us and said no more wants the answers.
	patience := time.AfterFunc(lastAnswers, c.abandon)
	c.work.Wait()
	patience.Stop()
	c.mu.Lock()
	c.ended = true
	if c.watch != nil {
		c.watch.Stop()
	}
	c.mu.Unlock()
	c.nudge()
	patience = time.AfterFunc(lastWait, func() { c.cancel(errors.New("it does not read its last answers")) })
	<-c.gone
	patience.Stop()
	c.cancel(errExit)
}

// abandon takes back what the client still waits for.
func (c *client) abandon() {
	c.giveUp()
	c.mu.Lock()
	open := make([]*errand, 0, len(c.open))
	for _, e := range c.open {
		open = append(open, e)
	}
	c.mu.Unlock()
	c.recall(open...)
}
