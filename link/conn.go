package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Errors of [Conn.Send]. After either, the sender may send the request elsewhere.
var (
	// ErrClosed means that the connection does not accept the request, because it has
	// ended or drains.
	ErrClosed = errors.New("connection closed")
	// ErrMoved means that the connection ended while Send waited for room, and that
	// [Conn.Release] was called for the request.
	ErrMoved = errors.New("connection closed while the request waited to be written")
)

// Owner is told what happens on a [Conn]. Its methods must not block, except Pace, or
// after [Conn.EndTurn].
// The read loop calls them, in the order of the stream, except Sent and Broke: a Conn
// calls these two under the lock of its outbox, on the goroutine that sends or writes,
// and they must not use the Conn.
type Owner interface {
	// Opened is called when the handshake is done, before any other message is
	// delivered.
	Opened(peer codec.Peer)
	// Pace is called before each read. It may block until what was read before is
	// consumed, but must return when ctx ends.
	Pace(ctx context.Context)
	// Noise is called with each line that the peer has printed between messages, where
	// the protocol allows that. It must not keep the slice.
	Noise(line []byte)
	// Notified is called with each notification.
	Notified(m *codec.Message)
	// Asked is called with each request of the peer. The Conn sends reply at the end of
	// the turn if it is not nil; it may change reply, and does not keep it until the next
	// call of Asked. Else it runs handler on a goroutine. The request is never answered
	// if both are nil.
	Asked(m *codec.Message) (reply *codec.Message, handler Handler)
	// Sent is called for each request of this side before the peer can have read it.
	// again reports whether it was sent before, on another connection. Sent must not
	// keep or change m.
	Sent(p *Pending, m *codec.Message, again bool)
	// Answered is called for each response, before the request has its outcome. p is
	// nil if no request is open under the id. since is when the request was written,
	// or 0.
	Answered(id uint32, p *Pending, since, now int64)
	// Replied is called when the peer has answered an internal request.
	Replied(p *Pending)
	// Sign is called at a sign of life while [Conn.SetHung] is in force.
	Sign()
	// Broke is called once when a write has failed.
	Broke(err error)
	// Ended is called last, with the error that ended the read loop: io.EOF after a
	// clean end, a *[PanicError] after a panic.
	Ended(err error)
}

// Options are what a [Conn] is made from.
type Options struct {
	Session codec.Session
	Wire    Wire
	Owner   Owner
	Env     Env
	FirstID uint32 // of requests of this side; the handshake has those below

	Bounds    pending.Bounds  // of the requests of the peer
	Serving   Counter         // counts the requests that handlers have; may be nil
	Context   context.Context // parent of the contexts of handlers; nil: one that ends with the connection
	TakenBack error           // the cause with which those end when the peer cancels; nil: [ErrTakenBack]
	Limit     int             // bytes that may wait for the peer before answers have to wait; 0 means [Limit]
	Collect   int             // bytes of items that are kept for a peer without credit
	Waits     bool            // the read loop waits while the outbox is full, instead of dropping its replies
	NoHeaders bool            // Headers returns nothing
}

// Counter is a *[sync.WaitGroup], or what stands for one.
type Counter interface {
	Add(n int)
	Done()
}

// Conn is one conversation with one peer.
type Conn struct {
	session codec.Session
	can     codec.SessionFeatures
	wire    Wire
	owner   Owner
	env     Env
	out     outbox
	caps    codec.Caps // set before Opened is called
	acks    bool       // the peer acknowledges every request

	mu       sync.Mutex
	table    pending.Table // of the requests of this side
	received ring          // headers of what was read
	drained  func()        // called when no caller waits any more; nil without a drain
	incoming pending.Incoming
	turns    turns // of the answers to the peer

	bounds    pending.Bounds
	serving   Counter
	takenBack error
	limit     int
	collect   int
	waits     bool

	// Of the read loop alone.
	turn  []*Incoming // handed to handlers in this turn
	yield bool        // there are few handlers, which may go first at its end

	ctx    context.Context // of the connection
	cancel context.CancelCauseFunc
	parent context.Context // of the contexts of handlers
	loops  sync.WaitGroup

	sign atomic.Int64 // last sign of life
	hung atomic.Bool  // the verdict in force
}

// New makes a Conn. Its loops do not run before Open is called.
func New(o Options) *Conn {
	c := &Conn{
		session: o.Session, can: o.Session.Features(), wire: o.Wire, owner: o.Owner, env: o.Env, table: pending.NewTable(o.FirstID),
		incoming: pending.NewIncoming(o.Bounds), bounds: o.Bounds, serving: o.Serving,
		limit: cmp.Or(o.Limit, Limit), collect: o.Collect, waits: o.Waits, parent: o.Context, takenBack: cmp.Or(o.TakenBack, ErrTakenBack),
	}
	c.out = outbox{w: o.Wire, env: o.Env, session: o.Session, can: c.can, wake: make(chan struct{}, 1), broke: o.Owner.Broke}
	c.out.sent.off, c.received.off = o.NoHeaders, o.NoHeaders
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if c.parent == nil {
		c.parent = c.ctx
	}
	return c
}

// Inherit tells that another Conn has made requests on the same stream before, with other ids than c
// gives from first on: what the peer answers to them is ignored. It must be called before Open.
func Inherit(c *Conn, first uint32) { pending.Inherit(&c.table, first) }

