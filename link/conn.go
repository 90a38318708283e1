package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Errors of [Conn.Send]. After both the request is its caller's to send elsewhere.
var (
	// ErrClosed means that the connection takes no such request: it has ended, or
	// drains.
	ErrClosed = errors.New("connection closed")
	// ErrMoved means that the connection has ended while the request waited to be
	// written, and that whoever got it from [Conn.Close] has let it go by [Conn.Leave].
	ErrMoved = errors.New("connection closed, and the request is to go on")
)

// Owner is told what happens on a [Conn]. It must not block, but for Pace. Only
// Sent and Broke may come from several goroutines at once, and they are called
// under the lock of the outbox: they must not use the Conn. All others are called by
// the read loop, in the order of the stream.
type Owner interface {
	// Opened tells that both sides have shaken hands.
	Opened(peer codec.Peer)
	// Pace is called before more is read. It may hold that up as long as what was
	// read before has found no taker, until ctx ends.
	Pace(ctx context.Context)
	// Noise gets each line that the peer has printed where messages belong, where the
	// protocol allows that. It must not keep the slice.
	Noise(line []byte)
	// Notified gets each notification.
	Notified(m *codec.Message)
	// Asked gets each request of the peer, and returns what answers it: reply, which
	// is the owner's no more, at once, or else handle on a goroutine of its own.
	// When both are nil, the request is never answered.
	Asked(m *codec.Message) (reply *codec.Message, handle Handler)
	// Sent tells of each request before the peer can have read it. again says that it
	// was sent before, on another connection.
	Sent(p *Pending, m *codec.Message, again bool)
	// Answered tells of each answer before the request has its outcome. p is nil when
	// nobody waits for that answer; since is when the request was written, 0 when it
	// was not.
	Answered(id uint32, p *Pending, since, now int64)
	// Replied tells that an internal request was answered.
	Replied(p *Pending)
	// Sign tells of a sign of life while the peer is said to hang; see [Conn.SetHung].
	Sign()
	// Broke tells, once, that nothing can be written any more though nobody closed the
	// connection here.
	Broke(err error)
	// Ended tells why the stream has ended: io.EOF is a clean end, and a *[PanicError]
	// a defect. It is the last call.
	Ended(err error)
}

// Options are what a [Conn] is made from.
type Options struct {
	Session codec.Session
	Wire    Wire
	Owner   Owner
	Env     Env
	FirstID uint32          // of the requests of this side; those below are the handshake's
	Serving *sync.WaitGroup // counts the handlers of the peer's requests; may be nil
}

// Conn is one conversation with one peer.
type Conn struct {
	session codec.Session
	wire    Wire
	owner   Owner
	env     Env
	out     outbox
	caps    codec.Caps // set before anybody but the handshake sends
	acks    bool       // every request is owed an ack, else only internal ones are owed an answer

	mu       sync.Mutex
	table    pending.Table // of the requests of this side
	received ring          // headers of what was read
	drained  func()        // called when no caller waits any more; nil without a drain
	requests requests      // of the peer
	turns    turns         // of their answers

	ctx    context.Context // of the connection
	cancel context.CancelCauseFunc
	loops  sync.WaitGroup

	sign atomic.Int64 // last sign of life
	hung atomic.Bool  // the verdict in force
}

