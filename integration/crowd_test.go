//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// inFlight is how many calls are open when something happens to them.
const inFlight = 1000

// crowd is many open calls to one host, made in every way there is: waited
// for, taken later, by message, as streams.
type crowd struct {
	t      testing.TB
	sup    *supervisor.Supervisor
	h      *supervisor.Host
	system *actor.ActorSystem
	cancel context.CancelFunc // of those that are waited for

	mu       sync.Mutex
	outcomes map[string][]error // by call, so that a second one is seen
	pending  []*actors.Pending
	all      sync.WaitGroup
	asker    *actor.PID
}

// gather opens inFlight calls of a method that does not answer by itself.
// deadline 0 is longer than any test.
func gather(t testing.TB, sup *supervisor.Supervisor, system *actor.ActorSystem, h *supervisor.Host, method string, in any, deadline time.Duration) *crowd {
	t.Helper()
	if deadline == 0 {
		deadline = time.Hour
	}
	c := &crowd{t: t, sup: sup, h: h, system: system, outcomes: make(map[string][]error)}
	var waited context.Context
	waited, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(c.cancel)
	c.asker = system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if r, ok := ctx.Message().(*actors.Result); ok {
			c.outcome(r.ID.(string), r.Err)
			c.all.Done()
		}
	}))
	t.Cleanup(func() { _ = system.Root.StopFuture(c.asker).Wait() })
	c.all.Add(inFlight)
	for i := range inFlight {
		name := fmt.Sprintf("call %d", i)
		idempotent := []supervisor.CallOption{supervisor.Timeout(deadline)}
		if i%2 == 0 {
			idempotent = append(idempotent, supervisor.Idempotent())
		}
		switch i % 4 {
		case 0: // waited for
			go func() {
				defer c.all.Done()
				c.outcome(name, h.Call(waited, method, in, nil, idempotent...))
			}()
		case 1: // taken later
			p, err := h.Go(context.Background(), method, in, idempotent...)
			if err != nil {
				c.outcome(name, err)
				c.all.Done()
				continue
			}
			c.pending = append(c.pending, p)
			go func() {
				defer c.all.Done()
				c.outcome(name, p.Result(nil))
			}()
		case 2: // by message
			system.Root.RequestWithCustomSender(sup.PID(), &actors.Call{ID: name, Host: h.Name(), Method: method, Params: in, Timeout: deadline, Idempotent: true}, c.asker)
		case 3: // as a stream
			go func() {
				defer c.all.Done()
				var last error
				for _, err := range h.Stream(waited, method, in, supervisor.Timeout(deadline)) {
					last = err
				}
				c.outcome(name, last)
			}()
		}
	}
	// Some of a short deadline may be over before the last is made.
	eventually(t, func() bool { return h.Status().Pending == inFlight || c.count() > 0 }, "all are open")
	return c
}

func (c *crowd) outcome(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[name] = append(c.outcomes[name], err)
}

// settled waits for all outcomes and holds that each call has had one, of the
// kind that want accepts.
func (c *crowd) settled(want func(error) bool) {
	c.t.Helper()
	done := make(chan struct{})
	go func() { c.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx(c.t).Done():
		c.t.Fatalf("%d of %d calls have an outcome; status %+v", c.count(), inFlight, c.h.Status())
	}
	eventually(c.t, func() bool { return c.h.Status().Pending == 0 }, "nothing is pending")
	// A second answer by message would be in the asker's mailbox by now.
	c.asked()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.outcomes) != inFlight {
		c.t.Errorf("%d calls have an outcome, want %d", len(c.outcomes), inFlight)
	}
	if all, examples := unexpected(c.outcomes, want); all > 0 {
		c.t.Errorf("%d of %d calls have another outcome than exactly one that is expected, such as:\n%s", all, inFlight, strings.Join(examples, "\n"))
	}
	eventually(c.t, func() bool { return requests(c.system) <= 1 }, "no request is left but a ping")
}

// unexpected counts the calls that do not have exactly one outcome of a kind that
// want accepts, and describes at most five of them.
func unexpected(outcomes map[string][]error, want func(error) bool) (all int, examples []string) {
	for name, errs := range outcomes {
		if len(errs) == 1 && want(errs[0]) {
			continue
		}
		if all++; all <= 5 {
			examples = append(examples, fmt.Sprintf("%s: %v", name, errs))
		}
	}
	return all, examples
}

// The kind of each outcome is checked, not only of the first few: TestEveryCallHasOneOutcome
// and TestOverload prove nothing otherwise.
func TestUnexpectedLooksAtEveryOutcome(t *testing.T) {
	t.Parallel()
	expected := errors.New("expected")
	for name, bad := range map[string][]error{
		"another kind": {errors.New("another")},
		"success":      {nil},
		"none":         {},
		"two":          {expected, expected},
	} {
		outcomes := make(map[string][]error)
		for i := range inFlight {
			outcomes[fmt.Sprintf("call %d", i)] = []error{expected}
		}
		if all, examples := unexpected(outcomes, oneOf(expected)); all != 0 || len(examples) != 0 {
			t.Errorf("all as expected: %d, %q", all, examples)
		}
		for i := range inFlight {
			outcomes[fmt.Sprintf("call %d", i)] = bad
			if all, examples := unexpected(outcomes, oneOf(expected)); all != i+1 || len(examples) != min(i+1, 5) {
				t.Fatalf("%s: %d of %d calls are found, %d are described", name, all, i+1, len(examples))
			}
		}
	}
}

// requests counts the requests that are addressable, pings included.
func requests(system *actor.ActorSystem) int {
	n := 0
	for _, bucket := range system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for name := range bucket.Items() {
			if strings.Contains(name, "/request-") {
				n++
			}
		}
	}
	return n
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.outcomes)
}

// asked lets the asker come to the end of its mailbox.
func (c *crowd) asked() {
	c.t.Helper()
	c.all.Add(1)
	c.system.Root.Send(c.asker, &actors.Result{ID: "the last"})
	c.all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.outcomes, "the last")
}

// eachLife has end end this life and each that comes after it until all calls have
// an outcome: an idempotent call that has not reached the next life before that ends
// is sent to the one after it.
func (c *crowd) eachLife(end func()) {
	c.t.Helper()
	for life := uint64(1); ; life++ {
		eventually(c.t, func() bool {
			s := c.h.Status()
			return c.count() == inFlight || s.State == lifecycle.Running && s.Life == life
		}, "the next life")
		if c.count() == inFlight {
			return
		}
		end()
	}
}

// oneOf accepts errors of these kinds.
func oneOf(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

// exited accepts crashed with this exit. What was idempotent is sent to the
// next life, which the test ends as well.
func exited(status lifecycle.ExitStatus) func(error) bool {
	return func(err error) bool {
		var he *supervisor.HostError
		return errors.Is(err, supervisor.ErrCrashed) && errors.As(err, &he) && he.Exit != nil &&
			he.Exit.Signal == status.Signal && (status.Signal != 0 || he.Exit.Code == status.Code)
	}
}
