//go:build linux

package integration

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

func queues(s *supervisor.HostSpec) { s.Requests.WhileDown = hostspec.Queue }

// TestLazyHost walks a lazy host through its life.
func TestLazyHost(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", lazy))
	if s := h.Status(); s.State != lifecycle.Stopped || s.Life != 0 {
		t.Fatalf("before the first call: %+v", s)
	}
	first := make(chan error, 20)
	for range cap(first) {
		go func() { first <- h.Call(ctx(t), "echo", 1, nil) }()
	}
	for range cap(first) {
		if err := <-first; err != nil {
			t.Errorf("first calls: %v", err)
		}
	}
	_ = h.Call(ctx(t), "exit", map[string]int{"code": 0}, nil)
	until(t, h, lifecycle.Stopped)
	echoes(t, h) // it ended by itself, so a call starts it again
	if err := h.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrStopped) {
		t.Errorf("a call after a person's stop: %v", err)
	}
	if err := h.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	echoes(t, h)
	expect(t, sup, "ts", `starting: first call
		running: ready
		stopped: exit 0
		starting: first call
		running: ready
		stopping: stopped by request
		stopped: stopped by request
		starting: asked for
		running: ready`)
}

func TestLazyHostBringsWhatItNeeds(t *testing.T) {
	t.Parallel()
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{
		demoHost("db", lazy),
		demoHost("ts", lazy, func(s *supervisor.HostSpec) { s.Start.DependsOn = []string{"db"} }),
	}}}})
	echoes(t, host(t, sup, "ts"))
	expect(t, sup, "db", "starting: needed by another host\nrunning: ready")
	expect(t, sup, "ts", "starting: first call\nrunning: ready")
}

// TestLazyStartThatFails answers the call that wanted the start.
func TestLazyStartThatFails(t *testing.T) {
	t.Parallel()
	for name, with := range map[string][]change{
		"never restarted": {lazy, policy(lifecycle.Never), startsLike("exit:3")},
		"given up":        {lazy, crashes(2), startsLike("exit:3")},
		"missing":         {lazy, crashes(2), func(s *supervisor.HostSpec) { s.Command = []string{"/no/such/program"} }},
		"stuck":           {lazy, crashes(1), startsLike("never"), startTimeout(200 * time.Millisecond)},
		"queued":          {lazy, crashes(2), queues, startsLike("exit:3")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, h := alone(t, demoHost("ts", with...))
			err := h.Call(ctx(t), "echo", 1, nil)
			var he *supervisor.HostError
			if !errors.As(err, &he) || !errors.Is(err, supervisor.ErrCrashed) && !errors.Is(err, supervisor.ErrFailed) && !errors.Is(err, supervisor.ErrStopped) {
				t.Errorf("the call: %v", err)
			}
			eventually(t, func() bool { return h.Status().Pending == 0 })
		})
	}
}

// TestCallsInStartingWait keeps the order of the calls.
func TestCallsInStartingWait(t *testing.T) {
	t.Parallel()
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts", plays("recorder")))}})
	h := host(t, sup, "ts")
	inOrder(t, h, func() {})
}

