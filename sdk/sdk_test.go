package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// hostInDisguise and runAsHost: see transport_test.go.
func TestMain(m *testing.M) {
	if name := hostInDisguise(); name != "" {
		runAsHost(name)
		return
	}
	leaktest.Main(m)
}

func newServer(opts ...sdk.Option) *sdk.Server {
	return sdk.New(sdk.Info{Name: "test", Version: "1"}, opts...)
}

// connect serves s and opens its connection. The test ends with a goodbye
// that has to go well.
func connect(t testing.TB, s *sdk.Server) *counterpart.Peer {
	t.Helper()
	mine, theirs := counterpart.Pair(t)
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.Open(t, mine)
	p.LeaveAtEnd(done)
	return p
}

// counted counts the writes of a connection, and remembers them.
type counted struct {
	net.Conn
	mu     sync.Mutex
	writes [][]byte
}

func (c *counted) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.writes = append(c.writes, append([]byte(nil), b...))
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.writes)
}

type point struct {
	X int    `msgpack:"x"`
	N string `msgpack:"n"`
	L []struct {
		B bool `json:"b"`
	} `msgpack:"l"`
	M map[string]uint8 `msgpack:"m"`
	P *float64         `msgpack:"p"`
}

type oddError struct{ name string }

func (e *oddError) Error() string     { return "it is odd" }
func (e *oddError) ErrorName() string { return e.name }

func TestHandlersAnswer(t *testing.T) {
	for _, mode := range []struct {
		name string
		opts []sdk.HandlerOption
	}{{"goroutine", nil}, {"inline", []sdk.HandlerOption{sdk.Inline()}}} {
		t.Run(mode.name, func(t *testing.T) {
			s := newServer()
			sdk.Handle(s, "add", func(_ context.Context, in []float64) (float64, error) { return in[0] + in[1], nil }, mode.opts...)
			sdk.Handle(s, "point", func(_ context.Context, in point) (point, error) { in.X++; return in, nil }, mode.opts...)
			sdk.Handle(s, "raw", func(_ context.Context, in codec.Raw) (codec.Raw, error) { return in, nil }, mode.opts...)
			sdk.Handle(s, "none", func(_ context.Context, in any) (any, error) { return nil, nil }, mode.opts...)
			sdk.Handle(s, "chan", func(_ context.Context, in any) (any, error) { return make(chan int), nil }, mode.opts...)
			s.HandleRaw("echo", func(_ context.Context, in codec.Raw) (codec.Raw, error) { return in, nil }, mode.opts...)
			s.HandleRaw("big", func(context.Context, codec.Raw) (codec.Raw, error) { return make(codec.Raw, 51<<20), nil }, mode.opts...)
			s.HandleRaw("panic", func(context.Context, codec.Raw) (codec.Raw, error) { panic("over and out") }, mode.opts...)
			s.HandleRaw("nilerror", func(context.Context, codec.Raw) (codec.Raw, error) {
				var e *oddError
				return nil, fmt.Errorf("%w", errors.Join(e))
			}, mode.opts...)
			p := connect(t, s)
			for _, tt := range []struct {
				method string
				params any
				want   string // JSON, or an error
			}{
				{"add", []any{1, 2.5}, "3.5"},
				{"point", map[string]any{"x": 1, "n": "n"}, `{"x":2,"n":"n","l":null,"m":null,"p":null}`},
				{"point", nil, `{"x":1,"n":"","l":null,"m":null,"p":null}`},
				{"raw", "r", `"r"`},
				{"echo", []int{1}, "[1]"},
				{"echo", nil, "null"},
				{"none", nil, "null"},
				{"nothing", nil, `MethodNotFound: no method "nothing"`},
				{"chan", nil, "InvalidResult: encode chan int"},
				{"big", nil, "TooLarge: frame over the limit"},
				{"panic", nil, "Panic: over and out"},
				{"nilerror", nil, "Panic: "},
				{"add", 5, "InvalidParams: params: want []float64, got the number 5"},
				{"add", []any{1, "x"}, `InvalidParams: params[1]: want float64, got the string "x"`},
				{"point", map[string]any{"x": "1"}, `InvalidParams: params.x: want int, got the string "1"`},
				{"point", map[string]any{"n": 1}, "InvalidParams: params.n: want string, got the number 1"},
				{"point", map[string]any{"l": []any{map[string]any{"b": true}, map[string]any{"b": 1}}}, "InvalidParams: params.l[1].b: want bool, got the number 1"},
				{"point", map[string]any{"m": map[string]any{"k": "v"}}, `InvalidParams: params.m.k: want uint8, got the string "v"`},
				{"point", map[string]any{"p": true}, "InvalidParams: params.p: want float64, got the boolean true"},
				{"point", map[string]any{"m": map[string]any{"k": 300}}, "InvalidParams: params.m.k: want uint8, got the number 300"},
				{"point", map[string]any{"m": map[string]any{"k": -1}}, "InvalidParams: params.m.k: want uint8, got the number -1"},
				{"point", "x", `InvalidParams: params: want sdk_test.point, got the string "x"`},
			} {
				m := p.Call(tt.method, tt.params)
				got := p.JSON(m.Result)
				if m.Err != nil {
					got = m.Err.Error()
				}
				if ok := got == tt.want || m.Err != nil && strings.HasPrefix(got, tt.want); !ok {
					t.Errorf("%s(%v) = %s, want %s", tt.method, tt.params, got, tt.want)
				}
				if tt.method == "panic" && !strings.Contains(m.Err.Stack, "sdk_test.TestHandlersAnswer") {
					t.Errorf("stack does not show the handler:\n%s", m.Err.Stack)
				}
			}
		})
	}
}

