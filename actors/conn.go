package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// conn is the shared face of one Connection: callers register requests in it
// and hand frames to its outbox without a mailbox in between; its read loop
// gives requests their outcomes. All of it is safe for concurrent use.
type conn struct {
	ref     *Ref
	life    uint64
	session codec.Session
	out     *outbox
	caps    codec.Caps // set before the conn is published
	acks    bool       // every request is owed an ack, else only pings are owed an answer
	wire    wire

	mu      sync.Mutex
	table   pending.Table // of the supervisor's requests
	headers headerRing
	heardAt int64                              // when the last message was read
	serving map[uint32]context.CancelCauseFunc // requests of the host that handlers work on
	turns   turns                              // of their answers

	servingBytes int // of the parameters of those in serving, and of answers that wait
	unread       int // answers that wait for the host to read

	drained func() // called when no caller waits any more; nil without a drain

	ctx    context.Context // of the connection
	cancel context.CancelCauseFunc

	sign    atomic.Int64 // last sign of life
	hung    atomic.Bool  // the verdict in force; the read loop reports signs while it holds
	onSign  func()       // called by the read loop on a sign while hung
	onReply func(*Request)
}

// base makes monotonic readings small and free of the wall clock.
var base = time.Now()

func monotonic() int64 { return int64(time.Since(base)) + 1 }

// errConnClosed is returned by register on a closed connection; the caller
// then goes the slow way, through the host.
var errConnClosed = errors.New("connection closed")

