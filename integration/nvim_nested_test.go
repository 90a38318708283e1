//go:build linux

package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// Asked by a Neovim, a handler asks it, which asks again, and so on down: each
// answer finds the question that it is for.
func TestNeovimNestedRequests(t *testing.T) {
	t.Parallel()
	const depth = 20
	var h *supervisor.Host
	began := make(chan struct{})
	ended := make(chan string, 1)
	spec := neovim(t, "nvim")
	spec.Answers.Handlers = map[string]actors.Handler{
		"down": func(ctx context.Context, r *actors.Incoming) (any, error) {
			<-began
			var in []int
			if err := r.Decode(&in); err != nil || len(in) != 1 {
				return nil, fmt.Errorf("%v: %w", in, err)
			}
			if in[0] == 0 {
				return []string{"bottom"}, nil
			}
			var way []string
			if in[0] == depth/2 { // an error on the way is its asker's alone
				err := h.Call(ctx, "nvim_eval", []any{"rpcrequest(1, 'nobody')"}, nil)
				way = append(way, fmt.Sprint(err != nil))
			}
			var below []string
			err := h.Call(ctx, "nvim_eval", []any{fmt.Sprintf("rpcrequest(1, 'down', %d)", in[0]-1)}, &below)
			return append(append(way, fmt.Sprint(in[0])), below...), err
		},
		"ended": func(_ context.Context, r *actors.Incoming) (any, error) {
			text, err := r.Encoding.ToJSON(r.Params)
			ended <- string(text)
			return nil, err
		},
	}
	_, h = alone(t, spec)
	close(began)
	var got []string
	if err := h.Call(ctx(t), "nvim_eval", []any{fmt.Sprintf("rpcrequest(1, 'down', %d)", depth)}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != depth+2 || got[0] != fmt.Sprint(depth) || got[len(got)-1] != "bottom" {
		t.Errorf("%q", got)
	}
	// The same begun by Neovim itself, of which nobody waits for an answer here.
	if err := h.Notify(ctx(t), "nvim_command", []any{"call timer_start(0, {-> rpcrequest(1, 'ended', rpcrequest(1, 'down', 3))})"}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-ended:
		if got != `[["3","2","1","bottom"]]` {
			t.Error(got)
		}
	case <-ctx(t).Done():
		t.Error("what Neovim has begun has no end")
	}
	evaluates(t, h)
	if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running {
		t.Errorf("%+v", s)
	}
}

// A Neovim that comes over a unix socket is one like any other.
func TestNeovimOverUnixSocket(t *testing.T) {
	t.Parallel()
	spec := neovim(t, "nvim")
	spec.Transport = hostspec.TransportUnix
	spec.Command = append([]string{peer(t, "/usr/bin/python3"), "-c", `
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HOSTSUP_HOST_ADDR"])
s.sendall(bytes.fromhex(os.environ["HOSTSUP_HOST_TOKEN"]))
os.dup2(s.fileno(), 0)
os.dup2(s.fileno(), 1)
os.execvp(sys.argv[1], sys.argv[1:])
`}, spec.Command...)
	spec.Answers.Replies = []answer.Reply{{Method: "who", Result: "we"}}
	_, h := alone(t, spec)
	for life := uint64(1); life <= 2; life++ {
		runs(t, h, life)
		evaluates(t, h)
		var out string
		if err := h.Call(ctx(t), "nvim_eval", []any{"rpcrequest(1, 'who')"}, &out); err != nil || out != "we" {
			t.Errorf("%q, %v", out, err)
		}
		large := make([]byte, 1<<20)
		for i := range large {
			large[i] = 'x'
		}
		if err := h.Call(ctx(t), "nvim_eval", []any{fmt.Sprintf("len('%s')", large)}, nil); err != nil {
			t.Error(err)
		}
		if life == 1 {
			signal(t, h, 9)
		}
	}
	if err := h.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	if e := h.Status().LastExit; e == nil || e.Code == nil || *e.Code != 0 {
		t.Errorf("it ended with %+v", e)
	}
}

// Callers that do not know of each other make a Neovim ask while it waits for
// another answer. It takes them in the reverse order only, however they come.
func TestNeovimAnswersInTurn(t *testing.T) {
	t.Parallel()
	const calls = 8
	spec := neovim(t, "nvim")
	begun, done := make(chan int), make(chan int, calls)
	var let [calls]chan struct{}
	for i := range let {
		let[i] = make(chan struct{})
	}
	spec.Answers.Handlers = map[string]actors.Handler{
		"slow": func(ctx context.Context, r *actors.Incoming) (any, error) {
			var in []int
			if err := r.Decode(&in); err != nil {
				return nil, err
			}
			begun <- in[0]
			select {
			case <-let[in[0]]:
			case <-ctx.Done():
			}
			done <- in[0]
			return in[0] + 100, nil
		},
	}
	_, h := alone(t, spec)
	pending := make([]*actors.Pending, calls)
	for i := range pending {
		var err error
		if pending[i], err = h.Go(ctx(t), "nvim_eval", []any{fmt.Sprintf("rpcrequest(1, 'slow', %d)", i)}); err != nil {
			t.Fatal(err)
		}
		if got := <-begun; got != i {
			t.Fatalf("%d has begun, want %d", got, i)
		}
	}
	for i := range pending { // the outermost first
		close(let[i])
		<-done
	}
	for i, p := range pending {
		var n int
		if err := p.Result(&n); err != nil || n != i+100 {
			t.Errorf("call %d: %d, %v", i, n, err)
		}
	}

	evaluates(t, h)
	if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running {
		t.Errorf("%+v", s)
	}
}
