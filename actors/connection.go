package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
)

// Connection is the actor of one framed byte stream to a host. It opens and closes
// the link, asks for signs of life, and says goodbye. It does not know which
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

	live  lifecycle.Liveness
	every time.Duration
	tick  link.Alarm
	ping  string
	asked *link.Pending // the ping that is not answered yet
	done  bool          // handshake done
	bye   *link.Pending
	last  []codec.Message // what follows the answer to bye
}

// Receive implements actor.Actor.
func (a *Connection) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *openConn:
		a.c.root, a.c.self, a.c.parent = ctx.ActorSystem().Root, ctx.Self(), ctx.Parent()
		a.c.Open(a.hs)
	case *handshakeDone:
		a.connected(ctx, m.peer)
	case *checkLiveness:
		if a.tick.Counts(m.gen) {
			a.check(ctx)
		}
	case *signOfLife:
		a.check(ctx)
	case *internalReply:
		a.reply(m.p)
	case *sayGoodbye:
		a.goodbye()
	case *actor.Stopping:
		a.tick.Cancel()
		// Whoever closed the connection for a reason has answered already;
		// these are left only when the whole tree is torn down.
		for _, p := range a.c.CloseRequests(ErrStopped) {
			p.Settle(nil, &HostError{Host: a.ref.spec().Name, Life: a.life, Err: ErrStopped, Reason: "supervisor stopped"})
		}
		a.c.Close()
	}
}

// connected begins normal work.
func (a *Connection) connected(ctx actor.Context, peer codec.Peer) {
	a.done = true
	rule := a.ref.spec().Liveness
	a.ping = a.c.Session().Ping()
	a.every = rule.Ping
	if a.ping != "" || a.c.Acks() {
		a.live = lifecycle.NewLiveness(rule.After, a.every)
		a.schedule(ctx, a.every)
	}
	safeactor.Tell(ctx, ctx.Parent(), &connected{life: a.life, conn: a.c, peer: peer, liveness: a.kind()})
}

// kind names the evidence on which the verdict rests.
func (a *Connection) kind() string {
	switch {
	case a.c.Acks():
		return "ack"
	case a.ping != "":
		return "ping"
	}
	return "none"
}

func (a *Connection) schedule(ctx actor.Context, d time.Duration) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.tick.Set(a.ref.world.env(), d, func(gen uint64) { safeactor.Tell(root, self, &checkLiveness{gen}) })
}

// check reads the signs of life, gives a verdict when there is a new one, and
// sends the next ping.
func (a *Connection) check(ctx actor.Context) {
	owing, open := a.c.OwedSince()
	if !a.done || a.bye != nil || !open {
		return
	}
	var v lifecycle.Verdict
	var silent time.Duration
	now := a.ref.world.env().Now()
	a.live, v, silent = a.live.Read(owing, a.c.LastSign(), now)
	switch v {
	case lifecycle.NowHung:
		a.c.SetHung(true)
		safeactor.Tell(ctx, a.host, &verdict{life: a.life, hung: true, since: silent})
	case lifecycle.NowBack:
		a.c.SetHung(false)
		safeactor.Tell(ctx, a.host, &verdict{life: a.life})
	}
	if a.ping != "" && a.asked == nil {
		a.asked = a.c.internal(a.ping)
	}
	// Look again when the silence may be long enough, not a whole interval later.
	next := a.every
	if left := a.ref.spec().Liveness.After - silent; silent > 0 && left > 0 {
		next = min(next, left)
	}
	a.schedule(ctx, next)
}

func (a *Connection) reply(p *link.Pending) {
	switch p {
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
		a.c.Post(&a.last[i])
	}
	a.last = nil
	a.c.CloseWrite()
}

// goodbye asks the host to end.
func (a *Connection) goodbye() {
	a.tick.Cancel()
	a.c.leaving()
	var ask *codec.Message
	ask, a.last = a.c.Session().Goodbye()
	if ask == nil {
		a.leave()
		return
	}
	a.bye = a.c.internal(ask.Method)
}