func newConn(ref *Ref, life uint64, session codec.Session, w wire, firstID uint32) *conn {
	c := &conn{
		ref: ref, life: life, session: session, wire: w, out: newOutbox(w),
		table: pending.NewTable(firstID),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.out.taken = c.taken
	ref.thin.begin(c)
	return c
}

// send registers a request and hands its frame to the outbox. It waits only
// while the host does not read and the outbox is full, and then not longer
// than ctx and the request live. errConnClosed: not sent, try elsewhere.
func (c *conn) send(ctx context.Context, q *Request) error { return c.transmit(ctx, q, outboxLimit) }

// sendNow is send for actors, which must not wait: it goes over the outbox's
// limit instead.
func (c *conn) sendNow(q *Request) error { return c.transmit(context.Background(), q, noLimit) }

func (c *conn) transmit(ctx context.Context, q *Request, limit int) error {
	alone, err := c.register(q)
	if err != nil {
		return err
	}
	id := q.entry.ID()
	c.called(q)
	if !q.entry.Internal {
		c.ref.thin.before(c, q.params)
	}
	m := &q.message
	*m = codec.Message{Kind: codec.Request, ID: id, Method: q.method, Params: q.params, Progress: q.idle > 0 && q.stream == nil}
	if c.caps.Has(codec.CapTrace) {
		m.Trace = q.trace
	}
	who := byLoop
	if alone && q.stream == nil {
		who = here
	}
	for {
		told, space, err := c.out.append(c.session, m, who, limit)
		switch {
		case err == nil:
			// NOTE: the connection may have ended, and the request be on its way to the
			// next life. It must not be touched here any more, but for what told allows.
			switch {
			case told.Has(pending.Orphaned):
				q.moveOn()
			case told.Has(pending.Gone):
				if c.caps.Has(codec.CapCancel) {
					c.post(&codec.Message{Kind: codec.Cancel, ID: id})
				}
				if c.caps.Has(codec.CapAbandon) {
					c.drop(q)
				}
			case q.stream != nil: // which never goes to another life
				c.giveCredit(id, pending.Window)
			}
			return nil
		case errors.Is(err, errFull):
			select {
			case <-space:
				continue
			case <-ctx.Done():
				q.settle(nil, q.ctxError(ctx))
			case <-q.done:
			}
			c.drop(q)
			return nil
		case errors.As(err, new(*codec.FrameError)):
			// The wire cannot carry it; the connection is none the worse.
			q.settle(nil, c.ref.unsendable(q.method, err))
			c.drop(q)
			return nil
		default:
			// The stream is broken; the read loop says so too and everything
			// that is registered is answered there.
			c.unsent(q, pending.Unsent)
			return nil
		}
	}
}

// agree sets what both sides can do. It must be called before the conn is published.
func (c *conn) agree(caps codec.Caps, acks bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caps, c.acks = caps, acks
	c.table.Agree(pending.Rules{Acks: acks, Cancel: caps.Has(codec.CapCancel), Abandon: caps.Has(codec.CapAbandon)})
}

// step tells the table of the requests what has happened. The caller carries the
// effects out, but for the end of a drain.
func (c *conn) step(ev pending.Event, now int64) pending.Effects {
	c.mu.Lock()
	out := c.stepLocked(ev, now)
	c.mu.Unlock()
	return out
}

// stepLocked is step for a caller that holds the lock.
func (c *conn) stepLocked(ev pending.Event, now int64) pending.Effects {
	out := c.table.Step(ev, now)
	if out.Do.Has(pending.Drained) && c.drained != nil {
		c.drained()
		c.drained = nil
	}
	return out
}

// register gives the request its id. alone tells that it is the only one open.
func (c *conn) register(q *Request) (alone bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now int64
	if c.table.Owed() == 0 { // else the time does not matter
		now = monotonic()
	}
	switch out := c.table.Step(pending.Event{Op: pending.Register, Entry: &q.entry}, now); {
	case out.Do.Has(pending.Closed):
		return false, errConnClosed
	case out.Do.Has(pending.Overloaded):
		return false, &CallError{c.ref.spec.Name, q.method, ErrOverloaded, fmt.Sprintf("(host owes %d answers to callers that are gone)", out.N), nil}
	default:
		q.life.Store(c.life)
		q.conn.Store(c)
		return out.Do.Has(pending.Alone), nil
	}
}

// taken is told of each frame in the outbox before anything of it is written:
// a host may end of it, and the crash report has to have it. It returns what the
// writer of a request has to do.
func (c *conn) taken(m *codec.Message) pending.Effect {
	now := monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers.add(header{now, "sent", m.Kind, m.ID, m.Method, m.Size})
	if m.Kind != codec.Request {
		return 0
	}
	out := c.table.Step(pending.Event{Op: pending.Wrote, ID: m.ID}, now)
	if out.Do.Has(pending.Sent) {
		c.ref.meter.sent(requestOf(out.Entry))
	}
	return out.Do
}

// requestOf returns the request that an entry is part of.
func requestOf(e *pending.Entry) *Request { return e.Owner.(*Request) }

// drop takes back a request that was never written.
func (c *conn) drop(q *Request) { c.unsent(q, pending.Drop) }

// unsent ends the writing of a request. When its life has ended meanwhile, its
// writer takes it to the next.
func (c *conn) unsent(q *Request, op pending.Op) {
	if c.step(pending.Event{Op: op, Entry: &q.entry}, 0).Do.Has(pending.Orphaned) {
		q.moveOn()
	}
}

// owing returns since when an answer is owed, for the liveness verdict, and
// whether there can be one: a connection that has ended owes nothing, which
// says nothing about its host.
func (c *conn) owing() (since int64, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.Owed(), !c.table.IsClosed()
}

// faultError puts a fault of the host in words. what is "ack of", for example.
func faultError(f pending.Fault, what string, m *codec.Message, next uint32) error {
	e := &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("%s request %d, which was never made", what, m.ID)}
	switch f {
	case pending.NoFault:
		return nil
	case pending.Answered:
		e.Detail = fmt.Sprintf("%s request %d, which was answered before", what, m.ID)
	case pending.NotAllowed:
		e.Err, e.Detail = codec.ErrNoCredit, fmt.Sprintf("%s request %d, whose caller allowed none", what, m.ID)
	case pending.NoCredit:
		e.Err, e.Detail = codec.ErrNoCredit, fmt.Sprintf("item %d", m.Seq)
	case pending.Disorder:
		e.Err, e.Detail = codec.ErrShape, fmt.Sprintf("item %d where %d is next", m.Seq, next)
	}
	return e
}

// answer gives a request its outcome.
func (c *conn) answer(m *codec.Message) error {
	c.answered(m.ID)
	out := c.step(pending.Event{Op: pending.Answer, ID: m.ID}, 0)
	if out.Entry == nil {
		return faultError(out.Fault, "response to", m, 0)
	}
	q := requestOf(out.Entry)
	c.ref.meter.heard(q, out.Since, c.heardAt)
	if m.Err == nil {
		q.settle(m.Result, nil)
	} else {
		q.settle(nil, c.hostError(q, m.Err))
	}
	if q.entry.Internal && c.onReply != nil {
		c.onReply(q)
	}
	return nil
}

