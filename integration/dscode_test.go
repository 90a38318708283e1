//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/dscode"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// dscodeHost is the host of extensions/dscode/testdata, written from the protocol's
// rules in Python.
func dscodeHost(t testing.TB, with ...change) supervisor.HostSpec {
	t.Helper()
	python := peer(t, "/usr/bin/python3", "python3")
	script, err := filepath.Abs("../extensions/dscode/testdata/peer.py")
	if err != nil {
		t.Fatal(err)
	}
	return demoHost("ds", append([]change{func(s *supervisor.HostSpec) {
		s.Command, s.Protocol, s.Env = []string{python, "-u", script}, dscode.New(), nil
	}}, with...)...)
}

// sockets are the paths of a host's two sockets, which have to be gone when it
// is.
func sockets(t testing.TB, h *supervisor.Host) []string {
	t.Helper()
	var paths []string
	if err := h.Call(ctx(t), "sockets", nil, &paths); err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v", paths, err)
	}
	return paths
}

func socketsGone(t testing.TB, paths []string) {
	t.Helper()
	for _, p := range append(paths, filepath.Dir(paths[0])) {
		if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestDSCode(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, dscodeHost(t, func(s *supervisor.HostSpec) { s.Env = map[string]string{"PEER_ANSWERS_ALL": "1"} }))
	runs(t, h, 1)
	if s := h.Status(); s.Protocol != "dscode" || s.Liveness != "none" {
		t.Errorf("%+v", s)
	}
	echoes(t, h)
	var sum int
	if err := h.Call(ctx(t), "add", []int{40, 2}, &sum); err != nil || sum != 42 {
		t.Errorf("%d, %v", sum, err)
	}
	var refused *codec.Error
	if err := h.Call(ctx(t), "fail", "on \"purpose\" é", nil); !errors.As(err, &refused) || refused.Message != `on "purpose" é` {
		t.Errorf("%v", err)
	}
	if err := h.Call(ctx(t), "nonsense", nil, nil); !errors.As(err, &refused) || refused.Message != "no method nonsense" {
		t.Errorf("%v", err)
	}
	for i := range 3 {
		if err := h.Notify(ctx(t), "note", i); err != nil {
			t.Fatal(err)
		}
	}
	var notes []any
	if err := h.Call(ctx(t), "notes", nil, &notes); err != nil || fmt.Sprint(notes) != "[[note 0] [note 1] [note 2]]" {
		t.Errorf("%v, %v", notes, err)
	}
	// A call that is given up harms nobody, also when it is answered after all.
	if err := h.Call(ctx(t), "sleep", 300, nil, supervisor.Timeout(20*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, supervisor.ErrTimeout) {
		t.Errorf("%v", err)
	}
	if err := h.Call(ctx(t), "sleep", 600, nil); err != nil {
		t.Error(err)
	}
	big := strings.Repeat("0123456789", 1<<20)
	var back string
	if err := h.Call(ctx(t), "echo", big, &back); err != nil || back != big {
		t.Errorf("%d bytes back, %v", len(back), err)
	}
	if err := h.Call(ctx(t), "echo", strings.Repeat("x", dscode.MaxFrame), nil); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	echoes(t, h)
	at := sockets(t, h)
	end(t, sup)
	socketsGone(t, at)
	if e := h.Status().LastExit; e == nil {
		t.Errorf("%+v", h.Status())
	}
}

func TestDSCodeManyCalls(t *testing.T) {
	t.Parallel()
	_, h := alone(t, dscodeHost(t))
	runs(t, h, 1)
	var calls sync.WaitGroup
	var wrong atomic.Int64
	for i := range 1000 {
		calls.Go(func() {
			var out int
			// Each is a while on its way, so that they are all open at once.
			if err := h.Call(ctx(t), "echo", i, &out); err != nil || out != i {
				wrong.Add(1)
				t.Errorf("%d: %d, %v", i, out, err)
			}
		})
	}
	calls.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of 1000 went wrong", n)
	}
}

// Requests that the host makes, many on each of several connections, are worked
// on side by side, and each answer goes where its request came from.
func TestDSCodeAsks(t *testing.T) {
	t.Parallel()
	const connections, requests = 5, 20
	var open atomic.Int64
	together := make(chan struct{})
	taken := make(chan struct{})
	sup, h := alone(t, dscodeHost(t, func(s *supervisor.HostSpec) {
		s.Answers = supervisor.AnswerRule{
			Handlers: map[string]actors.Handler{
				"double": func(_ context.Context, r *actors.Incoming) (any, error) {
					var n int
					return 2 * n, errors.Join(r.Decode(&n), nil)
				},
				"together": func(ctx context.Context, r *actors.Incoming) (any, error) {
					if open.Add(1) == connections*requests {
						close(together)
					}
					select {
					case <-together:
						var n int
						err := r.Decode(&n)
						return fmt.Sprint("r", n), err
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				},
				"wait": func(ctx context.Context, _ *actors.Incoming) (any, error) {
					<-ctx.Done()
					close(taken)
					return nil, ctx.Err()
				},
			},
			Replies: []answer.Reply{{Method: "fixed", Result: map[string]bool{"yes": true}}},
		}
	}))
	runs(t, h, 1)
	ask := func(kind string, conns, n int) []any {
		t.Helper()
		var out []any
		if err := h.Call(ctx(t), "ask", map[string]any{"type": kind, "connections": conns, "requests": n}, &out); err != nil || len(out) != conns*n {
			t.Fatalf("%v, %v", out, err)
		}
		return out
	}
	for i, v := range ask("together", connections, requests) {
		if v != fmt.Sprint("r", i) {
			t.Errorf("%d is answered %v", i, v)
		}
	}
	if got := ask("fixed", 1, 1); fmt.Sprint(got) != "[map[yes:true]]" {
		t.Errorf("%v", got)
	}
	if got := fmt.Sprint(ask("unheard/of", 2, 1)); strings.Count(got, `error: MethodNotFound: the supervisor has no method "unheard/of"`) != 2 {
		t.Errorf("%v", got)
	}
	// A connection that ends takes its requests back.
	if err := h.Call(ctx(t), "leave", "wait", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-taken:
	case <-ctx(t).Done():
		t.Error("the handler goes on")
	}
	echoes(t, h)
	end(t, sup)
}

// What the host says without being asked is heard, in order; the first of it
// before any call.
func TestDSCodeTells(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heard []string
	sup, h := alone(t, dscodeHost(t, func(s *supervisor.HostSpec) {
		s.Env = map[string]string{"PEER_BEGINS_WITH": "hello"}
		s.Answers.Replies = []answer.Reply{{Method: "flush"}}
	}), supervisor.WithNotifications(func(n supervisor.Notification) {
		mu.Lock()
		defer mu.Unlock()
		if n.Method == "told" {
			heard = append(heard, string(n.Params))
		} else {
			heard = append(heard, n.Method)
		}
	}))
	runs(t, h, 1)
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(heard, []string{"hello"})
	})
	if err := h.Call(ctx(t), "tell", 5, nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(heard, []string{"hello", "0", "1", "2", "3", "4"}) {
		t.Errorf("%v", heard)
	}
	_ = sup
}

func TestDSCodeIsKilled(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, dscodeHost(t))
	runs(t, h, 1)
	at := sockets(t, h)
	const n = 100
	errs := make(chan error, n)
	for range n {
		go func() { errs <- h.Call(ctx(t), "sleep", 60000, nil) }()
	}
	eventually(t, func() bool { return h.Status().Pending == n })
	signal(t, h, syscall.SIGKILL)
	for range n {
		if err := <-errs; !errors.Is(err, supervisor.ErrCrashed) {
			t.Errorf("%v", err)
		}
	}
	runs(t, h, 2)
	socketsGone(t, at)
	echoes(t, h)
	if r := crash(t, sup, "ds"); r.Exit == nil || r.Exit.Signal == nil || *r.Exit.Signal != "SIGKILL" || r.Pending != n {
		t.Errorf("%+v", r)
	}
}

