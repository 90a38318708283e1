package simulation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/link"
)

// kernel is the clock and the scheduler of a simulation: a [link.Env] and an
// [actor.Dispatcher]. What it is given to run waits until everything else has come to
// rest; the seed picks what is next, and whether that is late. It works in a synctest
// bubble, whose clock is the time.
type kernel struct {
	begin time.Time
	seed  uint64
	late  float64       // share of tasks that are late
	delay time.Duration // of those, at most

	mu     sync.Mutex
	rng    *rand.Rand
	ready  []func()
	named  []named // ready, too; sorted
	timers timers
	set    uint64        // timers so far
	wake   chan struct{} // has an element when ready or timers have a new one
	steps  int
}

// named is a task of which the name decides where it stands among those that are ready.
type named struct {
	name string
	f    func()
}

// timer is a [link.Timer]. Those that are due at the same time are so in the order in
// which they were set.
type timer struct {
	k     *kernel
	f     func()
	due   time.Time
	order uint64
	index int // in the heap; -1: it is not set
}

// timers is a heap.
type timers []*timer

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	return t[i].due.Before(t[j].due) || t[i].due.Equal(t[j].due) && t[i].order < t[j].order
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

// Push implements [heap.Interface].
func (t *timers) Push(x any) {
	x.(*timer).index = len(*t)
	*t = append(*t, x.(*timer))
}

// Pop implements [heap.Interface].
func (t *timers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	x.index = -1
	return x
}

// maxSteps bounds a story: one that takes more does not come to rest.
const maxSteps = 2_000_000

// interrupted is called where something is given to a kernel; nil but in tests.
var interrupted func()

func newKernel(seed uint64) *kernel {
	return &kernel{begin: time.Now(), seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6b65726e656c)), wake: make(chan struct{}, 1)}
}

// run runs what is ready, one after the other, until over is closed.
func (k *kernel) run(over <-chan struct{}) error {
	for {
		synctest.Wait()
		task, wait := k.pick()
		if task == nil {
			select {
			case <-k.wake: // or time passes until another timer has something
			case <-wait:
			case <-over:
				return nil
			}
			continue
		}
		if k.steps++; k.steps > maxSteps {
			return fmt.Errorf("the tree has not come to rest after %d steps", maxSteps)
		}
		go task()
	}
}

// pick takes one of the tasks that are ready. If no task is ready, task is nil, and wait delivers when
// the next timer is due; wait is nil if no timer is set.
func (k *kernel) pick() (task func(), wait <-chan time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.timers) > 0 && !k.timers[0].due.After(time.Now()) {
		k.ready = append(k.ready, heap.Pop(&k.timers).(*timer).f)
	}
	all := len(k.ready) + len(k.named)
	if all == 0 {
		if len(k.timers) > 0 {
			wait = time.After(time.Until(k.timers[0].due))
		}
		return nil, wait
	}
	i := k.rng.IntN(all)
	if n := i - len(k.ready); n >= 0 {
		task = k.named[n].f
		k.named = slices.Delete(k.named, n, n+1)
		return task, nil
	}
	task = k.ready[i]
	last := len(k.ready) - 1
	k.ready[i], k.ready[last] = k.ready[last], nil
	k.ready = k.ready[:last]
	return task, nil
}

// Go implements [link.Env].
func (k *kernel) Go(f func()) {
	k.interrupt()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.late > 0 && k.rng.Float64() < k.late {
		k.arm(&timer{k: k, f: f, index: -1}, time.Duration(k.rng.Int64N(int64(k.delay))))
		return
	}
	k.ready = append(k.ready, f)
	k.stir()
}

func (k *kernel) interrupt() {
	if interrupted != nil {
		interrupted()
	}
}

// stir wakes the kernel. k.mu is held.
func (k *kernel) stir() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// arm sets a timer. k.mu is held.
func (k *kernel) arm(t *timer, d time.Duration) {
	k.set++
	t.due, t.order = time.Now().Add(d), k.set
	heap.Push(&k.timers, t)
	k.stir()
}

// Stop implements [link.Timer].
func (t *timer) Stop() bool {
	t.k.mu.Lock()
	defer t.k.mu.Unlock()
	return t.disarm()
}

func (t *timer) disarm() bool {
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.k.timers, t.index)
	return true
}

// Reset implements [link.Timer].
func (t *timer) Reset(d time.Duration) bool {
	t.k.mu.Lock()
	defer t.k.mu.Unlock()
	was := t.disarm()
	t.k.arm(t, d)
	return was
}

// Now implements [link.Env].
func (k *kernel) Now() int64 { return int64(time.Since(k.begin)) + 1 }

// Time implements [link.Env].
func (k *kernel) Time(reading int64) time.Time { return k.begin.Add(time.Duration(reading - 1)) }

// AfterFunc implements [link.Env].
func (k *kernel) AfterFunc(d time.Duration, f func()) link.Timer {
	t := &timer{k: k, f: f, index: -1}
	k.interrupt()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.arm(t, d)
	return t
}

// Schedule implements [actor.Dispatcher].
func (k *kernel) Schedule(f func()) { k.Go(f) }

// Throughput implements [actor.Dispatcher].
func (k *kernel) Throughput() int { return 300 }

// dispatch has all actors below the root of a system wait for the kernel.
func (k *kernel) dispatch(system *actor.ActorSystem) {
	known := make(map[*actor.Props]bool) // by the kernel's one thread
	var mu sync.Mutex
	var middleware actor.SpawnMiddleware
	middleware = func(spawn actor.SpawnFunc) actor.SpawnFunc {
		return func(sys *actor.ActorSystem, id string, props *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
			mu.Lock()
			if !known[props] {
				known[props] = true
				props.Configure(actor.WithDispatcher(k), actor.WithSpawnMiddleware(middleware))
			}
			mu.Unlock()
			return spawn(sys, id, props, parent)
		}
	}
	system.Root.WithSpawnMiddleware(middleware)
}

// turn lets others go first: whoever has called goes on when it is picked. What goes on in one step may
// call in any order, that of Go's scheduler; among those that wait the order is that of their names.
func (k *kernel) turn(name string) {
	on := make(chan struct{})
	k.next(name, func() { close(on) })
	<-on
}

// soon is next, or sets a timer if the dice have f be late.
func (k *kernel) soon(d *dice, name string, f func()) {
	if k.late > 0 && d.chance(k.late) {
		k.AfterFunc(d.within(k.delay), f)
		return
	}
	k.next(name, f)
}

// next has f run when it is picked, among what is ready. name is not that of anything that is ready.
func (k *kernel) next(name string, f func()) {
	k.interrupt()
	k.mu.Lock()
	defer k.mu.Unlock()
	i, _ := slices.BinarySearchFunc(k.named, name, func(t named, name string) int { return strings.Compare(t.name, name) })
	k.named = slices.Insert(k.named, i, named{name, f})
	k.stir()
}
