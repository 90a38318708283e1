package budget

import (
	"context"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/supervisor"
)

// weighing is the time between two looks at the memory of the groups.
const weighing = 5 * time.Second

// Part has the budgets of the groups of a tree hold. It is one of supervisor.Spec.Parts.
type Part struct{}

var _ supervisor.Part = Part{}

// Identity implements [supervisor.Part].
func (Part) Identity() (kind, name string) { return "budget", "" }

// Validate implements [supervisor.Part].
func (Part) Validate() error { return nil }

// Open implements [supervisor.Part].
func (Part) Open(t supervisor.Tree) (*supervisor.Opened, error) {
	ctx, end := context.WithCancel(context.Background())
	b := &budgets{tree: t, ctx: ctx, pools: map[string]*pool{}, done: make(chan struct{})}
	go b.run()
	return &supervisor.Opened{Added: b.added, Removed: b.removed, Close: func() error {
		end()
		<-b.done
		return nil
	}}, nil
}

// budgets are those of one tree.
type budgets struct {
	tree supervisor.Tree
	ctx  context.Context // ends with the tree
	done chan struct{}   // closed when run has ended

	mu    sync.Mutex
	pools map[string]*pool // by group
}

func (b *budgets) added(host *supervisor.Host) error {
	ref := host.Ref()
	if poolOf(ref) != nil { // it has another configuration
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pools[ref.Group()]
	if p == nil {
		p = &pool{group: ref.Group(), log: b.tree.Log, journal: b.tree.Journal, ctx: b.ctx, ended: make(chan struct{})}
		b.pools[ref.Group()] = p
	}
	p.add(ref)
	ref.Intercept(&actors.Interceptor{Name: poolName, Stage: actors.StageAdmit, Value: p, Closed: func() { b.forget(p, ref) }})
	return nil
}

// removed waits for nothing: a host that is removed tells so itself, see added.
func (b *budgets) removed(context.Context, *supervisor.Host) error { return nil }

func (b *budgets) forget(p *pool, host *actors.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.remove(host) && b.pools[p.group] == p {
		delete(b.pools, p.group)
	}
}

// run looks at the memory of each group from time to time.
func (b *budgets) run() {
	defer close(b.done)
	tick := time.NewTicker(weighing)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			return
		}
		b.mu.Lock()
		pools := make([]*pool, 0, len(b.pools))
		for _, p := range b.pools {
			pools = append(pools, p)
		}
		b.mu.Unlock()
		for _, p := range pools {
			p.weigh()
		}
	}
}
