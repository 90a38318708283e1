package link

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// PeerBounds are the bounds of what a peer asks for that is not trusted: how many
// requests may be open, and how many bytes their parameters may have together with the
// answers that wait for the peer to read. What exceeds them is answered with an error of
// name [NameOverloaded].
var PeerBounds = pending.Bounds{Open: 256, Bytes: 256 << 20}

// Names of errors that a peer is answered with, besides those of package codec.
const (
	NameOverloaded    = "Overloaded"    // too many requests are open
	NameTooLarge      = "TooLarge"      // the answer exceeds the limit of a message
	NameInvalidResult = "InvalidResult" // the answer cannot be encoded
)

// ErrTakenBack is the cause with which the context of a handler ends when the peer has
// cancelled the request, unless [Options] names another one. It is a context.Canceled,
// too.
var ErrTakenBack error = takenBack{}

type takenBack struct{}

func (takenBack) Error() string        { return "the peer took the request back" }
func (takenBack) Is(target error) bool { return target == context.Canceled }

// Handler answers requests of the peer.
type Handler interface {
	// Serve returns the result of a request, or a failure. It runs on a goroutine of its
	// own, and must return soon after its context, r, has ended.
	Serve(r *Incoming) (result codec.Raw, failure *codec.Error)
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc func(r *Incoming) (codec.Raw, *codec.Error)

// Serve implements [Handler].
func (f HandlerFunc) Serve(r *Incoming) (codec.Raw, *codec.Error) { return f(r) }

// Urgent is a [Handler] whose requests [pending.Bounds.Running] does not keep waiting.
type Urgent interface {
	Handler
	Urgent()
}

// Incoming is a request of the peer while a [Handler] works on it, and the context of
// that: it ends when the peer cancels the request or the connection ends.
type Incoming struct {
	context.Context
	Params codec.Raw
	Trace  codec.Trace

	c       *Conn
	handler Handler
	cancel  context.CancelCauseFunc
	job     pending.Job
	items   *items // nil until Items is called; guarded by the lock of the connection
	result  codec.Raw
	failure *codec.Error
	after   func() // see After
	ordered bool   // its answer waits for its turn, see turns

	answered bool // the answer is in the outbox, whose lock guards this
}

type incomingKey struct{}

// Value implements context.Context.
func (r *Incoming) Value(key any) any {
	if key == (incomingKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// IncomingOf returns the request that ctx, or a context that it was made from, belongs
// to; nil if there is none.
func IncomingOf(ctx context.Context) *Incoming {
	r, _ := ctx.Value(incomingKey{}).(*Incoming)
	return r
}

// ID returns the id that the peer has given the request.
func (r *Incoming) ID() uint32 { return r.job.ID }

// After has f called when the answer is in the outbox, or cannot be put there any more:
// what is sent then follows the answer. Only the handler may call it, once.
func (r *Incoming) After(f func()) { r.after = f }

// Cancel ends the context of the handler with a cause.
func (r *Incoming) Cancel(cause error) { r.cancel(cause) }

// fewRunning is how many handlers may run for the read loop to let them go first at the
// end of a turn. Should all of them compute without a pause, the acknowledgements are
// late by a few hundred milliseconds at most.
const fewRunning = 64

// serve has a request of the peer answered, at once or by a handler. It is called by the
// read loop.
func (c *Conn) serve(m *codec.Message) error {
	ordered := c.can.Stacks != nil && c.turns.enter(&c.can, m)
	later, err := c.begin(m, ordered)
	if ordered && !later {
		c.passOnBeside(m.ID)
	}
	return err
}

// begin answers a request, or has a handler do that later.
func (c *Conn) begin(m *codec.Message, ordered bool) (later bool, err error) {
	reply, handler := c.owner.Asked(m)
	if handler == nil {
		if reply != nil {
			reply.Kind, reply.ID = codec.Response, m.ID
			c.reply(reply)
		}
		return false, nil
	}
	r := &Incoming{Params: m.Params, Trace: m.Trace, c: c, handler: handler, ordered: ordered}
	r.job = pending.Job{Owner: r, ID: m.ID, Size: len(m.Params)}
	_, r.job.Urgent = handler.(Urgent)
	r.Context, r.cancel = context.WithCancelCause(c.parent)
	c.mu.Lock()
	if c.table.IsClosed() {
		c.mu.Unlock()
		r.cancel(nil)
		return false, nil
	}
	n, bytes := c.incoming.Open()
	v := c.incoming.Ask(&r.job)
	if v == pending.Starts || v == pending.Waits {
		c.begun()
	}
	c.yield = c.incoming.Running() <= fewRunning
	c.mu.Unlock()
	switch v {
	case pending.TooMany, pending.TooLarge:
		r.cancel(nil)
		text := fmt.Sprintf("%d requests are open", n)
		if v == pending.TooLarge {
			text = fmt.Sprintf("the open requests have %d bytes of parameters, and this one %d, limit %d together", bytes, len(m.Params), c.bounds.Bytes)
		}
		c.reply(refusal(m.ID, NameOverloaded, text))
		return false, nil
	}
	if len(c.turn) == 0 {
		c.out.begin()
	}
	c.turn = append(c.turn, r)
	if v == pending.Starts {
		c.start(r)
	}
	return true, nil
}

func refusal(id uint32, name, message string) *codec.Message {
	return &codec.Message{Kind: codec.Response, ID: id, Err: &codec.Error{Name: name, Message: message}}
}

// EndTurn acknowledges the requests that were handed to handlers since the last call and
// are not answered yet, and writes everything in one go. The read loop calls it before
// it reads more. An [Owner] that blocks on the read loop must call it before; nobody else
// may call it.
func (c *Conn) EndTurn() {
	if len(c.turn) == 0 {
		c.out.release()
		return
	}
	if c.yield {
		// Handlers that are quick answer within the turn: one write, where their
		// acknowledgement and their answer would take two.
		runtime.Gosched()
	}
	o := &c.out
	o.mu.Lock()
	if c.caps.Has(codec.CapAck) && o.err == nil {
		for _, r := range c.turn {
			if !r.answered {
				o.request = codec.Message{Kind: codec.Ack, ID: r.job.ID}
				// It has no payload that could be refused, and may exceed the limit:
				// it is smaller than the request.
				_ = o.encode(&o.request, o.now())
			}
		}
	}
	o.releaseLocked()
	clear(c.turn)
	c.turn = c.turn[:0]
}

// LetGo has handlers write their answers themselves until the next request is handed to
// one. An [Owner] that may take long on the read loop must call it before.
func (c *Conn) LetGo() {
	if len(c.turn) > 0 {
		c.out.letGo()
	}
}

// reply sends what the read loop answers. It leaves with the turn. If the outbox is
// full, the answer is dropped, as the peer does not read, unless the loop may wait.
func (c *Conn) reply(m *codec.Message) {
	for {
		o := &c.out
		o.mu.Lock()
		space, err := o.room(c.limit)
		if err == nil && o.encodeAnswer(m) == nil {
			o.flush(held)
			return
		}
		o.mu.Unlock()
		if space == nil || !c.waits {
			return
		}
		c.EndTurn()
		<-space // closed at the end of the connection, too
	}
}

// encodeAnswer is encode for an answer. One that the wire cannot carry is replaced by an
// error, and an error that it cannot carry either is cut short.
func (o *outbox) encodeAnswer(m *codec.Message) (err error) {
	for range 3 {
		if err = o.encode(m, o.now()); err == nil {
			return nil
		}
		unsendable(m, err)
	}
	return err
}

// unsendable replaces an answer that the wire cannot carry.
func unsendable(m *codec.Message, err error) {
	name := NameInvalidResult
	switch e := m.Err; {
	case e != nil:
		m.Err = &codec.Error{Name: cut(e.Name, 64), Message: cut(e.Message, 256), Code: e.Code}
		return
	case errors.Is(err, codec.ErrTooLarge):
		name = NameTooLarge
	}
	m.Result, m.Err = nil, &codec.Error{Name: name, Message: err.Error()}
}

// cut shortens s to n bytes at most.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// start runs a handler.
func (c *Conn) start(r *Incoming) { c.env.Go(func() { c.work(r) }) }

// work runs a handler, and after it those of requests that wait.
func (c *Conn) work(r *Incoming) {
	returned := false
	defer func() {
		if !returned { // the handler has ended this goroutine
			if next := c.next(r); next != nil {
				c.start(next)
			}
		}
	}()
	for ; r != nil; r = c.next(r) {
		r.run()
	}
	returned = true
}

// next takes in that the handler of a request has ended, and returns the request that
// waits for the next.
func (c *Conn) next(ended *Incoming) *Incoming {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended()
	if j := c.incoming.Free(&ended.job); j != nil {
		return j.Owner.(*Incoming)
	}
	return nil
}

// begun and ended count what goes on for a request of the peer.
func (c *Conn) begun() {
	if c.serving != nil {
		c.serving.Add(1)
	}
}

func (c *Conn) ended() {
	if c.serving != nil {
		c.serving.Done()
	}
}

// run has the request handled and answers it, whatever the handler does.
func (r *Incoming) run() {
	r.failure = &errEndedGoroutine
	defer r.finish()
	r.result, r.failure = r.handler.Serve(r)
}

var errEndedGoroutine = codec.Error{Name: codec.NamePanic, Message: "the handler ended its goroutine"}

func (r *Incoming) finish() {
	c := r.c
	if r.ordered {
		defer c.passOn(r.job.ID)
		c.turns.await(r, r.job.ID)
	}
	c.mu.Lock()
	c.incoming.Answer(&r.job)
	c.mu.Unlock()
	r.respond()
	r.cancel(nil)
	if r.after != nil {
		r.after()
	}
}

// respond sends the answer, waiting for a peer that does not read.
func (r *Incoming) respond() {
	c, id := r.c, r.job.ID
	for waited := false; ; waited = true {
		if r.takenBack() {
			if c.out.forget(id) {
				return
			}
			if waited && !c.waits {
				c.post(refusal(id, codec.NameCancelled, c.takenBack.Error()), byLoop)
				return
			}
		}
		space, err := r.putAnswer()
		if err == nil || !errors.Is(err, ErrFull) {
			return // else the stream is broken, which the read loop reports
		}
		size := len(r.result)
		c.mu.Lock()
		ok := c.incoming.Hold(size)
		c.mu.Unlock()
		if !ok {
			c.post(refusal(id, NameOverloaded, fmt.Sprintf("an answer of %d bytes does not fit to those that are not read, limit %d together", size, c.bounds.Bytes)), byLoop)
			return
		}
		gone := r.await(space)
		c.mu.Lock()
		c.incoming.Unhold(size) // before the peer can have read of it
		c.mu.Unlock()
		if gone {
			return
		}
	}
}

// putAnswer puts the answer, which an acknowledgement must not follow.
func (r *Incoming) putAnswer() (space <-chan struct{}, err error) {
	o := &r.c.out
	o.mu.Lock()
	if space, err = o.room(r.c.limit); err != nil {
		o.mu.Unlock()
		return space, err
	}
	m := &o.request
	*m = codec.Message{Kind: codec.Response, ID: r.job.ID, Result: r.result, Err: r.failure}
	err = o.encodeAnswer(m)
	m.Result, m.Err = nil, nil // not kept alive until the next message
	r.answered = true
	if err != nil {
		o.mu.Unlock()
		return nil, err
	}
	o.flush(ofTurn)
	return nil, nil
}

func (r *Incoming) takenBack() bool {
	return r.Err() != nil && context.Cause(r) == r.c.takenBack //nolint:errorlint // it is never wrapped
}

// await waits for space, or until the peer takes the request back. gone reports that the
// connection has ended.
func (r *Incoming) await(space <-chan struct{}) (gone bool) {
	ended := r.Done()
	if r.c.waits {
		ended = nil
	}
	for {
		select {
		case <-space:
			return false
		case <-r.c.ctx.Done():
			return true
		case <-ended:
			if r.takenBack() {
				return false
			}
			ended = nil // the answer is sent all the same
		}
	}
}

// withdrawn takes in that the peer cancels a request.
func (c *Conn) withdrawn(m *codec.Message) error {
	c.mu.Lock()
	j, v := c.incoming.Withdraw(m.ID)
	c.mu.Unlock()
	switch v {
	case pending.Unknown:
		return c.neverGiven(m)
	case pending.Stops:
		j.Owner.(*Incoming).cancel(c.takenBack)
	case pending.Dropped:
		r := j.Owner.(*Incoming)
		r.cancel(c.takenBack)
		r.answered = true // read by this loop alone, as no handler has it
		if !c.out.forget(m.ID) {
			c.reply(refusal(m.ID, codec.NameCancelled, c.takenBack.Error()))
		}
		c.ended()
	}
	return nil
}

// neverGiven is the fault of a peer that speaks of a request it has never made. What
// protocols other than hostsup's say of such is ignored.
func (c *Conn) neverGiven(m *codec.Message) error {
	if c.caps.Has(codec.CapAbandon) {
		return nil
	}
	return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("%v for id %d", m.Kind, m.ID)}
}
