package actors

import (
	"context"
	"errors"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
)

// Witness is a [Companion] that is told more: of every call, of the ends of
// lives and of changes of the state. Called and Answered are for callers and
// the read loop, and must not wait; Ended and Changed come from the host's
// actor, in the order in which things happen.
type Witness interface {
	Companion
	// Called tells of a call before the host can have read of it; params must
	// not be changed. It is called under a lock of the connection, which it must not
	// use.
	Called(life uint64, id uint32, method string, params codec.Raw)
	// Answered tells that the host has answered a call, be its caller there or
	// not. What a life has not answered at its end is not told of.
	Answered(life uint64, id uint32)
	// Ended tells how a life has ended, also one that never was up, before the
	// rules decide what follows, and returns what is known of that.
	Ended(e LifeEnd) Testimony
	// Changed tells of a change of the host's state.
	Changed(t lifecycle.Transition)
}

// LifeEnd is the end of a life.
type LifeEnd struct {
	Life     uint64
	Cause    lifecycle.Cause
	Status   lifecycle.ExitStatus
	Reason   string // for people
	Expected bool   // somebody has stopped it
}

// Testimony is what a witness adds to the end of a life.
type Testimony struct {
	// Forgive takes the crashes so far, this one included, off the host's
	// account: what has caused them is somewhere else now.
	Forgive bool
	Report  *ExtensionReport // for the crash report; nil: nothing
}

// ExtensionReport is what a crash report says of extensions.
type ExtensionReport struct {
	Begun     []string         `json:"begun"`     // whose activation had begun
	Decisions []blame.Decision `json:"decisions"` // what the crash has led to
	Profile   *ProfileReport   `json:"profile,omitempty"`
}

// ProfileReport is the CPU profile that was taken of a host while it hung.
type ProfileReport struct {
	Seconds float64       `json:"seconds"`
	Shares  []blame.Share `json:"shares"`         // of the processor, by extension; the largest first
	File    string        `json:"file,omitempty"` // where it is, as long as it is among the newest
}

// witness returns the companion if it wants to be told more, or nil.
func (r *Ref) witness() Witness {
	w, _ := r.with().(Witness)
	return w
}

// Call asks the life of the line for something, and no other life, and waits
// for the outcome; else it is [Ref.Call].
func (l *Line) Call(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	r := l.c.ref
	_, bounded := ctx.Deadline()
	q, _, err := r.make(method, in, false, bounded, append(opts, led))
	if err != nil {
		return err
	}
	q.Arm()
	if err := l.c.send(ctx, q, link.Limit); err != nil {
		if errors.Is(err, link.ErrClosed) {
			err = &HostError{Host: r.spec.Name, Life: l.c.life, Err: ErrCrashed, Reason: "connection closed"}
		}
		q.Settle(nil, err)
	}
	raw, err := q.Wait(ctx)
	if err != nil || out == nil {
		return err
	}
	return r.spec.Protocol.Unmarshal(raw, out)
}

// called tells a witness of a call.
func (c *conn) called(m *codec.Message) {
	if c.ref.companion.Load() == nil {
		return
	}
	if w := c.ref.witness(); w != nil {
		w.Called(c.life, m.ID, m.Method, m.Params)
	}
}

// answered tells a witness that the host has answered.
func (c *conn) answered(id uint32) {
	if c.ref.companion.Load() == nil {
		return
	}
	if w := c.ref.witness(); w != nil {
		w.Answered(c.life, id)
	}
}

// testify asks a witness about the end of a life.
func (h *Host) testify(f *Failure, ev lifecycle.Ended) (t Testimony) {
	if w := h.ref.witness(); w != nil {
		t = w.Ended(LifeEnd{
			Life: f.Life, Cause: ev.Cause, Status: ev.Status, Reason: ev.Reason(),
			Expected: h.machine.State() == lifecycle.Stopping,
		})
	}
	return t
}
