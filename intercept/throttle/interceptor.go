package throttle

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
)

// thinner holds back notifications to a host as the Machine of its rules decides. What
// is sent is in the outbox before the lock is given back, so that the order is that of
// the machine. What is held ends with the life.
type thinner struct {
	host        *actors.Ref
	env         link.Env
	incremental func(method string, params codec.Raw) bool
	lookup      func(params []byte) Lookup
	methods     map[string]bool // that have a rule

	held atomic.Int32 // how many; for those who need not wait for the lock

	mu      sync.Mutex
	machine *Machine[*codec.Message]
	line    *actors.Line // of the life that is up; nil without one
	through bool         // the life is about to be told to end: nothing is held any more
	timer   link.Timer
	due     time.Time // when the timer fires; zero: it does not
}

// Interceptor returns what holds back notifications to a host by rules that were
// validated, nil where there are none.
func Interceptor(rules []Rule, host *actors.Ref) *actors.Interceptor {
	p := host.Spec().Protocol
	m, err := New(rules, func(m *codec.Message) int { return len(m.Method) + len(m.Params) })
	if err != nil || len(rules) == 0 || p == nil {
		return nil
	}
	t := &thinner{host: host, incremental: host.Features().Incremental, env: host.Env(), machine: m, methods: map[string]bool{}, lookup: MessagePack}
	for _, r := range rules {
		t.methods[r.Method] = true
	}
	if yes, err := p.Marshal(true); err == nil && bytes.Equal(yes, []byte("true")) {
		t.lookup = JSON
	}
	return &actors.Interceptor{
		Name: "throttle", Stage: actors.StageOwn,
		Up: t.up, Leaving: t.drain, Write: t.write, Status: t.status,
		Ended: func(actors.LifeEnd) { t.end() }, Closed: t.end,
	}
}

// Validate says what is wrong with rules for a host of protocol p, nil for one
// without.
func Validate(rules []Rule, p codec.Protocol, bad func(field, format string, args ...any)) {
	if _, err := New[*codec.Message](rules, nil); err != nil {
		bad("throttle", "%w", err)
	}
	if p == nil && len(rules) > 0 {
		bad("throttle", "nothing is said to a host without a protocol")
	}
}

// now is the time of day.
func (t *thinner) now() time.Time { return t.env.Time(t.env.Now()) }

// write holds a notification back, or has what is held sent before a message.
func (t *thinner) write(line *actors.Line, m *codec.Message, limit int) (v actors.Verdict) {
	switch {
	case m.Kind == codec.Request && t.held.Load() > 0:
		t.before(line, m.Params)
	case m.Kind == codec.Notification && (t.methods[m.Method] || t.held.Load() > 0):
		v = t.push(line, m, limit)
	}
	return v
}

// before sends what has to go before a request. A caller whose own notifications
// are held sees that they are.
func (t *thinner) before(line *actors.Line, params codec.Raw) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line == line {
		now := t.now()
		t.send(t.machine.Clear(t.lookup(params), now))
		t.settle(now)
	}
}

func (t *thinner) push(line *actors.Line, m *codec.Message, limit int) (v actors.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line != line { // it has ended, and says so
		return v
	}
	// Nothing is held for a host that does not read: whoever tells it something
	// waits, as without a rule.
	switch space, err := line.Room(limit); {
	case errors.Is(err, link.ErrFull):
		return actors.Verdict{Hold: space}
	case err != nil:
		return actors.Verdict{Err: err}
	}
	now, own := t.now(), *m
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
		} else if _, err := line.Put(msg, link.NoLimit); err != nil {
			v.Err = err
		}
	}
	t.settle(now)
	v.Taken = v.Err == nil
	return v
}

// send puts messages into the outbox. What the wire cannot carry has nobody any
// more to be told; the end of the stream the read loop tells of. Under the lock.
func (t *thinner) send(list []*codec.Message) {
	for _, m := range list {
		if _, err := t.line.Put(m, link.NoLimit); errors.As(err, new(*codec.FrameError)) {
			t.host.Log().Warn("a notification cannot be sent", "method", m.Method, "error", err)
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
		t.timer = t.env.AfterFunc(due.Sub(now), t.fire)
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
	if t.line == nil {
		return
	}
	now := t.now()
	t.due = time.Time{}
	t.send(t.machine.Fire(now))
	t.settle(now)
}

// up is for a new life.
func (t *thinner) up(line *actors.Line, publish func()) {
	t.mu.Lock()
	t.line, t.through = line, false
	t.mu.Unlock()
	publish()
}

// drain sends everything that is held, and holds nothing any more.
func (t *thinner) drain(line *actors.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line == line {
		t.through = true
		t.send(t.machine.Drain())
		t.settle(t.now())
	}
}

// end drops what a life was not told.
func (t *thinner) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line != nil {
		t.line = nil
		t.machine.Drop()
		t.settle(t.now())
	}
}

// status shows the rules with their counts.
func (t *thinner) status(st *record.HostStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.machine.Each(func(r Rule, s Stats) {
		st.Throttle = append(st.Throttle, record.ThrottleStatus{
			Method: r.Method, Every: r.Every.Seconds(), Key: r.Key,
			Sent: s.Sent, Coalesced: s.Merged, Dropped: s.Dropped, Held: s.Held,
		})
	})
}
