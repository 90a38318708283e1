package link

import (
	"context"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// turns keeps the order of answers to a host that wants them as a stack does; see
// [codec.SessionFeatures]. Requests that something answers at once need no turn: there
// is none behind them yet. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	open  []uint32      // not answered, in the order of their arrival
	moved chan struct{} // closed when one has left; nil when no request waits
}

// enter is called by the read loop for each request that a handler works on. It
// returns whether its answer has to wait for its turn.
func (t *turns) enter(can *codec.SessionFeatures, m *codec.Message) bool {
	if !can.Stacks(m.Method) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, m.ID)
	return true
}

// await waits until every later request is answered, or ctx ends.
func (t *turns) await(ctx context.Context, id uint32) {
	for {
		t.mu.Lock()
		if t.open[len(t.open)-1] == id {
			t.mu.Unlock()
			return
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// last says whether nothing else is open.
func (t *turns) last(id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) == 1 && t.open[0] == id
}

// leave is called once a request is answered, or never will be.
func (t *turns) leave(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = slices.DeleteFunc(t.open, func(o uint32) bool { return o == id })
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// passOn lets the next one below be answered when the peer has taken the answer
// to this one. It may not be told before: an answer that comes while the peer has
// yet to return from the request above is out of turn, too. What is asked behind
// an answer is heard when that has been.
func (c *Conn) passOn(id uint32) {
	defer c.turns.leave(id)
	ping := c.session.Ping()
	if ping == "" || c.turns.last(id) {
		return
	}
	p := new(Pending)
	p.Init(nil, nil, ping, nil)
	p.Internal = true
	if c.Send(c.ctx, p, NoLimit) != nil {
		return // the connection has ended, and with it whatever is open
	}
	select {
	case <-p.done:
	case <-c.ctx.Done():
	}
}

// passOnBeside is passOn for the read loop, which must not wait.
func (c *Conn) passOnBeside(id uint32) {
	c.mu.Lock()
	wait := !c.table.IsClosed() && !c.turns.last(id)
	if wait {
		c.begun()
	}
	c.mu.Unlock()
	if !wait {
		c.turns.leave(id)
		return
	}
	c.env.Go(func() { // ends with the connection at the latest
		defer c.ended()
		c.passOn(id)
	})
}
