package actors

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
)

// Connection is the actor of one framed byte stream to a host. It owns the
// read loop and the write loop, opens the connection with the protocol's
// handshake, asks for signs of life, and says goodbye. It does not know which
// protocol it speaks.
//
// It tells its life (its parent): connected, connEnded; and the host: verdict.
type Connection struct {
	log  hclog.Logger
	ref  *Ref
	life uint64
	host *actor.PID
	c    *conn
	hs   codec.Handshake

	loops sync.WaitGroup
	live  lifecycle.Liveness
	every time.Duration
	tick  alarm
	ping  string
	asked *Request // the ping that is not answered yet
	done  bool     // handshake done
	bye   *Request
	last  []codec.Message // what follows the answer to bye
}

// Receive implements actor.Actor.
func (a *Connection) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *openConn:
		a.open(ctx)
	case *handshakeDone:
		a.connected(ctx, m.peer)
	case *checkLiveness:
		if m.gen == a.tick.gen {
			a.check(ctx)
		}
	case *signOfLife:
		a.check(ctx)
	case *internalReply:
		a.reply(ctx, m.q)
	case *sayGoodbye:
		a.goodbye(ctx)
	case *actor.Stopping:
		a.tick.cancel()
		// Whoever closed the connection for a reason has answered already;
		// these are left only when the whole tree is torn down.
		for _, q := range a.c.close(ErrStopped) {
			q.settle(nil, &HostError{Host: a.ref.spec.Name, Life: a.life, Err: ErrStopped, Reason: "supervisor stopped"})
		}
		a.c.out.close(io.ErrClosedPipe)
		a.c.wire.Close()
		a.loops.Wait()
	}
}

func (a *Connection) open(ctx actor.Context) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.loops.Go(a.c.out.loop)
	a.c.onSign = func() { tell(root, self, &signOfLife{}) }
	a.c.onReply = func(q *Request) { tell(root, self, &internalReply{q}) }
	out, done := a.hs.Start()
	for i := range out {
		a.c.post(&out[i])
	}
	parent := ctx.Parent()
	a.c.out.mu.Lock()
	a.c.out.broke = func(error) { tell(root, parent, &hostDeaf{}) }
	a.c.out.mu.Unlock()
	if done {
		p := a.hs.Peer()
		a.c.agree(p.Caps, p.Caps.Has(codec.CapAck))
		tell(ctx, self, &handshakeDone{p})
	}
	a.loops.Go(func() {
		err := contained(func() error {
			return a.read(done, func(p codec.Peer) { tell(root, self, &handshakeDone{p}) })
		})
		tell(root, parent, &connEnded{life: a.life, err: err})
	})
}

// read is the read loop. It returns why the stream ended; io.EOF is a clean end.
func (a *Connection) read(open bool, connected func(codec.Peer)) error {
	var m codec.Message
	if s, ok := a.c.session.(codec.Noisy); ok {
		s.OnNoise(func(line []byte) { a.ref.noise(a.life, line) })
	}
	in := &input{c: a.c}
	r := a.c.session.NewReader(in)
	for {
		if err := r.Next(&m); err != nil {
			return err
		}
		in.partial = 0
		a.c.received(&m)
		if !open {
			out, done, err := a.hs.Handle(&m)
			for i := range out {
				a.c.reply(&out[i])
			}
			if errors.Is(err, codec.ErrUnrelated) {
				err = a.dispatch(&m)
			}
			if err != nil {
				return err
			}
			if done {
				open = true
				peer := a.hs.Peer()
				a.c.agree(peer.Caps, peer.Caps.Has(codec.CapAck))
				connected(peer)
			}
			continue
		}
		if err := a.dispatch(&m); err != nil {
			return err
		}
		if alive(&m) {
			a.c.sign.Store(monotonic())
			if a.c.hung.Load() && !r.Buffered() {
				a.c.onSign()
			}
		}
	}
}

// alive says whether a message is a sign of life: it is about a request of the
// supervisor. What a host says by itself may come from a thread that goes on
// while the loop that does the work hangs.
func alive(m *codec.Message) bool {
	switch m.Kind {
	case codec.Response, codec.Ack, codec.Item:
		return true
	case codec.Notification:
		return m.ID != 0 // the progress of a request
	}
	return false
}

// longMessage is from how many bytes on a message that is still being read is a
// sign of life: it may be an answer that takes a while to write.
const longMessage = 64 << 10