func TestErrorsKeepNameAndCauses(t *testing.T) {
	s := newServer()
	var answer error
	s.HandleRaw("err", func(context.Context, codec.Raw) (codec.Raw, error) { return nil, answer })
	p := connect(t, s)
	own := &codec.Error{Name: "Own", Message: "m", Code: 7, Stack: "s", Data: p.Raw(1), Cause: &codec.Error{Name: "Deep", Message: "d"}}
	deep := error(&oddError{"Odd"})
	for range 40 {
		deep = fmt.Errorf("w: %w", deep)
	}
	for _, tt := range []struct {
		err  error
		want []string // the chain
	}{
		{errors.New("plain"), []string{"Error: plain"}},
		{own, []string{"Own: m", "Deep: d"}},
		{fmt.Errorf("more: %w", own), []string{"Own: more: " + own.Error(), "Own: m", "Deep: d"}},
		{&oddError{"Odd"}, []string{"Odd: it is odd"}},
		{&oddError{""}, []string{"Error: it is odd"}},
		{fmt.Errorf("a: %w", &oddError{"Odd"}), []string{"Odd: a: it is odd", "Odd: it is odd"}},
		{errors.Join(errors.New("one"), errors.New("two")), []string{"Error: one\ntwo", "Error: one"}},
	} {
		answer = tt.err
		m := p.Call("err", nil)
		var got []string
		for e := m.Err; e != nil; e = e.Cause {
			got = append(got, e.Error())
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
		if tt.err == own && (m.Err.Code != 7 || m.Err.Stack != "s" || p.JSON(m.Err.Data) != "1") {
			t.Errorf("own error lost something: %+v", m.Err)
		}
	}
	answer = deep
	n := 0
	for e := p.Call("err", nil).Err; e != nil; e = e.Cause {
		n++
	}
	if n != 16 {
		t.Errorf("a long chain has %d links, want 16", n)
	}
}

func TestRegisteringAgainReplaces(t *testing.T) {
	s := newServer()
	constant := func(n int) func(context.Context, any) (int, error) {
		return func(context.Context, any) (int, error) { return n, nil }
	}
	sdk.Handle(s, "n", constant(1))
	p := connect(t, s)
	sdk.Handle(s, "n", constant(2))
	sdk.Handle(s, "later", constant(3))
	for method, want := range map[string]string{"n": "2", "later": "3"} {
		if got := p.JSON(p.Call(method, nil).Result); got != want {
			t.Errorf("%s = %s, want %s", method, got, want)
		}
	}
}

func TestGoexitIsAnAnswer(t *testing.T) {
	s := newServer(sdk.WithMaxConcurrent(1))
	s.HandleRaw("goexit", func(context.Context, codec.Raw) (codec.Raw, error) {
		runtime.Goexit()
		return nil, nil
	})
	sdk.OnNotify(s, "goexit", func(context.Context, any) error { runtime.Goexit(); return nil })
	p := connect(t, s)
	p.Send(p.Notification("goexit", nil), p.Notification("goexit", nil), p.Request("goexit", nil), p.Request("goexit", nil))
	answers := 0
	for answers < 2 {
		if m := p.Next(); m.Kind == codec.Response {
			answers++
			if m.Err == nil || m.Err.Name != codec.NamePanic {
				t.Errorf("answer %v", m.Err)
			}
		}
	}
}