// hostError gives "no such method" its own class; all else is the host's own.
func (c *conn) hostError(q *Request, e *codec.Error) error {
	e = c.ref.redactError(e)
	if e.Name == codec.NameMethodNotFound {
		return &CallError{c.ref.spec.Name, q.method, ErrNoSuchMethod, "", e}
	}
	return e
}

// ack marks a request as picked up.
func (c *conn) ack(id uint32) error {
	out := c.step(pending.Event{Op: pending.Ack, ID: id}, 0)
	if out.Fault == pending.NoFault {
		return nil
	}
	return faultError(out.Fault, "ack of", &codec.Message{ID: id}, 0)
}

// item adds an element to a streamed result.
func (c *conn) item(m *codec.Message) error {
	out := c.step(pending.Event{Op: pending.Item, ID: m.ID, N: m.Seq}, monotonic())
	if out.Entry != nil && requestOf(out.Entry).settled.Load() {
		return nil
	}
	if out.Do.Has(pending.Deliver) {
		requestOf(out.Entry).stream.push(m.Result)
	}
	return faultError(out.Fault, "item of", m, out.N)
}

// progress puts off the deadline of a request that the host tells it works on.
func (c *conn) progress(id uint32) {
	if out := c.step(pending.Event{Op: pending.Progress, ID: id}, 0); out.Entry != nil {
		requestOf(out.Entry).progressed.Store(monotonic())
	}
}

// grant gives the host credit for the items of a stream that its caller has taken.
func (c *conn) grant(q *Request, items int) {
	out := c.step(pending.Event{Op: pending.Grant, Entry: &q.entry, N: uint32(items)}, monotonic())
	if out.Do.Has(pending.GiveCredit) {
		c.giveCredit(out.Entry.ID(), out.N)
	}
}

// silence returns how long the host could have sent an item of a stream and did not.
func (c *conn) silence(q *Request) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return q.stream.link.Silence(monotonic())
}

// giveCredit allows the host n more items.
func (c *conn) giveCredit(id, n uint32) {
	if c.caps.Has(codec.CapStream) {
		c.post(&codec.Message{Kind: codec.Credit, ID: id, Credit: n})
	}
}

// sendCancel tells the host that the caller of a settled request is gone. The
// id stays open until the host has answered, where it has to.
func (c *conn) sendCancel(q *Request) {
	if c.step(pending.Event{Op: pending.Cancel, Entry: &q.entry}, 0).Do.Has(pending.TellCancel) {
		c.post(&codec.Message{Kind: codec.Cancel, ID: q.entry.ID()})
	}
}

// post sends a small message without waiting for an answer. When the outbox is full
// the host is not reading; cancel and credit still go in, as it may read again,
// and answers to the host are dropped: it asked, so it has to read. A host that
// reads nothing and lets even that run over loses those, too.
func (c *conn) post(m *codec.Message) { c.pass(m, byLoop) }

// reply is post for the read loop: what it answers leaves together once it has
// to wait for more, or with what somebody else says before that.
func (c *conn) reply(m *codec.Message) { c.pass(m, held) }

func (c *conn) pass(m *codec.Message, w when) {
	limit := 2 * outboxLimit
	if m.Kind == codec.Response {
		limit = outboxLimit
	}
	// An error is the end of the connection, which the read loop tells of.
	_, _ = c.out.add(c.session, m, w, limit)
}

// close ends the connection for new requests and takes out those that are
// open, oldest first. The caller answers them.
func (c *conn) close(err error) []*Request {
	c.mu.Lock()
	if c.table.IsClosed() {
		c.mu.Unlock()
		return nil
	}
	c.cancel(err)
	c.table.Step(pending.Event{Op: pending.Close}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	c.ref.thin.end(c)
	return requestsOf(list)
}

func requestsOf(list []*pending.Entry) []*Request {
	out := make([]*Request, len(list))
	for i, e := range list {
		out[i] = requestOf(e)
	}
	return out
}

// pendingHeaders returns the last message headers, oldest first.
func (c *conn) pendingHeaders() []Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.list()
}

// received keeps a message's header for the crash report.
func (c *conn) received(m *codec.Message) {
	now := monotonic()
	c.mu.Lock()
	c.heardAt = now
	c.headers.add(header{now, "received", m.Kind, m.ID, m.Method, m.Size})
	c.mu.Unlock()
}
