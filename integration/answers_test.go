//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/supervisor"
)

func init() {
	roles["asker"] = asker
}

// question is what the role "asker" is told to ask its supervisor.
type question struct {
	Method string `json:"method"`
	Params any    `json:"params"`
	Cancel bool   `json:"cancel"` // take it back at once
}

// asker is a host that asks its supervisor what it is told to, and says it too.
func asker() int {
	s := sdk.New(sdk.Info{Name: "asker", Version: "1"})
	sdk.Handle(s, "ask", func(ctx context.Context, q question) (any, error) {
		if q.Cancel {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
		}
		var out any
		err := s.Call(ctx, q.Method, q.Params, &out)
		return out, err
	})
	sdk.Handle(s, "take", func(ctx context.Context, q question) (got []any, err error) {
		for v, err := range sdk.Items[any](ctx, s, q.Method, q.Params) {
			if err != nil {
				return got, err
			}
			if got = append(got, v); q.Cancel {
				break
			}
		}
		return got, nil
	})
	sdk.Handle(s, "say", func(ctx context.Context, n int) (any, error) {
		for i := range n {
			if err := s.Notify(ctx, "said", i); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if s.Serve(context.Background()) != nil {
		return 1
	}
	return 0
}

func askerHost() supervisor.HostSpec {
	h := demoHost("asker")
	h.Env = hostEnv("asker")
	return h
}

// A host's own requests go to the most specific rule; everything has an answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	h := askerHost()
	begun, taken := make(chan bool, 1), make(chan error, 1)
	h.Answers = supervisor.AnswerRule{
		Handlers: map[string]actors.Handler{
			"double": func(_ context.Context, r *actors.Incoming) (any, error) {
				var n int
				if err := r.Decode(&n); err != nil {
					return nil, err
				}
				return 2 * n, nil
			},
			"double/*":            func(context.Context, *actors.Incoming) (any, error) { return "pattern", nil },
			"panics":              func(context.Context, *actors.Incoming) (any, error) { panic("ouch") },
			"panics when encoded": func(context.Context, *actors.Incoming) (any, error) { return grenade{}, nil },
			"fails":               func(context.Context, *actors.Incoming) (any, error) { return nil, fmt.Errorf("a: %w", errors.New("b")) },
			"named": func(context.Context, *actors.Incoming) (any, error) {
				return nil, &codec.Error{Name: "Own", Message: "m"}
			},
			"slow": func(ctx context.Context, _ *actors.Incoming) (any, error) {
				begun <- true
				<-ctx.Done()
				taken <- context.Cause(ctx)
				return nil, ctx.Err()
			},
			"unsendable": func(context.Context, *actors.Incoming) (any, error) { return make(chan int), nil },
		},
		Replies: []answer.Reply{
			{Method: "workspace/*", Result: map[string]any{"a": []any{int8(1), "x"}}},
			{Method: "workspace/none"},
			{Method: "refused", Err: &codec.Error{Name: "Refused", Message: "not today"}},
		},
		Forwards: []answer.Forward{{Method: "echo", To: "db"}, {Method: "fail", To: "db"}, {Method: "crash", To: "db"}, {Method: "gone", To: "nobody"}},
	}
	db := demoHost("db")
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(h), supervisor.Alone(db)}})
	asker := host(t, sup, "asker")
	ask := func(method string, params any) (any, error) {
		var out any
		err := asker.Call(ctx(t), "ask", question{Method: method, Params: params}, &out)
		return out, err
	}
	for _, test := range []struct {
		method string
		params any
		want   any
		fails  string // name and message of the error
	}{
		{"double", 21, int64(42), ""},
		{"double/it", nil, "pattern", ""},
		{"double", "x", nil, "Error: "},
		{"panics", nil, nil, `Panic: the handler of "panics" failed`},
		{"panics when encoded", nil, nil, `Panic: the handler of "panics when encoded" failed`},
		{"fails", nil, nil, "Error: a: b"},
		{"named", nil, nil, "Own: m"},
		{"unsendable", nil, nil, "Error: "},
		{"workspace/configuration", nil, map[string]any{"a": []any{int64(1), "x"}}, ""},
		{"workspace/none", nil, nil, ""},
		{"refused", nil, nil, "Refused: not today"},
		{"echo", map[string]any{"deep": []any{"y"}}, map[string]any{"deep": []any{"y"}}, ""},
		{"fail", map[string]any{"message": "m"}, nil, "m"},
		{"gone", nil, nil, `HostDown: no host "nobody" is configured`},
		{"unknown", nil, nil, "no such method"},
		{"$/ping", nil, nil, ""},
	} {
		got, err := ask(test.method, test.params)
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: %v, want %q", test.method, err, test.fails)
			}
			continue
		}
		if d := cmp.Diff(test.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.method, err, d)
		}
	}
	if _, err := ask("crash", map[string]any{"signal": "SIGKILL"}); err == nil || !strings.Contains(err.Error(), "HostDown") {
		t.Errorf("a forward to a host that crashed: %v", err)
	}

	err := asker.Call(ctx(t), "ask", question{Method: "slow", Cancel: true}, nil)
	if err == nil {
		t.Error("a request that was taken back has a result")
	}
	<-begun
	select {
	case cause := <-taken:
		if cause == nil || !strings.Contains(cause.Error(), "took the request back") {
			t.Errorf("the handler ended for: %v", cause)
		}
	case <-ctx(t).Done():
		t.Error("the handler never ended")
	}

	asker.Handle("late", func(context.Context, *actors.Incoming) (any, error) { return "now", nil })
	asker.Handle("double", func(context.Context, *actors.Incoming) (any, error) { return "instead", nil })
	for method, want := range map[string]any{"late": "now", "double": "instead"} {
		if got, err := ask(method, 1); got != want || err != nil {
			t.Errorf("%s: %v, %v", method, got, err)
		}
	}

	// What a handler works on ends with the connection.
	p, err := asker.Go(context.Background(), "ask", question{Method: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := asker.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	<-taken
	if err := p.Result(nil); err == nil {
		t.Error("a call of a stopped host has a result")
	}
}

// A host takes what a handler of its supervisor yields, item by item or as a list, and
// leaves when it has enough.
func TestHostTakesItems(t *testing.T) {
	t.Parallel()
	h := askerHost()
	left := make(chan int, 1)
	h.Answers.Handlers = map[string]actors.Handler{
		"count": func(_ context.Context, r *actors.Incoming) (any, error) {
			var n int
			if err := r.Decode(&n); err != nil {
				return nil, err
			}
			return iter.Seq2[any, error](func(yield func(any, error) bool) {
				for i := range n {
					if !yield(i, nil) {
						left <- i
						return
					}
				}
				yield(nil, errors.New("that was all"))
			}), nil
		},
		"few": func(context.Context, *actors.Incoming) (any, error) {
			return iter.Seq2[any, error](func(yield func(any, error) bool) { _ = yield("a", nil) && yield("b", nil) }), nil
		},
	}
	_, asker := alone(t, h)
	var got []any
	if err := asker.Call(ctx(t), "take", question{Method: "few"}, &got); err != nil || fmt.Sprint(got) != "[a b]" {
		t.Errorf("%v, %v", got, err)
	}
	var list any
	if err := asker.Call(ctx(t), "ask", question{Method: "few"}, &list); err != nil || fmt.Sprint(list) != "[a b]" {
		t.Errorf("%v, %v", list, err)
	}
	if err := asker.Call(ctx(t), "take", question{Method: "count", Params: 1000}, &got); err == nil || !strings.Contains(err.Error(), "that was all") {
		t.Errorf("%v", err)
	}
	if err := asker.Call(ctx(t), "take", question{Method: "count", Params: 1 << 30, Cancel: true}, &got); err != nil || len(got) != 1 {
		t.Errorf("%d items, %v", len(got), err)
	}
	if n := <-left; n > 1000 {
		t.Errorf("%d items were sent to a host that had taken one", n)
	}
}

// Who follows a host sees what it says by itself, and holds it up by nothing.
func TestMessages(t *testing.T) {
	t.Parallel()
	sup, asker := alone(t, askerHost())
	follow, stop := context.WithCancel(ctx(t))
	defer stop()
	began, got, lost, gate := make(chan bool), 0, uint64(0), make(chan bool)
	ended := make(chan bool)
	var once sync.Once
	go func() {
		defer close(ended)
		for m := range asker.Messages(follow) {
			if m.Method == "first" { // it may be there more than once
				once.Do(func() { close(began) })
				<-gate
				continue
			}
			if m.Lost > 0 {
				lost += m.Lost
				continue
			}
			got++
			if text, err := m.MarshalJSON(); err != nil || !strings.Contains(string(text), `"kind":"notification","method":"said","params":`) || m.Life != 1 || m.Host != "asker" {
				t.Errorf("%s (%v)", text, err)
			}
		}
	}()
	for open := true; open; { // the follower may not be there at once
		_ = asker.Call(ctx(t), "ask", question{Method: "first"}, nil)
		select {
		case <-began:
			open = false
		default:
		}
	}
	const many = 5000
	if err := asker.Call(ctx(t), "say", many, nil); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if err := sup.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	<-ended
	if lost == 0 || uint64(got)+lost < many || got < 1000 {
		t.Errorf("%d seen, %d lost, of %d", got, lost, many)
	}
}

// grenade is a value whose encoding panics.
type grenade struct{}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (grenade) EncodeMsgpack(*msgpack.Encoder) error { panic("ouch") }
