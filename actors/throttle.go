package actors

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/link"
)

// ThrottleStatus is a rule for notifications to a host, and what became of them
// since the start of the supervisor.
type ThrottleStatus struct {
	Method    string  `json:"method"`
	Every     float64 `json:"every_seconds"`
	Key       string  `json:"key"`       // "": all of the method are one
	Sent      uint64  `json:"sent"`      // written to the host
	Coalesced uint64  `json:"coalesced"` // replaced by a later one before that
	Dropped   uint64  `json:"dropped"`   // held when the life ended without a goodbye
	Held      int     `json:"held"`      // now
}

// thinner holds back notifications to a host, as its rules have it; package
// throttle decides, this carries it out. What is sent is in the outbox before
// the lock is given back, so that the order is that of the machine.
//
// Its timer belongs to the connection of the life: that ends it, and with it all
// that is held.
type thinner struct {
	ref         *Ref
	incremental func(method string, params codec.Raw) bool
	lookup      func(params []byte) throttle.Lookup
	methods     map[string]bool // that have a rule

	held atomic.Int32 // how many; for those who need not wait for the lock

	mu      sync.Mutex
	machine *throttle.Machine[*codec.Message]
	conn    *conn // of the life that is up, or coming up; nil without one
	through bool  // the life is about to be told to end: nothing is held any more
	timer   *time.Timer
	due     time.Time // when the timer fires; zero: it does not
}

// newThinner returns nil where there is no rule. The spec is valid.
func newThinner(ref *Ref) *thinner {
	spec := &ref.spec
	m, err := throttle.New(spec.Throttle, func(m *codec.Message) int { return len(m.Method) + len(m.Params) })
	if err != nil || len(spec.Throttle) == 0 || spec.Protocol == nil {
		return nil
	}
	t := &thinner{ref: ref, incremental: ref.can.Incremental, machine: m, methods: map[string]bool{}, lookup: throttle.MessagePack}
	for _, r := range spec.Throttle {
		t.methods[r.Method] = true
	}
	if yes, err := spec.Protocol.Marshal(true); err == nil && bytes.Equal(yes, []byte("true")) {
		t.lookup = throttle.JSON
	}
	return t
}

// validThrottle says what is wrong with the rules of a spec.
func validThrottle(p codec.Protocol, rules []throttle.Rule, bad func(field, format string, args ...any)) {
	if _, err := throttle.New[int](rules, nil); err != nil {
		bad("throttle", "%w", err)
	}
	if p == nil && len(rules) > 0 {
		bad("throttle", "nothing is said to a host without a protocol")
	}
}

// say hands a notification to the connection, or holds it back. space says when
// to try again after link.ErrFull.
func (c *conn) say(m *codec.Message, limit int) (space <-chan struct{}, err error) {
	if t := c.ref.thin; t != nil && (t.methods[m.Method] || t.held.Load() > 0) {
		return t.push(c, m, limit)
	}
	return c.Put(m, limit)
}

// before sends what has to go before a request. A caller whose own notifications
// are held sees that they are.
func (t *thinner) before(c *conn, params codec.Raw) {
	if t == nil || t.held.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == c {
		now := time.Now()
		t.send(t.machine.Clear(t.lookup(params), now))
		t.settle(now)
	}
}

func (t *thinner) push(c *conn, m *codec.Message, limit int) (space <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != c { // it has ended, and says so
		return c.Put(m, limit)
	}
	// Nothing is held for a host that does not read: whoever tells it something
	// waits, as without a rule.
	if space, err := c.Room(limit); err != nil {
		return space, err
	}
	now, own := time.Now(), *m
	var out []*codec.Message
	params := t.lookup(m.Params)
	if t.incremental != nil && t.incremental(m.Method, m.Params) {
		out = t.machine.Pass(m.Method, &own, params, now)
	} else {
		if t.methods[m.Method] {
			own.Params = bytes.Clone(m.Params) // the caller may go on with it
		}
		out = t.machine.Push(m.Method, &own, params, now)
	}
	if t.through {
		out = append(out, t.machine.Drain()...)
	}
	for i, msg := range out {
		if msg != &own {
			t.send(out[i : i+1])
		} else if _, failed := c.Put(msg, link.NoLimit); failed != nil {
			err = failed
		}
	}
	t.settle(now)
	return nil, err
}

// send puts messages into the outbox. What the wire cannot carry has nobody any
// more to be told; the end of the stream the read loop tells of. Under the lock.
func (t *thinner) send(list []*codec.Message) {
	for _, m := range list {
		if _, err := t.conn.Put(m, link.NoLimit); errors.As(err, new(*codec.FrameError)) {
			t.ref.world.Log.Named(t.ref.spec.Name).Warn("a notification cannot be sent", "method", m.Method, "error", err)
		}
	}
}

// settle sees to what comes next. Under the lock, behind what is sent.
func (t *thinner) settle(now time.Time) {
	t.held.Store(int32(t.machine.Held()))
	due, any := t.machine.Due()
	switch {
	case !any:
		if !t.due.IsZero() {
			t.timer.Stop()
			t.due = time.Time{}
		}
	case due.Equal(t.due):
	case t.timer == nil:
		t.due = due
		t.timer = time.AfterFunc(due.Sub(now), t.fire)
	default:
		t.due = due
		t.timer.Reset(due.Sub(now))
	}
}

// fire is the timer. One that fires too late, or for a life that has ended, finds
// nothing to do.
func (t *thinner) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return
	}
	now := time.Now()
	t.due = time.Time{}
	t.send(t.machine.Fire(now))
	t.settle(now)
}

// begin is for the connection of a new life.
func (t *thinner) begin(c *conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn, t.through = c, false
}

// drain sends everything that is held, and holds nothing any more.
func (t *thinner) drain(c *conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == c {
		t.through = true
		t.send(t.machine.Drain())
		t.settle(time.Now())
	}
}

// end drops what a life was not told.
func (t *thinner) end(c *conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == c {
		t.conn = nil
		t.machine.Drop()
		t.settle(time.Now())
	}
}

// status returns the rules with their counts.
func (t *thinner) status() []ThrottleStatus {
	out := []ThrottleStatus{}
	if t == nil {
		return out
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.machine.Each(func(r throttle.Rule, s throttle.Stats) {
		out = append(out, ThrottleStatus{
			Method: r.Method, Every: r.Every.Seconds(), Key: r.Key,
			Sent: s.Sent, Coalesced: s.Merged, Dropped: s.Dropped, Held: s.Held,
		})
	})
	return out
}