// inOrder makes 200 calls in a row without waiting, then lets them go, and
// asks the host in which order they came.
func inOrder(t *testing.T, h *supervisor.Host, release func()) {
	t.Helper()
	var calls []*actors.Pending
	var want []int
	for i := range 200 {
		p, err := h.Go(ctx(t), "note", i)
		if err != nil {
			t.Fatal(err)
		}
		calls, want = append(calls, p), append(want, i)
	}
	release()
	for i, p := range calls {
		if err := p.Result(nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	var got []int
	if err := h.Call(ctx(t), "notes", nil, &got); err != nil || !slices.Equal(got, want) {
		t.Errorf("order %v, %v", got, err)
	}
}

func TestCallsWhileDownFail(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts", patient))
	down(t, h)
	err := h.Call(ctx(t), "echo", 1, nil)
	var he *supervisor.HostError
	if !errors.Is(err, supervisor.ErrCrashed) || !errors.As(err, &he) || he.Exit == nil || he.Exit.Code != 3 {
		t.Errorf("call while restarting: %v", err)
	}
	if err := h.Notify(ctx(t), "note", 1); !errors.Is(err, supervisor.ErrCrashed) {
		t.Errorf("notification while restarting: %v", err)
	}
}

// down crashes a patient host twice, so that it waits for a restart.
func down(t *testing.T, h *supervisor.Host) {
	t.Helper()
	method, in := "exit", any(map[string]int{"code": 3})
	if h.Spec().Env[roleEnv] == "recorder" {
		method, in = "outlive", 99
	}
	for life := range uint64(2) {
		runs(t, h, life+1)
		_ = h.Call(ctx(t), method, in, nil)
	}
	until(t, h, lifecycle.Restarting)
}

func TestCallsWhileDownQueue(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		end  func(*scene)
		want error
	}{
		"stop":  {persons((*supervisor.Host).Stop), supervisor.ErrStopped},
		"tree":  {func(sc *scene) { end(sc.t, sc.sup) }, supervisor.ErrStopped},
		"start": {persons((*supervisor.Host).Start), nil},
		"gone": {func(sc *scene) {
			if err := sc.sup.Remove(ctx(sc.t), "ts"); err != nil {
				sc.t.Error(err)
			}
		}, supervisor.ErrStopped},
	}
	for name, e := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts", patient, queues))
			down(t, h)
			waits, err := h.Go(ctx(t), "echo", 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Call(ctx(t), "echo", 1, nil, supervisor.Timeout(30*time.Millisecond)); !errors.Is(err, supervisor.ErrTimeout) {
				t.Errorf("within its own deadline: %v", err)
			}
			c, cancel := context.WithCancel(ctx(t))
			cancelled := make(chan error, 1)
			go func() { cancelled <- h.Call(c, "echo", 1, nil) }()
			eventually(t, func() bool { return h.Status().Pending == 2 })
			cancel()
			if err := <-cancelled; !errors.Is(err, supervisor.ErrCancelled) || !errors.Is(err, context.Canceled) {
				t.Errorf("within its context: %v", err)
			}
			select {
			case <-waits.Done():
				t.Fatalf("it did not wait: %v", waits.Result(nil))
			default:
			}
			e.end(&scene{t, sup, h})
			if err := waits.Result(nil); !errors.Is(err, e.want) {
				t.Errorf("the call that waited: %v, want %v", err, e.want)
			}
			eventually(t, func() bool { return h.Status().Pending == 0 })
		})
	}
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", queues, crashes(2), func(s *supervisor.HostSpec) { s.Restart.Backoff.Healthy = time.Hour }))
		runs(t, h, 1)
		_ = h.Call(ctx(t), "exit", nil, nil)
		// Whether this one waits or is written, it gets the next life down; the
		// one behind it sees the host given up.
		_ = h.Call(ctx(t), "exit", nil, nil)
		if err := h.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrFailed) {
			t.Errorf("call of a failed host: %v", err)
		}
	})
	t.Run("order", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", patient, queues, plays("recorder")))
		down(t, h)
		inOrder(t, h, func() { persons((*supervisor.Host).Start)(&scene{t: t, h: h}) })
	})
	t.Run("overloaded", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", patient, queues, func(s *supervisor.HostSpec) { s.Requests.MaxPending = 10 }))
		down(t, h)
		var waiting []*actors.Pending
		for range 10 {
			p, err := h.Go(ctx(t), "echo", 1)
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, p)
		}
		if err := h.Call(ctx(t), "echo", 1, nil); !errors.Is(err, supervisor.ErrOverloaded) {
			t.Errorf("the eleventh: %v", err)
		}
		waiting[3].Cancel()
		waiting[3].Cancel()
		if err := waiting[3].Result(nil); !errors.Is(err, supervisor.ErrCancelled) {
			t.Error(err)
		}
		if n := h.Status().Pending; n != 9 {
			t.Errorf("%d pending, want 9", n)
		}
	})
}

func TestIdempotentCallsAreSentAgainOnce(t *testing.T) {
	t.Parallel()
	with := []change{plays("recorder"), crashes(100)}
	t.Run("and answered by the next life", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", with...))
		var life uint64
		if err := h.Call(ctx(t), "outlive", 2, &life, supervisor.Idempotent()); err != nil || life != 2 {
			t.Errorf("life %d, %v", life, err)
		}
	})
	t.Run("not a third time", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", with...))
		err := h.Call(ctx(t), "outlive", 99, nil, supervisor.Idempotent())
		var he *supervisor.HostError
		if !errors.Is(err, supervisor.ErrCrashed) || !errors.As(err, &he) || he.Life != 2 || he.Exit.Code != 9 {
			t.Errorf("%v", err)
		}
		runs(t, h, 3)
	})
	t.Run("others not at all", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", with...))
		if err := h.Call(ctx(t), "outlive", 2, nil); !errors.Is(err, supervisor.ErrCrashed) {
			t.Errorf("%v", err)
		}
		runs(t, h, 2)
	})
	t.Run("through a back-off", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", append(with, patient)...))
		if err := h.Call(ctx(t), "outlive", 2, nil); !errors.Is(err, supervisor.ErrCrashed) {
			t.Fatal(err)
		}
		runs(t, h, 2)
		done := make(chan error, 1)
		go func() { done <- h.Call(ctx(t), "outlive", 3, nil, supervisor.Idempotent()) }()
		until(t, h, lifecycle.Restarting)
		if err := h.Start(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("unless the host gives up", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", plays("recorder"), crashes(1)))
		if err := h.Call(ctx(t), "outlive", 2, nil, supervisor.Idempotent()); !errors.Is(err, supervisor.ErrFailed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("unless it is stopped", func(t *testing.T) {
		t.Parallel()
		_, h := alone(t, demoHost("ts", startsLike("ignore-term"), grace(100*time.Millisecond)))
		p, err := h.Go(ctx(t), "sleep", map[string]int{"ms": 60000}, supervisor.Idempotent())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Restart(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if err := p.Result(nil); !errors.Is(err, supervisor.ErrStopped) {
			t.Errorf("%v", err)
		}
	})
}
