//go:build linux

package integration

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/supervisor"
)

// ask calls a method of the recorder that answers with a number.
func ask(t testing.TB, h *supervisor.Host, method string) (n int) {
	t.Helper()
	if err := h.Call(ctx(t), method, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStreamInOrder(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts"))
	const n = 10_000
	want := 0
	for raw, err := range h.Stream(ctx(t), "stream", map[string]int{"n": n}) {
		var got int
		if err == nil {
			err = mpack.Encoding{}.Unmarshal(raw, &got)
		}
		if err != nil || got != want {
			t.Fatalf("item %d is %d, %v", want, got, err)
		}
		want++
	}
	if want != n {
		t.Errorf("%d items, want %d", want, n)
	}
	for raw, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 0}) {
		t.Errorf("a stream of nothing: %v, %v", raw, err)
	}
	// A method without items yields its one value; an error ends the sequence.
	yields(t, h, "echo", "hello", 1, nil)
	yields(t, h, "no-such-method", nil, 0, supervisor.ErrNoSuchMethod)
}

// yields checks how many values come before the end, and the error at the end.
func yields(t testing.TB, h *supervisor.Host, method string, in any, want int, target error) {
	t.Helper()
	n := 0
	var last error
	for _, err := range h.Stream(ctx(t), method, in) {
		if last = err; err == nil {
			n++
		}
	}
	if n != want || !errors.Is(last, target) {
		t.Errorf("%s: %d values, then %v; want %d, then %v", method, n, last, want, target)
	}
}

// TestStreamWithoutTheCapability gets the list as one value.
func TestStreamWithoutTheCapability(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts", startsLike("nocaps")))
	var got []int
	for raw, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 5}) {
		if err == nil {
			err = mpack.Encoding{}.Unmarshal(raw, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 5 || got[4] != 4 {
		t.Errorf("got %v", got)
	}
}

// TestStreamCredit holds a host with endless items to what its caller can
// take, and tells it when the caller leaves.
func TestStreamCredit(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts", plays("recorder")))
	const ahead = 128 // what was taken at once, and as much again
	// atRest is how far the host gets while its caller takes nothing. (Until the
	// first credit has reached it, it collects what it has to say.)
	atRest := func() int {
		last, same := -1, 0
		eventually(t, func() bool {
			if n := ask(t, h, "sent"); n != last {
				last, same = n, 0
			}
			same++
			return same > 10
		}, "it comes to rest")
		return last
	}
	taken, first := 0, 0
	for _, err := range h.Stream(ctx(t), "count", 1_000_000_000) {
		if err != nil {
			t.Fatal(err)
		}
		switch taken++; taken {
		case 1:
			first = atRest()
		case 1000:
			if n := atRest(); n > max(first, taken)+ahead {
				t.Errorf("%d sent, %d when the first was taken, %d taken", n, first, taken)
			}
		}
		if taken == 1000 {
			break
		}
	}
	eventually(t, func() bool { return ask(t, h, "ended") == 1 }, "the host has heard of the end")
	if n := h.Status().Pending; n != 0 {
		t.Errorf("%d pending", n)
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	endless := map[string]int{"n": 1_000_000_000, "ms": 1}
	for name, row := range map[string]struct {
		do   func(*scene, context.CancelFunc)
		want error
	}{
		"by the host's crash":  {func(sc *scene, _ context.CancelFunc) { signal(sc.t, sc.h, syscall.SIGKILL) }, supervisor.ErrCrashed},
		"by a person's stop":   {func(sc *scene, _ context.CancelFunc) { persons((*supervisor.Host).Stop)(sc) }, supervisor.ErrStopped},
		"by its context":       {func(_ *scene, cancel context.CancelFunc) { cancel() }, supervisor.ErrCancelled},
		"by the tree's end":    {func(sc *scene, _ context.CancelFunc) { end(sc.t, sc.sup) }, supervisor.ErrStopped},
		"by what it has to do": {func(sc *scene, _ context.CancelFunc) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts"))
			c, cancel := context.WithCancel(ctx(t))
			defer cancel()
			in := endless
			if row.want == nil {
				in = map[string]int{"n": 20, "ms": 1}
			}
			items := 0
			var last error
			done := make(chan struct{})
			for _, err := range h.Stream(c, "stream", in) {
				if last = err; err != nil {
					continue
				}
				if items++; items == 10 {
					go func() {
						defer close(done)
						row.do(&scene{t, sup, h}, cancel)
					}()
				}
			}
			<-done
			if items < 10 || !errors.Is(last, row.want) && !(errors.Is(row.want, supervisor.ErrStopped) && stoppedOrTold(last)) {
				t.Errorf("after %d items: %v, want %v", items, last, row.want)
			}
			eventually(t, func() bool { return h.Status().Pending == 0 })
		})
	}
}

func TestStreamIdle(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts"))
	t.Run("a host that falls silent", func(t *testing.T) {
		items := 0
		var last error
		for _, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 2, "ms": 60_000}, supervisor.Timeout(500*time.Millisecond)) {
			if last = err; err == nil {
				items++
			}
		}
		if items != 1 || !errors.Is(last, supervisor.ErrTimeout) {
			t.Errorf("after %d items: %v", items, last)
		}
	})
	t.Run("a long stream that does not", func(t *testing.T) {
		items := 0
		began := time.Now()
		for _, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 100, "ms": 20}, supervisor.Timeout(time.Second)) {
			if err != nil {
				t.Fatalf("after %d items in %s: %v", items, time.Since(began), err)
			}
			items++
		}
		if items != 100 || time.Since(began) < time.Second {
			t.Errorf("%d items in %s", items, time.Since(began))
		}
	})
	t.Run("a caller that takes its time", func(t *testing.T) {
		// The host has no credit meanwhile: the silence is the caller's own.
		items := 0
		for _, err := range h.Stream(ctx(t), "stream", map[string]int{"n": 300}, supervisor.Timeout(time.Second)) {
			if err != nil {
				t.Fatalf("after %d items: %v", items, err)
			}
			if items++; items == 100 {
				pause := time.NewTimer(3 * time.Second)
				<-pause.C
			}
		}
		if items != 300 {
			t.Errorf("%d items", items)
		}
	})
}
