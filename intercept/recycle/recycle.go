package recycle

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/drain"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
)

// name is that of the interceptor.
const name = "recycle"

// glance is the time between two looks at the memory.
const glance = 10 * time.Second

// keeper applies the rule to one host, over all its configurations.
type keeper struct {
	host *actors.Ref
	ctx  context.Context // ends with the host
	stop context.CancelFunc
	gate drain.Gate

	mu     sync.Mutex
	rule   Rule
	life   uint64     // that runs; 0 without one
	random float64    // of that life
	since  time.Time  // when it was ready
	age    link.Timer // nil: any age is good
	memory link.Timer // to the next look; nil: the memory is not looked at

	counted uint64 // the life whose calls are counted: they can come before that it runs is told
	calls   int
	over    uint64 // the last life that is replaced
}

func newKeeper(host *actors.Ref) *keeper {
	k := &keeper{host: host}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

func (k *keeper) interceptor() *actors.Interceptor {
	return &actors.Interceptor{
		Name: name, Stage: actors.StageAdmit, Value: k,
		Outbound: k.gate.Outbound, Sent: k.sent,
		Answered: func(life uint64, _ uint32, _ time.Duration) { k.gate.Answered(life) },
		Changed:  k.changed, Closed: k.closed,
	}
}

func (k *keeper) closed() {
	k.stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(0)
}

// set gives the keeper a rule, which counts for the present life, too.
func (k *keeper) set(r Rule) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rule = r
	k.arm()
}

func (k *keeper) changed(t lifecycle.Transition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case t.To == lifecycle.Running && t.From == lifecycle.Starting && k.ctx.Err() == nil:
		k.begin(t.Life)
	case !t.To.Up() && t.To != lifecycle.Starting:
		k.begin(0)
		if t.To != lifecycle.Stopping { // else it still answers
			k.gate.Ended()
		}
	}
}

// begin follows the start of a life, or with 0 the end of one. The caller must hold mu.
func (k *keeper) begin(life uint64) {
	k.life, k.random, k.since = life, rand.Float64(), k.host.Now()
	k.arm()
}

// arm sets the timers. The caller must hold mu.
func (k *keeper) arm() {
	for _, t := range []link.Timer{k.age, k.memory} {
		if t != nil {
			t.Stop()
		}
	}
	k.age, k.memory = nil, nil
	if k.life == 0 || k.over >= k.life {
		return
	}
	life := k.life
	if k.rule.MaxAge > 0 {
		age := k.rule.age(k.random)
		k.age = k.host.Env().AfterFunc(max(0, k.since.Add(age).Sub(k.host.Now())), func() {
			k.replace(life, fmt.Sprintf("it is %s old", age.Round(time.Millisecond)))
		})
	}
	if k.rule.MaxMemory > 0 {
		k.memory = k.host.Env().AfterFunc(glance, func() { k.look(life) })
	}
}

// look compares the memory of a life with its bound.
func (k *keeper) look(life uint64) {
	used := k.host.Status().RSSBytes
	k.mu.Lock()
	most := k.rule.MaxMemory
	if k.life == life && k.memory != nil {
		k.memory.Reset(glance)
	}
	k.mu.Unlock()
	if used != nil && most > 0 && *used > most {
		k.replace(life, fmt.Sprintf("it takes %d KiB of memory, and max_memory is %d KiB", *used>>10, most>>10))
	}
}

// sent counts the calls. The last one that a life may have shuts the gate behind it.
func (k *keeper) sent(life uint64, _ *codec.Message, _ bool) {
	k.gate.Sent(life)
	k.mu.Lock()
	defer k.mu.Unlock()
	if life != k.counted {
		k.counted, k.calls = life, 0
	}
	k.calls++
	if most := k.rule.MaxRequests; most > 0 && k.calls >= most && k.over < life {
		k.end(life, fmt.Sprintf("it was sent %d calls", most))
	}
}

// replace has a life replaced by another one, if it still runs and this was not asked before.
func (k *keeper) replace(life uint64, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life == life && k.over < life {
		k.end(life, reason)
	}
}

// end holds new calls back, and has a life replaced after those under way. The caller must
// hold mu.
func (k *keeper) end(life uint64, reason string) {
	if k.ctx.Err() != nil || !k.gate.Shut() {
		return
	}
	k.over = life
	k.arm()
	k.host.Background(func() {
		defer k.gate.Open()
		k.renew(life, reason)
	})
}

// renew waits for the calls under way, and restarts the host.
func (k *keeper) renew(life uint64, reason string) {
	k.mu.Lock()
	bound := cmp.Or(k.rule.Drain, DefaultDrain)
	k.mu.Unlock()
	if !k.gate.Quiet(k.ctx, k.host.Pending, bound) && k.ctx.Err() == nil {
		reason += fmt.Sprintf("; calls under way did not end within %s", bound)
	}
	if k.host.Life() != life || !k.host.State().Up() { // it has ended by itself, or a person has stopped it
		return
	}
	if err := k.host.Renew(k.ctx, "recycled: "+reason); err != nil && k.ctx.Err() == nil {
		k.host.Log().Warn("the host is not back after it was recycled", "error", err)
	}
}