// A socket that breaks while the host lives is no crash.
func TestDSCodeReconnects(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, dscodeHost(t))
	runs(t, h, 1)
	pid := *h.Status().PID
	for range 5 {
		open := make(chan error, 1)
		go func() { open <- h.Call(ctx(t), "sleep", 60000, nil) }()
		eventually(t, func() bool { return h.Status().Pending == 1 })
		var lost *codec.Error
		if err := h.Call(ctx(t), "cut", nil, nil); !errors.As(err, &lost) || lost.Name != dscode.NameConnectionLost {
			t.Errorf("the call that cut: %v", err)
		}
		if err := <-open; !errors.As(err, &lost) || lost.Name != dscode.NameConnectionLost {
			t.Errorf("the call that was open: %v", err)
		}
		echoes(t, h)
	}
	if s := h.Status(); s.Life != 1 || *s.PID != pid || s.State != lifecycle.Running {
		t.Errorf("%+v", s)
	}
	if found, _ := sup.Crashes("ds"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// A host that closed its socket and listens no more cannot be called again.
func TestDSCodeGoesDeaf(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, dscodeHost(t))
	runs(t, h, 1)
	if err := h.Call(ctx(t), "deaf", nil, nil, supervisor.Timeout(time.Minute)); !errors.Is(err, supervisor.ErrCrashed) {
		t.Errorf("%v", err)
	}
	runs(t, h, 2)
	mentions(t, crash(t, sup, "ds").Reason, "the connection to the host has ended and cannot be made again", "attempt 10 of 10")
	echoes(t, h)
}