// New makes a Conn. Nothing is read or written by itself before Open.
func New(o Options) *Conn {
	c := &Conn{session: o.Session, wire: o.Wire, owner: o.Owner, env: o.Env, table: pending.NewTable(o.FirstID)}
	c.out = outbox{w: o.Wire, env: o.Env, session: o.Session, wake: make(chan struct{}, 1), broke: o.Owner.Broke}
	c.requests.count = o.Serving
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Session returns the protocol's state of the connection.
func (c *Conn) Session() codec.Session { return c.session }

// Acks reports whether the peer acknowledges requests. Valid once it is open.
func (c *Conn) Acks() bool { return c.acks }

// agree sets what both sides can do.
func (c *Conn) agree(caps codec.Caps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caps, c.acks = caps, caps.Has(codec.CapAck)
	c.table.Agree(pending.Rules{Acks: c.acks, Cancel: caps.Has(codec.CapCancel), Abandon: caps.Has(codec.CapAbandon)})
}

// Send gives a request its id and puts its frame into the outbox. Where limit (see
// [Limit]) has it wait for room, it waits no longer than ctx and the request live.
// After ErrClosed, ErrMoved or an *[OverloadError] the request is its caller's; else
// it has its outcome or will have it, and must not be sent again.
//
// NOTE: by the time that Send returns, the connection may have ended, and the
// request be on its way to another one. It is not touched behind the lock of the
// outbox any more.
func (c *Conn) Send(ctx context.Context, p *Pending, limit int) error {
	now := c.env.Now()
	o := &c.out
	o.mu.Lock()
	if o.err != nil || len(o.buf) >= limit {
		o.mu.Unlock()
		return c.sendLater(ctx, p, limit, now)
	}
	out, again, err := c.register(pending.Send, p, now)
	if err != nil {
		o.mu.Unlock()
		return p.refused(err)
	}
	if err := c.encode(p, out.ID, now, again); err != nil {
		// The wire cannot carry it; the connection is none the worse.
		c.step(pending.Event{Op: pending.Drop, ID: out.ID}, 0)
		o.mu.Unlock()
		p.Settle(nil, p.reason(err))
		return nil
	}
	switch {
	case p.stream != nil && c.caps.Has(codec.CapStream):
		_ = o.encode(&codec.Message{Kind: codec.Credit, ID: out.ID, Credit: pending.Window}, now) // it has no payload that could be refused
		o.leave(byLoop)
	case out.Do.Has(pending.Alone) && o.claim():
		o.write()
	default:
		o.leave(byLoop)
	}
	return nil
}

// refused is the error of Send for one of register.
func (p *Pending) refused(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	return p.reason(err)
}

// sendLater is Send when there is no room. The request is owed an acknowledgement
// from now on, written or not.
func (c *Conn) sendLater(ctx context.Context, p *Pending, limit int, now int64) error {
	out, _, err := c.register(pending.Register, p, now)
	if err != nil {
		return p.refused(err)
	}
	for {
		told, space, err := c.write(p, out.ID, limit)
		switch {
		case err == nil && told.Has(pending.Orphaned):
			return p.moved()
		case err == nil && told.Has(pending.Gone):
			if c.caps.Has(codec.CapCancel) {
				c.Post(&codec.Message{Kind: codec.Cancel, ID: out.ID})
			}
			if c.caps.Has(codec.CapAbandon) {
				c.step(pending.Event{Op: pending.Drop, Entry: &p.entry}, 0)
			}
			return nil
		case err == nil:
			if p.stream != nil && c.caps.Has(codec.CapStream) { // which never goes to another connection
				c.Post(&codec.Message{Kind: codec.Credit, ID: out.ID, Credit: pending.Window})
			}
			return nil
		case errors.Is(err, ErrFull):
			select {
			case <-space:
				continue
			case <-ctx.Done():
				p.Settle(nil, p.reason(ctx.Err()))
			case <-p.done:
			}
			c.step(pending.Event{Op: pending.Drop, Entry: &p.entry}, 0)
			return nil
		case errors.As(err, new(*codec.FrameError)):
			p.Settle(nil, p.reason(err))
			return nil
		}
		// The stream is broken; the read loop says so too and everything
		// that is registered is answered there.
		if c.step(pending.Event{Op: pending.Unsent, Entry: &p.entry}, 0).Do.Has(pending.Orphaned) {
			return p.moved()
		}
		return nil
	}
}

// moved hands a request back to whoever has sent it.
func (p *Pending) moved() error {
	p.conn.Store(nil)
	return ErrMoved
}

// write puts a registered request into the outbox. What it returns is for who
// writes.
func (c *Conn) write(p *Pending, id uint32, limit int) (told pending.Effect, space <-chan struct{}, err error) {
	now := c.env.Now()
	o := &c.out
	o.mu.Lock()
	if space, err = o.room(limit); err != nil {
		o.mu.Unlock()
		return 0, space, err
	}
	c.mu.Lock()
	again := p.sent
	p.sent = true
	c.mu.Unlock()
	if err := c.encode(p, id, now, again); err != nil {
		c.step(pending.Event{Op: pending.Drop, Entry: &p.entry}, 0)
		o.mu.Unlock()
		return 0, nil, err
	}
	told = c.step(pending.Event{Op: pending.Wrote, ID: id}, now).Do
	o.leave(byLoop)
	return told, nil, nil
}

// register gives a request its id. again says that it was sent before.
func (c *Conn) register(op pending.Op, p *Pending, now int64) (out pending.Effects, again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.entry.Internal = p.Internal
	switch out = c.table.Step(pending.Event{Op: op, Entry: &p.entry}, now); {
	case out.Do.Has(pending.Closed):
		return out, false, ErrClosed
	case out.Do.Has(pending.Overloaded):
		return out, false, &OverloadError{int(out.N)}
	}
	p.conn.Store(c)
	if op == pending.Send {
		again, p.sent = p.sent, true
	}
	return out, again, nil
}

// encode puts the frame of a request into the outbox, whose lock the caller holds.
func (c *Conn) encode(p *Pending, id uint32, now int64, again bool) error {
	m := &c.out.request
	*m = codec.Message{Kind: codec.Request, ID: id, Method: p.Method, Params: p.Params, Progress: p.Idle > 0 && p.stream == nil}
	if c.caps.Has(codec.CapTrace) {
		m.Trace = p.Trace
	}
	err := c.out.encode(m, now)
	if err == nil {
		c.owner.Sent(p, m, again)
	}
	m.Params = nil // it is the caller's
	return err
}

// step tells the table of the requests what has happened. The caller carries the
// effects out, but for the end of a drain.
func (c *Conn) step(ev pending.Event, now int64) pending.Effects {
	c.mu.Lock()
	out := c.stepLocked(ev, now)
	c.mu.Unlock()
	return out
}

// stepLocked is step for a caller that holds the lock.
func (c *Conn) stepLocked(ev pending.Event, now int64) pending.Effects {
	out := c.table.Step(ev, now)
	if out.Do.Has(pending.Drained) && c.drained != nil {
		c.drained()
		c.drained = nil
	}
	return out
}

// promise returns the request that an entry is part of.
func promise(e *pending.Entry) *Pending { return e.Owner.(*Pending) }

func promises(list []*pending.Entry) []*Pending {
	out := make([]*Pending, len(list))
	for i, e := range list {
		out[i] = promise(e)
	}
	return out
}

// Owing returns since when an answer is owed, for the liveness verdict, and
// whether there can be one: a connection that has ended owes nothing, which
// says nothing about its peer.
func (c *Conn) Owing() (since int64, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.Owed(), !c.table.IsClosed()
}

// LastSign returns when the last sign of life came, 0 before the first.
func (c *Conn) LastSign() int64 { return c.sign.Load() }

// SetHung sets whether the peer is said to hang. While it is, the owner is told of
// signs of life.
func (c *Conn) SetHung(hung bool) { c.hung.Store(hung) }

// Hung returns what SetHung has set.
func (c *Conn) Hung() bool { return c.hung.Load() }

// grant gives the peer credit for the items of a stream that its caller has taken.
func (c *Conn) grant(p *Pending, items int) {
	out := c.step(pending.Event{Op: pending.Grant, Entry: &p.entry, N: uint32(items)}, c.env.Now())
	if out.Do.Has(pending.GiveCredit) && c.caps.Has(codec.CapStream) {
		c.Post(&codec.Message{Kind: codec.Credit, ID: out.Entry.ID(), Credit: out.N})
	}
}

// withdraw tells the peer that the caller of a settled request is gone. The id
// stays open until the peer has answered, where it has to.
func (c *Conn) withdraw(p *Pending) {
	now := c.env.Now()
	o := &c.out
	o.mu.Lock() // a request is in the outbox with its frame, or not yet in the table
	out := c.step(pending.Event{Op: pending.Cancel, Entry: &p.entry}, now)
	if _, err := o.room(2 * Limit); err == nil && out.Do.Has(pending.TellCancel) {
		_ = o.encode(&codec.Message{Kind: codec.Cancel, ID: p.entry.ID()}, now) // it has no payload that could be refused
		o.leave(byLoop)
		return
	}
	o.mu.Unlock()
}

// Put hands a message that gets no answer to the outbox. After ErrFull, which limit
// leads to, space says when to try again.
func (c *Conn) Put(m *codec.Message, limit int) (space <-chan struct{}, err error) {
	return c.out.put(m, byLoop, limit)
}

// Room says whether Put would take a message; else why not, and after ErrFull when to
// try again.
func (c *Conn) Room(limit int) (space <-chan struct{}, err error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.room(limit)
}

// Post sends a small message without waiting for an answer. When the outbox is full
// the peer is not reading; cancel and credit still go in, as it may read again,
// and answers to the peer are dropped: it asked, so it has to read. A peer that
// reads nothing and lets even that run over loses those, too.
func (c *Conn) Post(m *codec.Message) { c.post(m, byLoop) }

// post is Post for the read loop as well: what that answers is held, and leaves
// together once it has to wait for more, or with what somebody else says before.
func (c *Conn) post(m *codec.Message, w when) {
	limit := 2 * Limit
	if m.Kind == codec.Response {
		limit = Limit
	}
	// An error is the end of the connection, which the read loop tells of.
	_, _ = c.out.put(m, w, limit)
}

// IsFull reports whether as much waits for a peer that does not read as may.
func (c *Conn) IsFull() bool { return c.out.full() }

// IsBroken reports whether nothing can be written any more.
func (c *Conn) IsBroken() bool { return c.out.broken() }

// Drain refuses new requests from now on. done is called once, when no caller waits
// for an answer any more, which may be at once; it must not wait, or use the Conn.
func (c *Conn) Drain(done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = done
	c.stepLocked(pending.Event{Op: pending.Drain}, 0)
}

// CutOff ends the waiting of a drain. It returns the requests that are not answered,
// oldest first, which the caller must cancel.
func (c *Conn) CutOff() []*Pending {
	c.mu.Lock()
	c.table.Step(pending.Event{Op: pending.CutOff}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	return promises(list)
}

// Close ends the connection for new requests and takes out those that are open,
// oldest first, which the caller must settle or let go by Leave. err is why the
// handlers of the peer's requests end. Only the first call does anything.
func (c *Conn) Close(err error) []*Pending {
	c.mu.Lock()
	if c.table.IsClosed() {
		c.mu.Unlock()
		return nil
	}
	c.cancel(err)
	c.table.Step(pending.Event{Op: pending.Close}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	return promises(list)
}

// Leave lets a request go that Close has returned, so that it can be sent elsewhere.
// false: whoever is still writing it gets ErrMoved, and sends it.
func (c *Conn) Leave(p *Pending) bool {
	if !c.step(pending.Event{Op: pending.Leave, Entry: &p.entry}, 0).Do.Has(pending.Free) {
		return false
	}
	p.conn.Store(nil)
	return true
}

// EndWrite closes our half of the stream behind all that was put before.
func (c *Conn) EndWrite() { c.out.end() }

// Shut closes the wire and waits for the loops. The requests must have been taken
// out by Close.
func (c *Conn) Shut() {
	c.out.close(io.ErrClosedPipe)
	c.wire.Close()
	c.loops.Wait()
}

// Headers returns the last message headers of both directions, oldest first.
func (c *Conn) Headers() []Header {
	c.out.mu.Lock()
	all := c.out.sent.append(make([]Header, 0, 2*headersKept), c.env, "sent")
	c.out.mu.Unlock()
	c.mu.Lock()
	all = c.received.append(all, c.env, "received")
	c.mu.Unlock()
	return newest(all)
}

// fault puts what the peer has done wrong in words. what is "ack of", for example.
func fault(out pending.Effects, what string, m *codec.Message) error {
	e := &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("%s request %d, which was never made", what, m.ID)}
	switch out.Fault {
	case pending.Answered:
		e.Detail = fmt.Sprintf("%s request %d, which was answered before", what, m.ID)
	case pending.NotAllowed:
		e.Err, e.Detail = codec.ErrNoCredit, fmt.Sprintf("%s request %d, whose caller allowed none", what, m.ID)
	case pending.NoCredit:
		e.Err, e.Detail = codec.ErrNoCredit, fmt.Sprintf("item %d", m.Seq)
	case pending.Disorder:
		e.Err, e.Detail = codec.ErrShape, fmt.Sprintf("item %d where %d is next", m.Seq, out.N)
	}
	return e
}
