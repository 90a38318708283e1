//go:build linux

package integration

import (
	"context"
	"errors"
	"strings"
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
