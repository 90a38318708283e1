//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

func init() {
	roles["curt"] = func() int { return watch(sdk.WithDrain(0)) } // ends at once when it is told to, whatever it is at
	roles["watcher"] = func() int { return watch() }
}

// watch is a host that says what it is told.
func watch(opts ...sdk.Option) int {
	s := sdk.New(sdk.Info{Name: "watcher", Version: "1"}, opts...)
	sdk.OnNotify(s, "change", func(_ context.Context, c changed) error {
		fmt.Fprintf(os.Stderr, "changed %s%d\n", c.URI, c.N)
		return nil
	})
	sdk.Handle(s, "about", func(context.Context, changed) (any, error) { return nil, nil })
	sdk.Handle(s, "ask", func(ctx context.Context, method string) (any, error) {
		var out any
		return out, s.Call(ctx, method, nil, &out)
	})
	s.OnShutdown(func(context.Context) error {
		fmt.Fprintln(os.Stderr, "goodbye")
		os.Exit(0)
		return nil
	})
	if s.Serve(context.Background()) != nil {
		return 1
	}
	return 0
}

type changed struct {
	URI string `json:"uri" msgpack:"uri"`
	N   int    `json:"n" msgpack:"n"`
}

func watchingHost(role string, with ...change) supervisor.HostSpec {
	return demoHost("watching", append([]change{func(s *supervisor.HostSpec) { s.Env = hostEnv(role) }}, with...)...)
}

// asked makes the host wait for an answer of ours, and returns the call that it
// cannot answer before, and what gives it.
func asked(t *testing.T, spec *supervisor.HostSpec) (begin func(*supervisor.Host) *actors.Pending, release chan any) {
	t.Helper()
	begun, release := make(chan bool, 10), make(chan any)
	spec.Answers.Handlers = map[string]actors.Handler{"may-i": func(ctx context.Context, _ *actors.Incoming) (any, error) {
		begun <- true
		select {
		case v := <-release:
			return v, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return func(h *supervisor.Host) *actors.Pending {
		p, err := h.Go(ctx(t), "ask", "may-i")
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		return p
	}, release
}

// printed waits until a host's last words have been read.
func printed(t *testing.T, h *supervisor.Host, text string) {
	t.Helper()
	eventually(t, func() bool {
		return slices.ContainsFunc(h.Tail(100), func(l capture.Line) bool { return l.Text == text })
	}, text)
}

// A stop lets calls under way finish, refuses new ones, and says goodbye then.
func TestStopDrains(t *testing.T) {
	t.Parallel()
	spec := watchingHost("curt", func(s *supervisor.HostSpec) { s.Stop.Drain = patience })
	begin, release := asked(t, &spec)
	_, h := alone(t, spec)
	first, second := begin(h), begin(h)
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(ctx(t)) }()
	until(t, h, lifecycle.Stopping)
	err := h.Call(ctx(t), "about", nil, nil)
	if !errors.Is(err, supervisor.ErrStopped) || !strings.Contains(err.Error(), "it is stopping, and takes no new calls") {
		t.Errorf("a new call: %v", err)
	}
	if err := h.Notify(ctx(t), "change", changed{"a", 1}); !errors.Is(err, supervisor.ErrStopped) {
		t.Errorf("a new notification: %v", err)
	}
	for i, p := range []*actors.Pending{first, second} {
		select {
		case err := <-stopped:
			t.Fatal("it has not waited:", err)
		case release <- i:
		}
		<-p.Done()
	}
	got := map[int]bool{}
	for _, p := range []*actors.Pending{first, second} {
		var n int
		if err := p.Result(&n); err != nil {
			t.Error("a call under way:", err)
		}
		got[n] = true
	}
	if err := <-stopped; err != nil || len(got) != 2 {
		t.Error(err, got)
	}
	printed(t, h, "goodbye")
	if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
		t.Errorf("%+v", e)
	}
}

// What is not answered in time fails with an error of its own. Without a time it
// is left to the host, which says so here.
func TestDrainHasAnEnd(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"some": 50 * time.Millisecond, "none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := watchingHost("curt", func(s *supervisor.HostSpec) { s.Stop.Drain = drain })
			begin, _ := asked(t, &spec)
			_, h := alone(t, spec)
			p := begin(h)
			if err := h.Stop(ctx(t)); err != nil {
				t.Error(err)
			}
			err := p.Result(nil)
			if err == nil || errors.Is(err, supervisor.ErrCutOff) != (drain > 0) || errors.Is(err, supervisor.ErrStopped) != (drain > 0) {
				t.Errorf("a call under way: %v", err)
			}
			printed(t, h, "goodbye")
		})
	}
}