// Session returns the protocol's state of the connection.
func (c *Conn) Session() codec.Session { return c.session }

// Features is what the peer can besides what it is asked and asks.
func (c *Conn) Features() codec.SessionFeatures { return c.can }

// Acks reports whether the peer acknowledges requests. Valid once it is open.
func (c *Conn) Acks() bool { return c.acks }

// agree sets what both sides can do.
func (c *Conn) agree(caps codec.Caps) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caps, c.acks = caps, caps.Has(codec.CapAck)
	c.table.Agree(pending.Rules{Acks: c.acks, Cancel: caps.Has(codec.CapCancel), Abandon: caps.Has(codec.CapAbandon)})
}

// Send gives a request its id and puts its frame into the outbox. While the outbox
// holds limit bytes (see [Limit]) or more, Send waits, until ctx ends or the request
// has an outcome. An error means that the request was not sent: ErrClosed, ErrMoved,
// or what the caller's Reason makes of an *[OverloadError]. After nil the request has
// an outcome or will have one, and must not be sent again by the sender.
//
// NOTE: when Send returns, the connection may have ended already, and the request may
// be on its way to another one. So Send does not touch it after releasing the lock of
// the outbox.
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
		// The wire cannot carry the request; the connection goes on.
		c.step(pending.Event{Op: pending.Drop, ID: out.ID}, 0)
		o.mu.Unlock()
		p.Settle(nil, p.reason(err))
		return nil
	}
	switch {
	case p.stream != nil && c.caps.Has(codec.CapStream):
		_ = o.encode(&codec.Message{Kind: codec.Credit, ID: out.ID, Credit: pending.Window}, now) // it has no payload that could be refused
		o.flush(byLoop)
	case out.Do.Has(pending.Alone) && o.claim():
		o.write()
	default:
		o.flush(byLoop)
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

// sendLater is Send for an outbox that is full or broken. The request counts as
// unacknowledged while its write is blocked.
func (c *Conn) sendLater(ctx context.Context, p *Pending, limit int, now int64) error {
	out, _, err := c.register(pending.Register, p, now)
	if err != nil {
		return p.refused(err)
	}
	for {
		todo, space, err := c.write(p, out.ID, limit)
		switch {
		case err == nil && todo.Has(pending.Orphaned):
			return p.moved()
		case err == nil && todo.Has(pending.Gone):
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
		// The stream is broken. The read loop reports that, and whoever closes the
		// connection then settles what is registered.
		if c.step(pending.Event{Op: pending.Unsent, Entry: &p.entry}, 0).Do.Has(pending.Orphaned) {
			return p.moved()
		}
		return nil
	}
}

// moved gives a request back to its sender.
func (p *Pending) moved() error {
	p.conn.Store(nil)
	return ErrMoved
}

// write puts a registered request into the outbox. todo is what the writer has to do.
func (c *Conn) write(p *Pending, id uint32, limit int) (todo pending.Effect, space <-chan struct{}, err error) {
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
	todo = c.step(pending.Event{Op: pending.Wrote, ID: id}, now).Do
	o.flush(byLoop)
	return todo, nil, nil
}

// register gives a request its id. again reports whether it was sent before.
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

// encode puts the frame of a request into the outbox. The caller must hold its lock.
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
	m.Params = nil // not kept alive until the next request
	return err
}

// step applies an event to the table. The caller carries the effects out, except the
// end of a drain.
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

// OwedSince returns since when the peer owes an acknowledgement, 0 if it owes none.
// open is false once the connection has ended; then since says nothing about the peer.
func (c *Conn) OwedSince() (since int64, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.Owed(), !c.table.IsClosed()
}

// LastSign returns when the last sign of life came, 0 before the first.
func (c *Conn) LastSign() int64 { return c.sign.Load() }

// SetHung sets whether the peer is considered hung. While it is, [Owner.Sign] is called
// at signs of life.
func (c *Conn) SetHung(hung bool) { c.hung.Store(hung) }

// Hung returns what SetHung has set.
func (c *Conn) Hung() bool { return c.hung.Load() }

// grant gives the peer credit for items that the caller has taken.
func (c *Conn) grant(p *Pending, items int) {
	out := c.step(pending.Event{Op: pending.Grant, Entry: &p.entry, N: uint32(items)}, c.env.Now())
	if out.Do.Has(pending.GiveCredit) && c.caps.Has(codec.CapStream) {
		c.Post(&codec.Message{Kind: codec.Credit, ID: out.Entry.ID(), Credit: out.N})
	}
}

// withdraw tells the peer that a settled request is cancelled. The id stays open until
// the peer has answered, unless the protocol wants no answer then.
func (c *Conn) withdraw(p *Pending) {
	now := c.env.Now()
	o := &c.out
	o.mu.Lock() // so that a request in the table has its frame in the outbox, too
	out := c.step(pending.Event{Op: pending.Cancel, Entry: &p.entry}, now)
	if _, err := o.room(2 * Limit); err == nil && out.Do.Has(pending.TellCancel) {
		_ = o.encode(&codec.Message{Kind: codec.Cancel, ID: p.entry.ID()}, now) // it has no payload that could be refused
		o.flush(byLoop)
		return
	}
	o.mu.Unlock()
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

// fault describes what the peer did wrong. what is "ack of", for example.
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
