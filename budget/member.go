package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/drain"
	"github.com/hostsup/hostsup/lifecycle"
)

// name is that of the interceptor of a [Rule].
const name = "budget"

// member is a host of a group with a budget, over all configurations with a [Rule].
type member struct {
	host *actors.Ref
	gate drain.Gate   // shut while it stops to make room
	used atomic.Int64 // when it was used last, in ns of the host's clock

	mu   sync.Mutex
	rule Rule

	// Under the mutex of the pool:
	present bool // a process of it runs, starts or ends
	leaving bool // it stops to make room
	kept    bool // it has refused to stop, as a host depends on it; until something ends in the group
}

func (m *member) interceptor() *actors.Interceptor {
	return &actors.Interceptor{
		Name: name, Stage: actors.StageAdmit, Value: m, Starting: m.starting,
		Outbound: func(life uint64, msg *codec.Message) actors.Verdict {
			m.use()
			return m.gate.Outbound(life, msg)
		},
		Answered: func(uint64, uint32, time.Duration) { m.use() },
		Changed: func(t lifecycle.Transition) {
			if t.To == lifecycle.Running {
				m.use()
			}
		},
		Gone: func(actors.LifeEnd) {
			if p := poolOf(m.host); p != nil {
				p.gone(m)
			}
		},
	}
}

func (m *member) use() { m.used.Store(m.host.Now().UnixNano()) }

func (m *member) set(r Rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rule = r
}

func (m *member) bounds() Rule {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rule
}

// starting waits for room for a process.
func (m *member) starting(ctx context.Context, _ *actors.Start) error {
	p := poolOf(m.host)
	if p == nil {
		return nil
	}
	return p.enter(ctx, m)
}

// idle reports whether the host can stop without a loss: it runs, a call starts it again, and
// neither a call nor a program needs it now.
func (m *member) idle() bool {
	return m.host.State().Up() && m.host.Spec().Start.Lazy && m.host.Spec().Protocol != nil &&
		m.host.Pending() == 0 && attach.Clients(m.host) == 0
}