// A host that ends by itself while it is waited for is not waited for any longer.
func TestDrainOfAHostThatEnds(t *testing.T) {
	t.Parallel()
	spec := demoHost("d", func(s *supervisor.HostSpec) { s.Stop.Drain = time.Hour })
	_, h := alone(t, spec)
	p, err := h.Go(ctx(t), "sleep", map[string]any{"ms": 3_600_000})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(ctx(t)) }()
	until(t, h, lifecycle.Stopping)
	signal(t, h, 9)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := p.Result(nil); !errors.Is(err, supervisor.ErrStopped) || errors.Is(err, supervisor.ErrCutOff) {
		t.Errorf("a call under way: %v", err)
	}
}

// What is held back is told before the goodbye, and before what asks about it.
func TestThrottledHost(t *testing.T) {
	t.Parallel()
	_, h := alone(t, watchingHost("watcher", func(s *supervisor.HostSpec) {
		s.Throttle = []throttle.Rule{{Method: "change", Every: time.Hour, Key: "uri"}}
	}))
	tell := func(uri string, from, to int) {
		t.Helper()
		for n := from; n <= to; n++ {
			if err := h.Notify(ctx(t), "change", changed{uri, n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	heard := func(want string) {
		t.Helper()
		var got []string
		eventually(t, func() bool {
			got = nil
			for _, l := range h.Tail(20) {
				got = append(got, strings.TrimPrefix(l.Text, "changed "))
			}
			return len(got) > strings.Count(want, " ")
		}, want)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("it heard %s, want %s", s, want)
		}
	}
	about := func(uri string) {
		t.Helper()
		if err := h.Call(ctx(t), "about", changed{uri, 0}, nil); err != nil {
			t.Error(err)
		}
	}
	tell("a", 1, 50)
	tell("b", 1, 50)
	heard("a1 b1")
	about("c")
	about("b")
	heard("a1 b1 b50")
	tell("b", 51, 60)
	st := h.Status().Throttle
	if want := (record.ThrottleStatus{Method: "change", Every: 3600, Key: "uri", Sent: 3, Coalesced: 48 + 48 + 9, Held: 2}); len(st) != 1 || st[0] != want {
		t.Errorf("%+v\nwant %+v", st, want)
	}
	signal(t, h, 9)
	runs(t, h, 2)
	about("a")
	tell("a", 51, 60)
	if err := h.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	heard("a1 b1 b50 a51 a60 goodbye")
	if st := h.Status().Throttle[0]; st.Sent != 5 || st.Dropped != 2 || st.Held != 0 {
		t.Errorf("%+v", st)
	}
}

// VS Code's own host ends as soon as it is told to and its extensions are
// deactivated: only a drain lets it answer.
func TestVSCodeDrains(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
				s.Stop.Drain = patience
				s.Throttle = []throttle.Rule{{Method: execute, Every: time.Hour, Key: "0"}}
			}))
			runs(t, h, 1)
			activated(t, h)
			// A notification is a call whose result nobody waits for.
			for range 50 {
				if err := h.Notify(ctx(t), execute, []any{"hello.count"}); err != nil {
					t.Fatal(err)
				}
			}
			var n int
			if err := executes(t, h, &n, "hello.count"); err != nil || n != 3 {
				t.Errorf("called %d times, %v; want the first and the last of 50, and this one", n, err)
			}
			if st := h.Status().Throttle[0]; st.Sent != 2 || st.Coalesced != 48 {
				t.Errorf("%+v", st)
			}
			p, err := h.Go(ctx(t), execute, []any{"hello.later", 500})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Stop(ctx(t)); err != nil {
				t.Error(err)
			}
			if err := p.Result(&n); err != nil || n != 500 {
				t.Errorf("a call under way: %d, %v", n, err)
			}
			printed(t, h, "deactivated")
		})
	}
}
