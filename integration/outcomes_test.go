//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
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

// TestEveryCallHasOneOutcome lets everything happen that can happen to a
// thousand open calls.
func TestEveryCallHasOneOutcome(t *testing.T) {
	t.Parallel()
	sleep := map[string]int{"ms": 3_600_000}
	root := func(c *crowd) *actor.RootContext { return c.system.Root }
	causes := []struct {
		title  string
		with   []change
		method string        // default sleep
		within time.Duration // the calls' deadline
		do     func(*crowd)
		want   func(error) bool
	}{{
		title: "kill -9, of this life and those after it",
		with:  []change{crashes(20)},
		do:    func(c *crowd) { c.eachLife(func() { signal(c.t, c.h, syscall.SIGKILL) }) },
		want:  exited(lifecycle.ExitStatus{Signal: 9}),
	}, {
		title: "an exit, of this life and those after it",
		with:  []change{crashes(20)},
		do: func(c *crowd) {
			c.eachLife(func() { _ = c.h.Call(ctx(c.t), "exit", map[string]int{"code": 3}, nil) })
		},
		want: exited(lifecycle.ExitStatus{Code: 3}),
	}, {
		title: "giving up",
		with:  []change{crashes(1)},
		do:    func(c *crowd) { signal(c.t, c.h, syscall.SIGKILL) },
		want:  oneOf(supervisor.ErrCrashed, supervisor.ErrFailed),
	}, {
		title: "bytes that are no message",
		with:  []change{crashes(1)},
		do:    func(c *crowd) { _ = c.h.Call(ctx(c.t), "garbage", map[string]string{"kind": "shape"}, nil) },
		want:  oneOf(supervisor.ErrCrashed, supervisor.ErrFailed),
	}, {
		title: "a hang, which is killed",
		with:  []change{watched, crashes(1)},
		do:    func(c *crowd) { _, _ = c.h.Go(ctx(c.t), "hang", nil) },
		want:  oneOf(supervisor.ErrUnresponsive, supervisor.ErrFailed),
	}, {
		title: "a person's stop of a host that does as it is told",
		do:    func(c *crowd) { persons((*supervisor.Host).Stop)(&scene{t: c.t, h: c.h}) },
		want:  stoppedOrTold,
	}, {
		title: "a person's stop of a host that does not",
		with:  []change{startsLike("ignore-term"), grace(300 * time.Millisecond)},
		do:    func(c *crowd) { persons((*supervisor.Host).Stop)(&scene{t: c.t, h: c.h}) },
		want:  stoppedOrTold, // it still reads the goodbye
	}, {
		title: "a person's restart",
		do:    func(c *crowd) { persons((*supervisor.Host).Restart)(&scene{t: c.t, h: c.h}) },
		want:  stoppedOrTold,
	}, {
		title: "the end of the tree",
		do:    func(c *crowd) { end(c.t, c.sup) },
		want:  stoppedOrTold,
	}, {
		title: "the end of the tree in no time",
		do: func(c *crowd) {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if err := c.sup.Stop(ended); !errors.Is(err, context.Canceled) {
				c.t.Errorf("stop: %v", err)
			}
		},
		want: oneOf(supervisor.ErrStopped),
	}, {
		title: "the host is taken out",
		do: func(c *crowd) {
			if err := c.sup.Remove(ctx(c.t), "ts"); err != nil {
				c.t.Error(err)
			}
		},
		want: stoppedOrTold,
	}, {
		title:  "their deadlines",
		within: 2 * time.Second,
		do:     func(*crowd) {},
		want:   oneOf(supervisor.ErrTimeout),
	}, {
		title:  "their deadlines, of a host that is stopped by a signal",
		with:   []change{reported},
		within: 5 * time.Second,
		do: func(c *crowd) {
			signal(c.t, c.h, syscall.SIGSTOP)
			until(c.t, c.h, lifecycle.Unresponsive)
			for range 3 { // nor do those that come later hang
				if err := c.h.Call(ctx(c.t), "echo", 1, nil, supervisor.Timeout(10*time.Millisecond)); !errors.Is(err, supervisor.ErrTimeout) {
					c.t.Errorf("call of a stopped process: %v", err)
				}
			}
			c.all.Wait()
			signal(c.t, c.h, syscall.SIGCONT)
			until(c.t, c.h, lifecycle.Running)
			echoes(c.t, c.h) // it owes a thousand late answers, which nobody minds
		},
		want: oneOf(supervisor.ErrTimeout),
	}, {
		title: "their PIDs are told to cancel, to stop, to take poison",
		do: func(c *crowd) {
			for i, p := range c.pending {
				switch i % 3 {
				case 0:
					root(c).Send(p.PID(), &actors.CancelRequest{})
				case 1:
					root(c).Stop(p.PID())
				case 2:
					root(c).Poison(p.PID())
				}
			}
			c.cancel()
			// Those made by message are reached by the end of the host alone.
			eventually(c.t, func() bool { return c.h.Status().Pending <= inFlight/4 })
			echoes(c.t, c.h)
			persons((*supervisor.Host).Stop)(&scene{t: c.t, h: c.h})
		},
		want: func(err error) bool {
			return oneOf(supervisor.ErrCancelled, supervisor.ErrStopped)(err) || stoppedOrTold(err)
		},
	}, {
		title: "a start that is given up, while they wait for it",
		with:  []change{lazy, crashes(1), startsLike("never"), startTimeout(2 * time.Second)},
		do:    func(*crowd) {},
		want:  oneOf(supervisor.ErrFailed, supervisor.ErrCrashed),
	}, {
		title: "a stop while they wait for the start",
		with:  []change{lazy, startsLike("never"), grace(100 * time.Millisecond)},
		do:    func(c *crowd) { persons((*supervisor.Host).Stop)(&scene{t: c.t, h: c.h}) },
		want:  oneOf(supervisor.ErrStopped),
	}, {
		title: "the end of the tree in no time while they wait for the start",
		with:  []change{lazy, startsLike("never")},
		do: func(c *crowd) {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = c.sup.Stop(ended)
		},
		want: oneOf(supervisor.ErrStopped),
	}}
	for _, cause := range causes {
		t.Run(cause.title, func(t *testing.T) {
			t.Parallel()
			system := safeactor.NewSystem(logger(t))
			t.Cleanup(system.Shutdown)
			with := append([]change{crashes(3), func(s *supervisor.HostSpec) { s.Requests.MaxPending = 2 * inFlight }}, cause.with...)
			sup, h := alone(t, demoHost("ts", with...), supervisor.WithSystem(system))
			method, in := cause.method, any(sleep)
			if method == "" {
				method = "sleep"
			}
			c := gather(t, sup, system, h, method, in, cause.within)
			cause.do(c)
			c.settled(cause.want)
		})
	}
}

