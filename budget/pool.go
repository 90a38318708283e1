package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const (
	// poolName is that of the interceptor by which a host finds its pool.
	poolName = "budget of the group"
	// patience is how long a start waits for room at a time. It is shorter than the time-outs
	// of starts; the start is tried again then, and not counted as a crash.
	patience = 2 * time.Second
	// glance is the time between two looks for a host that has become idle.
	glance = 20 * time.Millisecond
)

// pool has the hosts of a group.
type pool struct {
	group   string
	log     hclog.Logger
	journal *record.Journal
	ctx     context.Context // ends with the tree

	mu    sync.Mutex
	hosts []*actors.Ref
	ended chan struct{} // closed when a process has ended
	over  bool          // the memory is over its bound, and no host is idle
}

// poolOf returns the pool of a host; nil in a tree without a [Part].
func poolOf(host *actors.Ref) *pool {
	p, _ := host.Interceptor(poolName).(*pool)
	return p
}

// members returns the hosts that have a rule now. The caller must hold mu.
func (p *pool) members() []*member {
	var out []*member
	for _, h := range p.hosts {
		if m := memberOf(h); m != nil {
			out = append(out, m)
		}
	}
	return out
}

func (p *pool) add(host *actors.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = append(p.hosts, host)
}

// remove forgets a host, and reports whether the pool is empty.
func (p *pool) remove(host *actors.Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = slices.DeleteFunc(p.hosts, func(h *actors.Ref) bool { return h == host })
	p.signal()
	return len(p.hosts) == 0
}

// signal wakes who waits for room. The caller must hold mu.
func (p *pool) signal() {
	close(p.ended)
	p.ended = make(chan struct{})
}

// gone follows the end of a process.
func (p *pool) gone(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.present = false
	for _, o := range p.members() {
		o.kept = false
	}
	p.signal()
}

// enter waits until there is room for a process of a host, for a while: the error is
// [actors.ErrNoRoom] then.
func (p *pool) enter(ctx context.Context, m *member) error {
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		free, ended, err := p.take(m)
		if free {
			return nil
		}
		look := make(chan struct{})
		timer := m.host.Env().AfterFunc(glance, func() { close(look) })
		select {
		case <-ended:
		case <-look:
		case <-waited.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		timer.Stop()
	}
}

// take makes room for a process of a host if there is some; else it has another host stop, and
// returns what is closed when a process has ended, and what is wrong until then.
func (p *pool) take(m *member) (free bool, ended <-chan struct{}, err error) {
	most := m.bounds().Running
	p.mu.Lock()
	defer p.mu.Unlock()
	if most == 0 || m.present {
		m.present = true
		return true, nil, nil
	}
	all, running, leaving := p.members(), 0, 0
	for _, o := range all {
		if !o.present && !o.host.State().AtRest() && o != m { // it had no rule when it was started
			o.present = o.host.State().Up()
		}
		if o.present {
			running++
		}
		if o.leaving {
			leaving++
		}
	}
	if running < most {
		m.present = true
		return true, nil, nil
	}
	if leaving == 0 {
		p.release(all)
	}
	return false, p.ended, fmt.Errorf("%w: group %q has max_running = %d, and as many of its hosts run", actors.ErrNoRoom, p.group, most)
}

// release has the idle member stop that has not been used for the longest time, and returns it; nil
// if no member is idle. The caller must hold mu.
func (p *pool) release(all []*member) *member {
	idle := slices.DeleteFunc(slices.Clone(all), func(m *member) bool { return m.leaving || m.kept || !m.idle() })
	slices.SortFunc(idle, func(a, b *member) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, m := range idle {
		if !m.gate.Shut() {
			continue
		}
		if !m.idle() { // a call came before the gate was shut
			m.gate.Open()
			continue
		}
		m.leaving = true
		m.host.Background(func() { p.stop(m) })
		return m
	}
	return nil
}

// stop stops a member. Calls to it wait, and then start it again.
func (p *pool) stop(m *member) {
	defer m.gate.Open()
	err := m.host.Release(p.ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	m.leaving, m.kept = false, err != nil
	if err != nil && p.ctx.Err() == nil && !errors.Is(err, actors.ErrNoHost) {
		m.host.Log().Debug("an idle host is not stopped to make room", "error", err)
	}
	p.signal()
}

// weigh compares the memory of the group with its bound.
func (p *pool) weigh() {
	p.mu.Lock()
	all := p.members()
	p.mu.Unlock()
	var most, sum int64
	taken := map[*member]int64{}
	for _, m := range all {
		if b := m.bounds().Memory; b > 0 {
			most = b
		}
	}
	if most == 0 {
		return
	}
	for _, m := range all {
		if used := m.host.Status().RSSBytes; used != nil {
			taken[m] = *used
			sum += *used
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	total, stopped := sum, false
	for _, m := range all {
		if m.leaving {
			sum -= taken[m]
			stopped = true
		}
	}
	for sum > most {
		m := p.release(all)
		if m == nil {
			break
		}
		sum -= taken[m]
		stopped = true
	}
	over := sum > most && !stopped
	if over && !p.over {
		text := fmt.Sprintf("the hosts of the group take %s of memory, memory_budget is %s, and no host is idle", policy.FormatSize(total), policy.FormatSize(most))
		p.log.Warn(text, "group", p.group)
		p.journal.Write(record.Event{Kind: record.KindShortage, Group: &p.group, Reason: text})
	}
	p.over = over
}