// A host has nine seconds to listen.
func TestDSCodeIsLate(t *testing.T) {
	t.Parallel()
	_, h := alone(t, dscodeHost(t, func(s *supervisor.HostSpec) { s.Env = map[string]string{"PEER_LATE": "1.5"} }))
	runs(t, h, 1)
	echoes(t, h)
	sup, never := alone(t, dscodeHost(t, crashes(1), func(s *supervisor.HostSpec) { s.Env = map[string]string{"PEER_LATE": "60"} }))
	until(t, never, lifecycle.Failed)
	mentions(t, crash(t, sup, "ds").Reason, "no connection: attempt 10 of 10 to connect")
}

func TestDSCodeGarbage(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"zero":     "empty frame: length 0",
		"large":    "frame over the limit: 52428801 bytes, limit 52428800",
		"text":     "frame over the limit: 1416782179 bytes",
		"json":     `invalid type byte: JSON expected, "nope" at byte 1`,
		"array":    "not a message of this protocol: an object expected at byte 0",
		"utf8":     "0xff within a string is not UTF-8 at byte 7",
		"id":       "id: a string expected at byte 6",
		"stranger": `id never given: message "a" with the id "nobody" on the connection for answers`,
	} {
		for _, on := range []string{"replies", "requests"} {
			if kind == "stranger" && on == "requests" {
				continue // there any id will do
			}
			t.Run(kind+" among "+on, func(t *testing.T) {
				t.Parallel()
				sup, h := alone(t, dscodeHost(t))
				runs(t, h, 1)
				if err := h.Call(ctx(t), "garbage", map[string]string{"kind": kind, "on": on}, nil); !errors.Is(err, supervisor.ErrCrashed) {
					t.Errorf("%v", err)
				}
				runs(t, h, 2)
				echoes(t, h)
				mentions(t, crash(t, sup, "ds").Reason, "protocol: ", want)
			})
		}
	}
}

// A connection that says nothing or ends at once is in nobody's way.
func TestDSCodeKnocking(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, dscodeHost(t))
	runs(t, h, 1)
	at := sockets(t, h)
	var silent []net.Conn
	for i := range 40 {
		c, err := net.Dial("unix", at[1])
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			c.Close()
			continue
		}
		silent = append(silent, c)
		if _, err := c.Write([]byte{0, 0, 0}); err != nil {
			t.Error(err)
		}
	}
	echoes(t, h)
	end(t, sup)
	for _, c := range silent {
		c.Close()
	}
	socketsGone(t, at)
}
