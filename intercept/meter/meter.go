// Package meter counts what a host does, over all its lives but where it says
// otherwise, and shows it in the host's status. No caller waits for that.
package meter

import (
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Meter has the counts of one host.
type Meter struct {
	calls    atomic.Uint64          // written to the host, but for the supervisor's own
	answered atomic.Pointer[counts] // of these; nil before the first, as most hosts of many are never called

	activated  atomic.Int64 // extensions, in the life that began last
	activation atomic.Int64 // ns that this took, together
}

// name is that of the interceptor.
const name = "meter"

// New returns the interceptor that counts for a host. It goes on with the counts of one
// that the host has.
func New(host *actors.Ref) *actors.Interceptor {
	m := Of(host)
	if m == nil {
		m = &Meter{}
	}
	return &actors.Interceptor{
		Name: name, Stage: actors.StageWatch, Value: m,
		Sent: m.sent, Answered: m.heard, Changed: m.changed, Status: m.fill,
	}
}

// Of returns the meter of a host, or nil.
func Of(host *actors.Ref) *Meter {
	m, _ := host.Interceptor(name).(*Meter)
	return m
}

func (m *Meter) sent(_ uint64, _ *codec.Message, again bool) {
	if !again {
		m.calls.Add(1)
	}
}

func (m *Meter) heard(_ uint64, _ uint32, took time.Duration) {
	if took < 0 {
		return
	}
	c := m.answered.Load()
	if c == nil {
		m.answered.CompareAndSwap(nil, new(counts))
		c = m.answered.Load()
	}
	c.add(took)
}

// Responses returns how long the answers of the host have taken, over all its lives. m
// may be nil.
func (m *Meter) Responses() Histogram {
	if m == nil {
		return Histogram{}
	}
	if c := m.answered.Load(); c != nil {
		return c.read()
	}
	return Histogram{}
}

func (m *Meter) changed(t lifecycle.Transition) {
	if t.To == lifecycle.Starting {
		m.activated.Store(0)
		m.activation.Store(0)
	}
}

// Activated tells that activating an extension has taken this long in the life
// of the host that is up. m may be nil.
func (m *Meter) Activated(took time.Duration) {
	if m != nil {
		m.activation.Add(int64(took))
		m.activated.Add(1)
	}
}

func (m *Meter) fill(s *record.HostStatus) {
	seconds := func(ns int64) *float64 {
		v := time.Duration(ns).Seconds()
		return &v
	}
	s.Calls = m.calls.Load()
	if h := m.Responses(); h.Count > 0 {
		s.AverageResponseSeconds = seconds(int64(h.Sum) / int64(h.Count))
	}
	if m.activated.Load() > 0 {
		s.ActivationSeconds = seconds(m.activation.Load())
	}
}
