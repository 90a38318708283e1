package actors

import (
	"sync/atomic"
	"time"
)

// meter counts what a host does, over all its lives but where it says otherwise.
// Whoever sends a call or reads its answer adds to it; no caller waits for that.
type meter struct {
	calls    atomic.Uint64 // written to the host, but for the supervisor's own
	answered atomic.Uint64 // of these
	took     atomic.Int64  // ns until then, together

	startup    atomic.Int64 // ns, of the life that was ready last; 0: there was none
	activated  atomic.Int64 // extensions, in the life that began last
	activation atomic.Int64 // ns that this took, together
}

// sent counts a call that is on its way.
func (m *meter) sent() { m.calls.Add(1) }

// heard counts the answer to a call that was written at since, unless that is 0.
func (m *meter) heard(since, now int64) {
	if since != 0 && now >= since {
		m.answered.Add(1)
		m.took.Add(now - since)
	}
}

// begin is for a new life, ready for one that has shaken hands.
func (m *meter) begin() {
	m.activated.Store(0)
	m.activation.Store(0)
}

func (m *meter) ready(took time.Duration) { m.startup.Store(max(1, int64(took))) }

// Activated tells that activating an extension has taken this long in the life
// of the host that is up. It is for whoever looks after extensions.
func (r *Ref) Activated(took time.Duration) {
	r.meter.activation.Add(int64(took))
	r.meter.activated.Add(1)
}

// fill puts the counts into a status.
func (m *meter) fill(s *HostStatus) {
	seconds := func(ns int64) *float64 {
		v := time.Duration(ns).Seconds()
		return &v
	}
	s.Calls = m.calls.Load()
	if n := m.answered.Load(); n > 0 {
		s.AverageResponseSeconds = seconds(m.took.Load() / int64(n))
	}
	if ns := m.startup.Load(); ns > 0 {
		s.StartupSeconds = seconds(ns)
	}
	if m.activated.Load() > 0 {
		s.ActivationSeconds = seconds(m.activation.Load())
	}
}
