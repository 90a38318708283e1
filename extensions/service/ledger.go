package service

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
)

// ledger records the open calls of commands of a host. Callers and the read loop write
// it; the loop of the service reads it only when it needs the calls in flight, so that
// no call wakes the loop.
type ledger struct {
	mu    sync.Mutex
	open  map[uint32]entry // of life
	life  uint64
	ended []uint32                 // calls that the machine knows as open
	back  map[string]int           // how many others have ended since the last take; of at most maxCommands commands
	spent map[string]time.Duration // how long those took together
}

// maxOpen is how many open calls of a life are kept at least. Callers may abandon a call
// that its host does not answer, without a report to the ledger; beyond twice as many
// the older calls are dropped.
const maxOpen = 10_000

type entry struct {
	command string
	use     *use
	at      int64 // when it began
	known   bool  // the machine knows it
}

func (l *ledger) began(life uint64, id uint32, command string, u *use) {
	now := u.begin()
	l.mu.Lock()
	defer l.mu.Unlock()
	if life < l.life {
		return // late: the life is over
	}
	l.switchLife(life)
	l.open[id] = entry{command: command, use: u, at: now}
	if len(l.open) > 2*maxOpen {
		l.trim()
	}
}

// trim drops all but the newest open calls. The caller must hold the lock.
func (l *ledger) trim() {
	ids := slices.SortedFunc(maps.Keys(l.open), func(a, b uint32) int { return cmp.Compare(l.open[a].at, l.open[b].at) })
	for _, id := range ids[:len(ids)-maxOpen] {
		if l.open[id].known {
			l.ended = append(l.ended, id)
		}
		delete(l.open, id)
	}
}

// switchLife switches to a new life. The caller must hold the lock.
func (l *ledger) switchLife(life uint64) {
	if life > l.life || l.open == nil {
		l.life, l.open, l.ended = life, map[uint32]entry{}, nil
	}
	if l.back == nil {
		l.back, l.spent = map[string]int{}, map[string]time.Duration{}
	}
}

func (l *ledger) done(life uint64, id uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.open[id]
	if life != l.life || !ok {
		return
	}
	delete(l.open, id)
	e.use.end(e.at)
	if e.known {
		l.ended = append(l.ended, id)
	} else if _, known := l.back[e.command]; known || len(l.back) < maxCommands {
		l.back[e.command]++
		l.spent[e.command] += sinceStart() - time.Duration(e.at)
	}
}

// tally has the changes since the last take, in a life or before.
type tally struct {
	open  map[uint32]string // new calls
	ages  map[uint32]time.Duration
	ended []uint32
	back  map[string]int
	spent map[string]time.Duration
}

// take returns the tally of a life, and drops a life that is over.
func (l *ledger) take(life uint64, over bool) (t tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.switchLife(life)
	t.back, l.back = l.back, map[string]int{}
	t.spent, l.spent = l.spent, map[string]time.Duration{}
	if l.life == life {
		t.open, t.ages = map[uint32]string{}, map[uint32]time.Duration{}
		now := sinceStart()
		for id, e := range l.open {
			if !e.known {
				t.open[id], t.ages[id] = e.command, now-time.Duration(e.at)
				e.known = true
				l.open[id] = e
			}
		}
		t.ended, l.ended = l.ended, nil
		if over {
			l.switchLife(life + 1)
		}
	}
	return t
}

// called records a call if it is of a command.
func (p *extHost) called(life uint64, m *codec.Message, _ bool) {
	if x, ok := p.adapter.activates(m.Method, m.Params); ok {
		p.starts.Store(startCall{life, m.ID}, x)
	} else if command, ok := p.adapter.command(m.Method, m.Params); ok {
		p.calls.began(life, m.ID, command, p.s.uses.of(command))
	}
}

// startCall is a request to activate an extension.
type startCall struct {
	life uint64
	id   uint32
}

func (p *extHost) answered(life uint64, id uint32, _ time.Duration) {
	if x, ok := p.starts.LoadAndDelete(startCall{life, id}); ok {
		p.s.post(func() { // before the end of the life can be reported
			if x, ok := x.(extensions.ID); ok {
				p.s.fault(p.number, blame.Finished{Cell: p.cell, Life: life, ID: x})
			}
		})
		return
	}
	p.calls.done(life, id)
}

// tally passes the current calls of a life to the blame machine.
func (p *extHost) tally(life uint64, over bool) {
	t := p.calls.take(life, over)
	for command, n := range t.back {
		if owner, ok := p.ownerOf(command); ok {
			p.s.fault(p.number, blame.Returned{ID: owner, Method: command, Count: n, Spent: t.spent[command]})
		}
	}
	slices.Sort(t.ended)
	for _, id := range t.ended {
		p.s.fault(p.number, blame.CallEnded{Cell: p.cell, Life: life, Call: uint64(id)})
	}
	for id, command := range t.open {
		if owner, ok := p.ownerOf(command); ok {
			p.s.fault(p.number, blame.CallBegan{Cell: p.cell, Life: life, Call: uint64(id), ID: owner, Method: command, Age: t.ages[id]})
		}
	}
}

// ownerOf returns the extension of a command in this host.
func (p *extHost) ownerOf(command string) (extensions.ID, bool) {
	belongs := p.s.belongsTo(p)
	for _, id := range p.s.registry.Interested("onCommand:" + command) {
		if e, _ := p.s.registry.Get(id); belongs(e) {
			return id, true
		}
	}
	id, ok := p.s.command[command]
	if e, known := p.s.registry.Get(id); !ok || !known || !belongs(e) {
		return "", false
	}
	return id, true
}
