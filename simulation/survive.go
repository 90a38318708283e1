package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// Stories in which the supervisor is killed, and the next one takes back the hosts that survive.

// sigkill kills the supervisor. The next one starts after the argument down.
const sigkill = "sigkill"

// survives reports whether a host outlives its supervisor.
func survives(h *supervisor.HostSpec) bool { return h.Transport == hostspec.TransportStdio }

// surviveField tells it.
var surviveField = field{
	"survive",
	func(h *supervisor.HostSpec) string { return strconv.FormatBool(survives(h)) },
	func(h *supervisor.HostSpec, text string) error {
		h.Transport = ""
		if text == "true" {
			h.Transport = hostspec.TransportStdio
		}
		return nil
	},
}

// outlives reports whether a story has hosts that survive.
func (s *story) outlives() bool {
	return slices.ContainsFunc(s.groups, func(g group) bool {
		return slices.ContainsFunc(g.hosts, func(h supervisor.HostSpec) bool { return survives(&h) })
	})
}

// outlive makes a story one in which the supervisor is killed up to five times, often in the middle
// of what goes on. Such a story has no interceptors, requests of hosts, results in items or attached programs.
func (s *story) outlive(r *rand.Rand, length time.Duration) {
	s.groups = slices.DeleteFunc(s.groups, func(g group) bool { return isShared(&g.hosts[0]) })
	for _, g := range s.groups {
		for i := range g.hosts {
			watch{}.with(&g.hosts[i])
			if err := surviveField.set(&g.hosts[i], strconv.FormatBool(r.IntN(5) > 0)); err != nil {
				panic(err)
			}
		}
	}
	s.steps = slices.DeleteFunc(s.steps, func(st step) bool {
		return st.verb != "call" && !slices.Contains(ofPerson, st.verb) && !slices.Contains(ofProcess, st.verb) && !slices.Contains(ofProgram, st.verb) ||
			st.verb == "eager" || st.host == "server"
	})
	for range 1 + r.IntN(5) {
		at := time.Duration(r.Int64N(int64(length)))
		if len(s.steps) > 0 && r.IntN(4) > 0 {
			at = s.steps[r.IntN(len(s.steps))].at + time.Duration(r.Int64N(int64(40*time.Millisecond)))
		}
		down := []time.Duration{10 * time.Millisecond, time.Second, 20 * time.Second}[r.IntN(3)]
		s.steps = append(s.steps, step{at: at.Round(100 * time.Microsecond), verb: sigkill, host: "supervisor", args: []string{"down=" + down.String()}})
	}
}

// era is the time of one supervisor.
type era struct {
	*tenant
	began   time.Time
	running chan struct{}          // closed once it has started
	sup     *supervisor.Supervisor // valid then
}

// reign has the supervisors of a story, one after the other.
type reign struct {
	mu   sync.Mutex
	now  *era // nil: no supervisor runs
	last *era
	down sync.WaitGroup // those that are to come
}

func (r *reign) begin(m *machine) *era {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &era{tenant: &tenant{machine: m}, began: time.Now(), running: make(chan struct{})}
	if r.last != nil {
		e.number = r.last.number + 1
	}
	r.now, r.last = e, e
	return e
}

// started: a supervisor has started; it may have been killed.
func (r *reign) started(e *era, sup *supervisor.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.sup = sup
	close(e.running)
}

// present returns the present era; nil while no supervisor runs, or it has not started.
func (r *reign) present() *era {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil || r.now.sup == nil {
		return nil
	}
	return r.now
}

// end ends the present era, and returns it; nil if no supervisor runs.
func (r *reign) end() *era {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.now
	if e != nil {
		r.now = nil
		r.down.Add(1)
	}
	return e
}

// lose kills the supervisor, and starts the next one.
func (t *teller) lose(st step) {
	e := t.reign.end()
	if e == nil {
		return
	}
	defer t.down.Done()
	killed := time.Now()
	e.kill()
	t.check.killed()
	<-e.running // what is left of it goes on to its end, without effect
	t.check.past(e, killed)
	t.doing.Add(1)
	t.m.next(fmt.Sprintf("the end of supervisor %d", e.number), func() {
		defer t.doing.Done()
		_ = e.sup.Stop(context.Background())
	})
	time.Sleep(max(t.duration(st, "down"), 10*time.Millisecond))
	t.supervise()
}