// stoppedOrTold accepts what a call gets from a host that is stopped: what the
// host says to it on its way out, or that it is gone.
func stoppedOrTold(err error) bool {
	var told *codec.Error
	return errors.Is(err, supervisor.ErrStopped) || errors.As(err, &told) && strings.Contains(told.Error(), "shutting down")
}

func TestOverload(t *testing.T) {
	t.Parallel()
	system := safeactor.NewSystem(logger(t))
	t.Cleanup(system.Shutdown)
	sup, h := alone(t, demoHost("ts", func(s *supervisor.HostSpec) { s.Requests.MaxPending = inFlight }), supervisor.WithSystem(system))
	c := gather(t, sup, system, h, "sleep", map[string]int{"ms": 3_600_000}, 0)
	for range 100 {
		err := h.Call(ctx(t), "echo", 1, nil)
		var ce *supervisor.CallError
		if !errors.Is(err, supervisor.ErrOverloaded) || !errors.As(err, &ce) || ce.Method != "echo" {
			t.Fatalf("one too many: %v", err)
		}
		for _, err := range h.Stream(ctx(t), "stream", nil) {
			if !errors.Is(err, supervisor.ErrOverloaded) {
				t.Fatalf("one stream too many: %v", err)
			}
		}
	}
	c.pending[0].Cancel()
	echoes(t, h) // there is room for one again
	c.cancel()
	signal(t, h, syscall.SIGKILL)
	runs(t, h, 2)
	signal(t, h, syscall.SIGKILL)
	c.settled(oneOf(supervisor.ErrCancelled, supervisor.ErrCrashed))
}

// TestCallsWhileTheTreeEnds keeps calling from many sides while the tree, or
// the host, goes away: every call comes back.
func TestCallsWhileTheTreeEnds(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(*scene){
		"stop":   func(sc *scene) { end(sc.t, sc.sup) },
		"remove": func(sc *scene) { _ = sc.sup.Remove(ctx(sc.t), "ts") },
		"kill": func(sc *scene) {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = sc.sup.Stop(ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				sup, h := alone(t, demoHost("ts", grace(time.Second)))
				const callers = 8
				back := make(chan error, callers)
				for i := range callers {
					go func() {
						for {
							var err error
							if i%2 == 0 {
								err = h.Call(context.Background(), "echo", 1, nil, supervisor.Timeout(patience))
							} else { // by way of the host's mailbox most of the time
								err = h.Ref().Do(ctx(t), actors.VerbReset)
							}
							if err != nil && !errors.Is(err, supervisor.ErrCrashed) {
								back <- err
								return
							}
						}
					}()
				}
				eventually(t, func() bool { return h.Status().Pending > 0 })
				finish(&scene{t, sup, h})
				for range callers {
					if err := <-back; !oneOf(supervisor.ErrStopped, supervisor.ErrNoHost, supervisor.ErrClosed)(err) && !stoppedOrTold(err) {
						t.Errorf("%v", err)
					}
				}
			}
		})
	}
}

// TestFullPipe makes calls too large for a host that does not read: they wait
// for room, and their contexts and deadlines hold all the same.
func TestFullPipe(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts", reported))
	signal(t, h, syscall.SIGSTOP)
	big := make([]byte, 1<<20)
	c, cancel := context.WithCancel(ctx(t))
	const calls = 16 // of which some find the outbox full
	back := make(chan error, 2*calls)
	for range calls {
		go func() { back <- h.Call(c, "echo", big, nil, supervisor.Timeout(time.Hour)) }()
	}
	eventually(t, func() bool { return h.Status().Pending == calls }, "all calls are on their way")
	d, cancelDeadline := context.WithTimeout(ctx(t), 300*time.Millisecond)
	defer cancelDeadline()
	for range calls {
		go func() { back <- h.Call(d, "echo", big, nil) }()
	}
	for range calls {
		if err := <-back; !errors.Is(err, supervisor.ErrTimeout) {
			t.Errorf("within its deadline: %v", err)
		}
	}
	until(t, h, lifecycle.Unresponsive) // who asks for a sign of life does not wait for room
	if n := h.Status().Pending; n != calls {
		t.Errorf("%d pending, want %d", n, calls)
	}
	cancel()
	for range calls {
		select {
		case err := <-back:
			if !errors.Is(err, supervisor.ErrCancelled) {
				t.Errorf("within its context: %v", err)
			}
		case <-ctx(t).Done():
			t.Fatal("a cancelled call hangs")
		}
	}
	signal(t, h, syscall.SIGCONT)
	until(t, h, lifecycle.Running)
	echoes(t, h)
}
