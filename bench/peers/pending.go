package peers

import (
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// firstID leaves room for the handshake's own request.
const firstID = 2

// table keeps open requests in a map of channels, as most clients do.
type table struct {
	mu     sync.Mutex
	last   uint32
	opened map[uint32]chan answer
	closed error
}

func newTable() pending { return &table{last: firstID - 1, opened: map[uint32]chan answer{}} }

func (t *table) open() (ticket, error) {
	ch := make(chan answer, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return ticket{}, t.closed
	}
	t.last++
	t.opened[t.last] = ch
	return ticket{t.last, ch}, nil
}

func (t *table) settle(id uint32, a answer) {
	t.mu.Lock()
	ch, ok := t.opened[id]
	delete(t.opened, id)
	t.mu.Unlock()
	if ok {
		ch <- a
	}
}

func (t *table) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = err
	for id, ch := range t.opened {
		delete(t.opened, id)
		ch <- answer{err: err}
	}
}

// processes keeps each open request as a lean actor.Process of its own in the
// registry of an actor system: it has a PID, takes messages, and has no
// mailbox.
type processes struct {
	sys  *actor.ActorSystem
	mu   sync.Mutex
	last uint32
	byID map[uint32]*request
	dead error
}

func newProcesses() pending {
	return &processes{sys: newSystem(), last: firstID - 1, byID: map[uint32]*request{}}
}

// request is one pending request as a process.
type request struct {
	sys    *actor.ActorSystem
	pid    *actor.PID
	answer chan answer
	done   atomic.Bool
}

var _ actor.Process = (*request)(nil)

// SendUserMessage takes the answer.
func (r *request) SendUserMessage(_ *actor.PID, message any) {
	_, m, _ := actor.UnwrapEnvelope(message)
	if a, ok := m.(answer); ok {
		r.settle(a)
	}
}

// SendSystemMessage takes the stop of a parent.
func (r *request) SendSystemMessage(_ *actor.PID, message any) {
	if _, ok := message.(*actor.Stop); ok {
		r.settle(answer{err: errors.New("stopped")})
	}
}

// Stop is called by the registry's owner.
func (r *request) Stop(pid *actor.PID) { r.SendSystemMessage(pid, &actor.Stop{}) }

func (r *request) settle(a answer) {
	if r.done.CompareAndSwap(false, true) {
		r.sys.ProcessRegistry.Remove(r.pid)
		r.answer <- a
	}
}

func (p *processes) open() (ticket, error) {
	r := &request{sys: p.sys, answer: make(chan answer, 1)}
	p.mu.Lock()
	if p.dead != nil {
		p.mu.Unlock()
		return ticket{}, p.dead
	}
	p.last++
	id := p.last
	p.byID[id] = r
	p.mu.Unlock()
	pid, ok := p.sys.ProcessRegistry.Add(r, "bench/connection/"+strconv.FormatUint(uint64(id), 10))
	if !ok {
		return ticket{}, errors.New("the name is taken")
	}
	r.pid = pid
	return ticket{id, r.answer}, nil
}

func (p *processes) take(id uint32) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.byID[id]
	delete(p.byID, id)
	return r
}

func (p *processes) settle(id uint32, a answer) {
	if r := p.take(id); r != nil {
		p.sys.Root.Send(r.pid, a)
	}
}

func (p *processes) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = err
	for id, r := range p.byID {
		delete(p.byID, id)
		p.sys.Root.Send(r.pid, answer{err: err})
	}
}

// newSystem makes an actor system that keeps quiet.
func newSystem() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
}

// children keeps each open request as a whole child actor of a connection actor:
// a mailbox, a context, supervision.
type children struct {
	sys    *actor.ActorSystem
	parent *actor.PID
	mu     sync.Mutex
	last   uint32
	byID   map[uint32]*actor.PID
	dead   error
}

// spawnRequest asks the connection actor for a child.
type spawnRequest struct {
	answer chan answer
	pid    chan *actor.PID
}

func newChildren() pending {
	a := &children{sys: newSystem(), last: firstID - 1, byID: map[uint32]*actor.PID{}}
	a.parent = a.sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(spawnRequest); ok {
			m.pid <- ctx.Spawn(requestProps(m.answer))
		}
	}))
	return a
}

func requestProps(to chan answer) *actor.Props {
	return actor.PropsFromFunc(func(ctx actor.Context) {
		if a, ok := ctx.Message().(answer); ok {
			to <- a
			ctx.Stop(ctx.Self())
		}
	})
}

func (p *children) open() (ticket, error) {
	m := spawnRequest{answer: make(chan answer, 1), pid: make(chan *actor.PID, 1)}
	p.sys.Root.Send(p.parent, m)
	pid := <-m.pid
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead != nil {
		p.sys.Root.Stop(pid)
		return ticket{}, p.dead
	}
	p.last++
	p.byID[p.last] = pid
	return ticket{p.last, m.answer}, nil
}

func (p *children) settle(id uint32, a answer) {
	p.mu.Lock()
	pid := p.byID[id]
	delete(p.byID, id)
	p.mu.Unlock()
	if pid != nil {
		p.sys.Root.Send(pid, a)
	}
}

func (p *children) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = err
	for id, pid := range p.byID {
		delete(p.byID, id)
		p.sys.Root.Send(pid, answer{err: err})
	}
}