// input reads from a connection's wire. By the time that it is called, everything
// that was read before is worked on.
type input struct {
	c       *conn
	partial int // bytes read since the last whole message
}

func (i *input) Read(p []byte) (int, error) {
	i.c.out.release()
	if with := i.c.ref.with(); with != nil {
		with.Pace(i.c.ctx)
	}
	n, err := i.c.wire.Read(p)
	if n > 0 && i.partial >= longMessage {
		i.c.sign.Store(monotonic())
	}
	i.partial += n
	return n, err
}

// dispatch hands one message to its receiver.
func (a *Connection) dispatch(m *codec.Message) error {
	switch m.Kind {
	case codec.Response:
		return a.c.answer(m)
	case codec.Ack:
		return a.c.ack(m.ID)
	case codec.Item:
		return a.c.item(m)
	case codec.Notification:
		if m.ID != 0 {
			a.c.progress(m.ID)
		}
		a.ref.feed.publish(a.ref, a.life, m)
		if with := a.ref.with(); with != nil {
			with.Notified(a.life, m)
		}
		a.ref.world.notify(a.ref, m)
	case codec.Request:
		a.ref.feed.publish(a.ref, a.life, m)
		return a.c.serve(m)
	case codec.Cancel:
		a.c.unserve(m.ID)
	case codec.Credit:
		// The supervisor streams nothing to hosts.
	}
	return nil
}

// connected begins normal work.
func (a *Connection) connected(ctx actor.Context, peer codec.Peer) {
	a.done = true
	rule := a.ref.spec.Liveness
	a.ping = a.c.session.Ping()
	a.every = rule.Ping
	if a.ping != "" || a.c.acks {
		a.live = lifecycle.NewLiveness(rule.After, a.every)
		a.schedule(ctx, a.every)
	}
	tell(ctx, ctx.Parent(), &connected{life: a.life, conn: a.c, peer: peer, liveness: a.kind()})
}

// kind names the evidence on which the verdict rests.
func (a *Connection) kind() string {
	switch {
	case a.c.acks:
		return "ack"
	case a.ping != "":
		return "ping"
	}
	return "none"
}

func (a *Connection) schedule(ctx actor.Context, d time.Duration) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.tick.set(d, func(gen uint64) { tell(root, self, &checkLiveness{gen}) })
}

// check reads the signs of life, gives a verdict when there is a new one, and
// sends the next ping.
func (a *Connection) check(ctx actor.Context) {
	owing, open := a.c.owing()
	if !a.done || a.bye != nil || !open {
		return
	}
	var v lifecycle.Verdict
	var silent time.Duration
	now := monotonic()
	a.live, v, silent = a.live.Read(owing, a.c.sign.Load(), now)
	switch v {
	case lifecycle.NowHung:
		a.c.hung.Store(true)
		tell(ctx, a.host, &verdict{life: a.life, hung: true, silent: silent})
	case lifecycle.NowBack:
		a.c.hung.Store(false)
		tell(ctx, a.host, &verdict{life: a.life})
	}
	if a.ping != "" && a.asked == nil {
		a.asked = a.internal(a.ping)
	}
	// Look again when the silence may be long enough, not a whole interval later.
	next := a.every
	if left := a.ref.spec.Liveness.After - silent; silent > 0 && left > 0 {
		next = min(next, left)
	}
	a.schedule(ctx, next)
}

// internal sends a request of the supervisor's own.
func (a *Connection) internal(method string) *Request {
	q := newRequest(a.ref, method, nil)
	q.entry.Internal = true
	if err := a.c.sendNow(q); err != nil {
		q.settle(nil, err)
	}
	return q
}

func (a *Connection) reply(ctx actor.Context, q *Request) {
	switch q {
	case a.asked:
		a.asked = nil
	case a.bye:
		// Whatever it answered: it has finished what it had to, or knows no
		// farewell. The end of the stream is what it waits for now.
		a.leave()
	}
}

// leave says the last words and closes our half of the stream.
func (a *Connection) leave() {
	for i := range a.last {
		a.c.post(&a.last[i])
	}
	a.last = nil
	a.c.out.end()
}

// goodbye asks the host to end.
func (a *Connection) goodbye(actor.Context) {
	a.tick.cancel()
	a.ref.thin.drain(a.c)
	var ask *codec.Message
	ask, a.last = a.c.session.Goodbye()
	if ask == nil {
		a.leave()
		return
	}
	a.bye = a.internal(ask.Method)
}
