package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// fewRunning is how many handlers may run for the receive loop to let them go
// first. Should all of them compute without a pause, the loop and its acks are
// late by a few hundred milliseconds at most.
const fewRunning = 64

// notesWaiting is how many notifications wait for their handlers.
const notesWaiting = 1024

// conn is one connection in service. Its receive loop takes messages off the
// stream; what happens between two waits of the loop is one turn.
type conn struct {
	srv  *Server
	opt  *options
	rw   io.ReadWriteCloser
	sess *native.Session
	rd   codec.Reader
	w    *writer
	caps codec.Caps // in force; set before the handshake is done

	controls map[string]*handler // of the protocol

	ctx    context.Context // parent of every handler's
	cancel context.CancelCauseFunc

	// Touched by the receive loop only.
	turn    []*request // handed to goroutines in this turn
	holding bool       // handlers leave their writing to the end of this turn
	yield   bool       // there are few enough of them to let them go first
	maxID   uint32     // highest id the supervisor has given
	notes   chan note  // closed by the loop when it ends

	drainOnce sync.Once
	drained   chan struct{} // closed when handlers and hooks are done
	closed    chan struct{} // closed when nothing is written any more
	helpers   sync.WaitGroup

	mu       sync.Mutex
	open     map[uint32]*request // requests of the supervisor on goroutines or waiting for one
	running  int                 // goroutines that handle requests
	idlers   []chan *request     // workers kept for later requests
	retired  bool                // none is kept any more
	waiting  []*request          // beyond the limit of running, oldest first
	busy     int                 // requests, notifications and hooks accepted and not done
	quiet    chan struct{}       // closed when busy is 0; nil while nobody waits
	refusing bool                // nothing new is accepted
	goodbyes []*request          // shutdown requests to answer when drained
	parting  bool                // a goodbye was asked for
	over     bool                // the drain is over: goodbyes are answered at once
	calls    map[uint32]*call    // ours that are open
	lastCall uint32              // highest id we gave
	wrapped  bool                // our ids have started anew
	gone     error               // why calls cannot be made any more
}

// loop is the receive loop. It returns why it ended, never nil.
func (c *conn) loop() error {
	defer close(c.notes)
	if err := c.handshake(); err != nil {
		return err
	}
	var m codec.Message
	for {
		err := c.rd.Next(&m)
		if err == nil {
			err = c.take(&m)
		}
		if err != nil {
			// What the turn has made so far is still owed, if it can be paid.
			_ = c.endTurn()
			return err
		}
		if !c.rd.Buffered() {
			if err := c.endTurn(); err != nil {
				return err
			}
		}
	}
}

// endTurn acknowledges what this turn has handed on and not seen answered yet,
// and writes everything in one go.
func (c *conn) endTurn() error {
	if len(c.turn) == 0 {
		return c.w.flush()
	}
	if c.yield {
		// Handlers that are quick answer within the turn: one write, where
		// their ack and their answer would take two.
		runtime.Gosched()
	}
	c.w.mu.Lock()
	if c.caps.Has(codec.CapAck) {
		for _, r := range c.turn {
			if !r.answered {
				// An ack has no payload that could be refused. It may go over
				// the buffer's limit: what is written next makes room.
				_ = c.w.addLocked(&codec.Message{Kind: codec.Ack, ID: r.id})
			}
		}
	}
	err := c.w.releaseLocked()
	c.w.mu.Unlock()
	c.holding = false
	clear(c.turn)
	c.turn = c.turn[:0]
	return err
}

// hold has handlers leave their writing to the end of this turn.
func (c *conn) hold() {
	if !c.holding {
		c.holding = true
		c.w.hold()
	}
}

// letGo has handlers write themselves again: the turn may take long.
func (c *conn) letGo() {
	if c.holding {
		c.holding = false
		c.w.letGo()
	}
}

// take handles one message after the handshake. An error ends the connection.
func (c *conn) take(m *codec.Message) error {
	switch m.Kind {
	case codec.Request:
		return c.request(m)
	case codec.Notification:
		return c.notify(m)
	case codec.Response:
		return c.response(m)
	case codec.Cancel, codec.Credit:
		if m.ID == 0 || m.ID > c.maxID {
			return neverGiven(m)
		}
		c.mu.Lock()
		r := c.open[m.ID]
		c.mu.Unlock()
		switch {
		case r == nil: // answered meanwhile
		case m.Kind == codec.Cancel:
			c.withdraw(r)
		case r.stream != nil:
			return r.stream.allow(m.Credit)
		}
		return nil
	case codec.Ack:
		if !c.gaveID(m.ID) {
			return neverGiven(m)
		}
		return nil
	case codec.Item:
		if !c.gaveID(m.ID) {
			return neverGiven(m)
		}
		return &codec.FrameError{Err: codec.ErrNoCredit, Offset: -1, Detail: fmt.Sprintf("item for request %d", m.ID)}
	}
	return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: m.Kind.String()}
}

// request handles one request: at once, or on a goroutine.
func (c *conn) request(m *codec.Message) error {
	c.maxID = max(c.maxID, m.ID)
	switch m.Method {
	case native.MethodPing:
		return c.answer(m.ID, nil, nil)
	case native.MethodShutdown:
		return c.goodbye(m.ID)
	}
	h := (*c.srv.methods.Load())[m.Method]
	if own := c.controls[m.Method]; own != nil && c.caps.Has(codec.CapExtensions) {
		h = own
	}

	c.mu.Lock()
	_, twice := c.open[m.ID]
	refusing := c.refusing
	c.mu.Unlock()
	switch {
	case twice:
		return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("request %d while request %d is open", m.ID, m.ID)}
	case refusing:
		return c.answer(m.ID, nil, shuttingDown())
	case h == nil:
		return c.answer(m.ID, nil, methodNotFound(m.Method))
	case !h.inline || h.stream != nil || h.of != nil && !h.of.on.Load(): // the last one has to wait
		return c.dispatch(h, m)
	}
	c.letGo()
	ctx := &handling{Context: c.ctx, id: m.ID, inline: true, trace: m.Trace}
	result, failure := h.invoke(ctx, m.Params)
	return c.answer(m.ID, result, failure)
}

// answer adds a response without writing it. The error is the connection's.
func (c *conn) answer(id uint32, result codec.Raw, failure *codec.Error) error {
	if err := c.w.lock(context.Background()); err != nil {
		return err
	}
	c.respondLocked(id, result, failure)
	c.w.mu.Unlock()
	return nil
}

// respondLocked adds a response, or one that says why it cannot be sent.
func (c *conn) respondLocked(id uint32, result codec.Raw, failure *codec.Error) {
	m := codec.Message{Kind: codec.Response, ID: id, Result: result, Err: failure}
	err := c.w.addLocked(&m)
	if err == nil {
		return
	}
	m.Result = nil
	switch {
	case failure != nil: // too long a story: its beginning has to do
		m.Err = &codec.Error{Name: cut(failure.Name, 64), Message: cut(failure.Message, 256), Code: failure.Code}
	case errors.Is(err, codec.ErrTooLarge):
		m.Err = &codec.Error{Name: NameTooLarge, Message: err.Error()}
	default:
		m.Err = &codec.Error{Name: NameInvalidResult, Message: err.Error()}
	}
	_ = c.w.addLocked(&m) // a limit below this leaves no room for any answer
}

// cut shortens s to n bytes at most.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

func neverGiven(m *codec.Message) error {
	return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("%v for id %d", m.Kind, m.ID)}
}
