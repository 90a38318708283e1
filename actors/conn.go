package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
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
	closed  bool
	err     error // what requests of a closed connection are answered
	next    uint32
	wrapped bool
	open    map[uint32]*Request // also settled ones that the host has not answered yet
	late    int                 // how many of open are settled
	owed    int
	owedAt  int64 // since when something is owed without a break; 0: nothing is
	headers headerRing
	heardAt int64                              // when the last message was read
	serving map[uint32]context.CancelCauseFunc // requests of the host that handlers work on
	turns   turns                              // of their answers

	servingBytes int // of the parameters of those in serving, and of answers that wait
	unread       int // answers that wait for the host to read

	refuses bool   // new requests, as the life is about to be told to end
	drained func() // called when nobody waits for an answer any more; nil: nobody asks

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

// lateLimit bounds how many answers a host may owe to callers that are gone.
const lateLimit = 16384

func newConn(ref *Ref, life uint64, session codec.Session, w wire, firstID uint32) *conn {
	c := &conn{
		ref: ref, life: life, session: session, wire: w, out: newOutbox(w),
		next: firstID, open: make(map[uint32]*Request),
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
	q.sent.Store(false)
	alone, err := c.register(q)
	if err != nil {
		return err
	}
	// The connection may end at any moment from here on, and the request go to
	// the next life; until this is through with it, it must not.
	defer q.through()
	c.called(q)
	if !q.internal {
		c.ref.thin.before(c, q.params)
	}
	m := &q.message
	*m = codec.Message{Kind: codec.Request, ID: q.id, Method: q.method, Params: q.params, Progress: q.idle > 0 && q.stream == nil}
	if c.caps.Has(codec.CapTrace) {
		m.Trace = q.trace
	}
	who := byLoop
	if alone && q.stream == nil {
		who = here
	}
	for {
		space, err := c.out.add(c.session, m, who, limit)
		switch {
		case err == nil:
			if q.gone {
				if c.caps.Has(codec.CapCancel) {
					c.post(&codec.Message{Kind: codec.Cancel, ID: q.id})
				}
				if c.caps.Has(codec.CapAbandon) {
					c.drop(q)
				}
			} else if q.stream != nil {
				c.giveCredit(q, streamWindow)
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
			c.drop(q)
			q.settle(nil, err)
			return nil
		default:
			// The stream is broken; the read loop says so too and everything
			// that is registered is answered there.
			return nil
		}
	}
}

// register gives the request its id. alone tells that it is the only one open.
func (c *conn) register(q *Request) (alone bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.refuses && !q.internal {
		return false, errConnClosed
	}
	if c.late >= lateLimit {
		return false, &CallError{c.ref.spec.Name, q.method, ErrOverloaded, fmt.Sprintf("(host owes %d answers to callers that are gone)", c.late), nil}
	}
	for {
		if c.next == 0 {
			c.next, c.wrapped = 1, true
		}
		if _, taken := c.open[c.next]; !taken {
			break
		}
		c.next++
	}
	q.id = c.next
	c.next++
	q.acked, q.written, q.late, q.gone = false, false, false, false
	q.life.Store(c.life)
	q.conn.Store(c)
	c.open[q.id] = q
	if c.acks || q.internal {
		if c.owed++; c.owed == 1 {
			c.owedAt = monotonic()
		}
	} else {
		q.acked = true
	}
	return len(c.open) == 1, nil
}

// taken is told of each frame in the outbox before anything of it is written:
// a host may end of it, and the crash report has to have it. The caller of a
// request that left before that has still to be told of to the host.
func (c *conn) taken(m *codec.Message) {
	now := monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers.add(header{now, "sent", m.Kind, m.ID, m.Method, m.Size})
	if m.Kind != codec.Request {
		return
	}
	if q := c.open[m.ID]; q != nil && &q.message == m {
		c.ref.meter.sent(q, now)
		q.written, q.gone = true, q.late && c.caps&(codec.CapCancel|codec.CapAbandon) != 0
	}
}

// drop takes back a request that was never written.
func (c *conn) drop(q *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[q.id] == q {
		delete(c.open, q.id)
		c.paid(q)
		c.punctual(q)
		c.finished()
	}
}

// punctual takes a request out of those whose callers are gone. Under the lock.
func (c *conn) punctual(q *Request) {
	if q.late {
		q.late = false
		c.late--
	}
}

// paid takes a request out of what is owed. Under the lock.
func (c *conn) paid(q *Request) {
	if q.acked {
		return
	}
	q.acked = true
	if c.owed--; c.owed == 0 {
		c.owedAt = 0
	}
}

// owing returns since when an answer is owed, for the liveness verdict, and
// whether there can be one: a connection that has ended owes nothing, which
// says nothing about its host.
func (c *conn) owing() (since int64, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owedAt, !c.closed
}

// given says whether an id was ever given out. Under the lock.
func (c *conn) given(id uint32) bool { return id != 0 && (c.wrapped || id < c.next) }

// answer gives a request its outcome.
func (c *conn) answer(m *codec.Message) error {
	c.answered(m.ID)
	c.mu.Lock()
	q := c.open[m.ID]
	if q == nil {
		given := c.given(m.ID)
		c.mu.Unlock()
		if given && c.caps.Has(codec.CapAbandon) {
			return nil
		}
		detail := fmt.Sprintf("response to request %d, which was never made", m.ID)
		if given {
			detail = fmt.Sprintf("response to request %d, which was answered before", m.ID)
		}
		return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: detail}
	}
	delete(c.open, m.ID)
	c.punctual(q)
	c.paid(q)
	c.ref.meter.heard(q, c.heardAt)
	c.finished()
	c.mu.Unlock()
	if m.Err == nil {
		q.settle(m.Result, nil)
	} else {
		q.settle(nil, c.hostError(q, m.Err))
	}
	if q.internal && c.onReply != nil {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.open[id]
	if q == nil {
		if c.given(id) {
			return nil
		}
		return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("ack of request %d, which was never made", id)}
	}
	c.paid(q)
	return nil
}

// item adds an element to a streamed result.
func (c *conn) item(m *codec.Message) error {
	c.mu.Lock()
	q := c.open[m.ID]
	given := c.given(m.ID)
	if q != nil {
		c.paid(q)
	}
	c.mu.Unlock()
	switch {
	case q == nil && given, q != nil && q.settled.Load():
		return nil
	case q == nil:
		return &codec.FrameError{Err: codec.ErrID, Offset: -1, Detail: fmt.Sprintf("item of request %d, which was never made", m.ID)}
	case q.stream == nil:
		return &codec.FrameError{Err: codec.ErrNoCredit, Offset: -1, Detail: fmt.Sprintf("item of request %d, whose caller allowed none", m.ID)}
	}
	return q.stream.push(m.Seq, m.Result)
}

// progress puts off the deadline of a request that the host tells it works on.
func (c *conn) progress(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.open[id]; q != nil {
		q.progressed.Store(monotonic())
	}
}

// giveCredit allows the host n more items.
func (c *conn) giveCredit(q *Request, n uint32) {
	if !c.caps.Has(codec.CapStream) {
		return
	}
	c.post(&codec.Message{Kind: codec.Credit, ID: q.id, Credit: n})
}

// sendCancel tells the host that the caller of a settled request is gone. The
// id stays open until the host has answered, where it has to.
func (c *conn) sendCancel(q *Request) {
	c.mu.Lock()
	if c.closed || c.open[q.id] != q || q.late {
		c.mu.Unlock()
		return
	}
	tell := q.written // else send tells, behind the request itself
	if tell && c.caps.Has(codec.CapAbandon) {
		delete(c.open, q.id)
		c.paid(q)
	} else {
		c.late++
		q.late = true
	}
	c.finished()
	c.mu.Unlock()
	if tell && c.caps.Has(codec.CapCancel) {
		c.post(&codec.Message{Kind: codec.Cancel, ID: q.id})
	}
}

// post sends a small message that nobody waits for. When the outbox is full
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
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed, c.err = true, err
	c.cancel(err)
	open := make([]*Request, 0, len(c.open))
	for _, q := range c.open {
		open = append(open, q)
	}
	clear(c.open)
	c.owed, c.owedAt, c.late = 0, 0, 0
	c.mu.Unlock()
	c.ref.thin.end(c)
	sortByAge(open)
	return open
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
