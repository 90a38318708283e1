package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

func TestHostCallsItsSupervisor(t *testing.T) {
	s := newServer()
	p := connect(t, s)
	const n = 100
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var got string
			if err := s.Call(t.Context(), "double", i, &got); err != nil || got != fmt.Sprint(2*i) {
				t.Errorf("double(%d) = %q, %v", i, got, err)
			}
		})
	}
	var answers []codec.Message
	seen := map[uint32]bool{}
	for range n {
		m := p.Next()
		if m.Kind != codec.Request || m.Method != "double" || seen[m.ID] {
			t.Fatalf("%v %d %q", m.Kind, m.ID, m.Method)
		}
		seen[m.ID] = true
		var i int
		if _, err := fmt.Sscan(p.JSON(m.Params), &i); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, codec.Message{Kind: codec.Ack, ID: m.ID}, codec.Message{Kind: codec.Response, ID: m.ID, Result: p.Raw(fmt.Sprint(2 * i))})
	}
	p.Send(answers...)
	wg.Wait()
}

func TestCallOutcomes(t *testing.T) {
	s := newServer()
	p := connect(t, s)
	call := func(ctx context.Context, in, out any) <-chan error {
		done := make(chan error, 1)
		go func() { done <- s.Call(ctx, "m", in, out) }()
		return done
	}
	respond := func(m codec.Message) {
		t.Helper()
		req := p.Next()
		if req.Kind != codec.Request {
			t.Fatalf("%v instead of a request", req.Kind)
		}
		m.Kind, m.ID = codec.Response, req.ID
		p.Send(m)
	}

	done := call(t.Context(), nil, nil)
	respond(codec.Message{Err: &codec.Error{Name: "No", Message: "never"}})
	var e *codec.Error
	if err := <-done; !errors.As(err, &e) || e.Name != "No" {
		t.Error("the supervisor's error became", err)
	}
	var raw codec.Raw
	done = call(t.Context(), nil, &raw)
	respond(codec.Message{Result: p.Raw("r")})
	if err := <-done; err != nil || p.JSON(raw) != `"r"` {
		t.Error(raw, err)
	}
	var n int
	done = call(t.Context(), nil, &n)
	respond(codec.Message{Result: p.Raw("no number")})
	if err := <-done; err == nil || !strings.Contains(err.Error(), "result of m") {
		t.Error("a result of another type:", err)
	}
	if err := <-call(t.Context(), func() {}, nil); err == nil {
		t.Error("params that cannot be encoded were sent")
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	done = call(ctx, nil, nil)
	req := p.Next()
	mine := errors.New("mine")
	cancel(mine)
	if err := <-done; err != mine {
		t.Error("a cancelled call:", err)
	}
	p.Expect(codec.Cancel, req.ID)
	p.Send(codec.Message{Kind: codec.Response, ID: req.ID}) // late: dropped
	if m := p.Call("$/ping", nil); m.Err != nil {
		t.Error(m.Err)
	}
}

func TestCallsEndWithTheConnection(t *testing.T) {
	s := newServer()
	mine, theirs := counterpart.Pair(t)
	early := make(chan error, 1)
	go func() { early <- s.Notify(t.Context(), "early", nil) }() // waits for the handshake
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.Open(t, mine)
	if m := p.Next(); m.Method != "early" {
		t.Errorf("%v %q", m.Kind, m.Method)
	}
	if err := <-early; err != nil {
		t.Error(err)
	}
	called := make(chan error, 1)
	go func() { called <- s.Call(t.Context(), "m", nil, nil) }()
	p.Next()
	p.Close()
	if err := <-called; !errors.Is(err, sdk.ErrPeerGone) {
		t.Error("open call:", err)
	}
	if err := <-done; !errors.Is(err, sdk.ErrPeerGone) {
		t.Error("serve:", err)
	}
	if err := s.Call(t.Context(), "m", nil, nil); !errors.Is(err, sdk.ErrPeerGone) {
		t.Error("later call:", err)
	}
	if err := s.Notify(t.Context(), "m", nil); !errors.Is(err, sdk.ErrClosed) {
		t.Error("later notification:", err)
	}
}

func TestAnswerThatComesTwiceEndsTheConnection(t *testing.T) {
	s := newServer()
	mine, theirs := counterpart.Pair(t)
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.Open(t, mine)
	called := make(chan error, 1)
	go func() { called <- s.Call(t.Context(), "m", nil, nil) }()
	id := p.Next().ID
	p.Send(codec.Message{Kind: codec.Response, ID: id}, codec.Message{Kind: codec.Response, ID: id})
	if err := <-called; err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, codec.ErrID) {
		t.Error(err)
	}
}

func TestCallWithoutAConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newServer().Call(ctx, "m", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s := newServer()
	mine, theirs := counterpart.Pair(t)
	mine.Close()
	if err := s.ServeConn(t.Context(), theirs); !errors.Is(err, sdk.ErrPeerGone) {
		t.Error(err)
	}
	if err := s.Call(t.Context(), "m", nil, nil); err != sdk.ErrClosed {
		t.Error(err)
	}
	if err := s.ServeConn(t.Context(), theirs); !errors.Is(err, sdk.ErrServed) {
		t.Error(err)
	}
	if err := s.Serve(t.Context()); !errors.Is(err, sdk.ErrServed) {
		t.Error(err)
	}
}

func TestInlineHandlersMayNotifyButNotCall(t *testing.T) {
	s := newServer()
	s.HandleRaw("inline", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
		if err := s.Notify(ctx, "note", 1); err != nil {
			return nil, err
		}
		return nil, s.Call(ctx, "m", nil, nil)
	}, sdk.Inline())
	p, c := countedPair(t, s)
	before := c.count()
	p.Send(p.Request("inline", nil))
	if m := p.Next(); m.Method != "note" {
		t.Errorf("%v %q", m.Kind, m.Method)
	}
	if m := p.Expect(codec.Response, p.Last); m.Err == nil || m.Err.Message != sdk.ErrInline.Error() {
		t.Errorf("answer %v", m.Err)
	}
	if n := c.count() - before; n != 1 {
		t.Errorf("%d writes", n)
	}
}

func TestHandlerCallsBack(t *testing.T) {
	s := newServer()
	s.HandleRaw("ask", func(ctx context.Context, in codec.Raw) (out codec.Raw, err error) {
		err = s.Call(ctx, "answer", in, &out)
		return out, err
	})
	p := connect(t, s)
	ask := p.Request("ask", "q")
	p.Send(ask)
	back := p.Next()
	if back.Kind == codec.Ack { // sent by the loop, before or behind the handler's call
		back = p.Next()
	}
	if back.Kind != codec.Request || back.Method != "answer" {
		t.Fatalf("%v %q", back.Kind, back.Method)
	}
	p.Send(codec.Message{Kind: codec.Response, ID: back.ID, Result: back.Params})
	if m := p.Answer(ask.ID); p.JSON(m.Result) != `"q"` {
		t.Errorf("%s", p.JSON(m.Result))
	}
}

func TestNotificationsComeInOrder(t *testing.T) {
	var log strings.Builder
	s := newServer(sdk.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	const n = 3000 // more than wait for their handler
	got := make(chan int, n)
	gate := make(chan struct{})
	sdk.OnNotify(s, "n", func(_ context.Context, i int) error {
		<-gate
		got <- i
		return nil
	})
	sdk.OnNotify(s, "panics", func(context.Context, any) error { panic("in a note") })
	sdk.OnNotify(s, "fails", func(context.Context, any) error { return errors.New("note failed") })
	p := connect(t, s)
	go func() {
		for i := range n {
			p.Send(p.Notification("n", i))
		}
		p.Send(p.Notification("panics", nil), p.Notification("fails", nil), p.Notification("n", "x"), p.Notification("unknown", nil), p.Notification("n", n))
	}()
	close(gate)
	for i := range n + 1 {
		if g := <-got; g != i {
			t.Fatalf("notification %d came as number %d", g, i)
		}
	}
	for _, want := range []string{"in a note", "note failed", "InvalidParams: params: want int"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, log.String())
		}
	}
}

func TestTraceIsPassedOn(t *testing.T) {
	s := newServer()
	trace := codec.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=b"}
	other := codec.Trace{Parent: "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	ids := make(chan uint32, 1)
	handler := func(ctx context.Context, _ any) (any, error) {
		if got := sdk.TraceFrom(ctx); got != trace {
			t.Errorf("trace %v", got)
		}
		ids <- sdk.RequestID(ctx)
		sub, cancel := context.WithTimeout(ctx, time.Minute) // a context made from it
		defer cancel()
		return nil, errors.Join(s.Notify(sub, "same", nil), s.Notify(sdk.WithTrace(sub, other), "other", nil))
	}
	sdk.Handle(s, "inline", handler, sdk.Inline())
	sdk.Handle(s, "goroutine", handler)
	p := connect(t, s)
	if got := sdk.TraceFrom(t.Context()); got != (codec.Trace{}) || sdk.RequestID(t.Context()) != 0 {
		t.Error("a foreign context has a trace")
	}
	for _, method := range []string{"inline", "goroutine"} {
		req := p.Request(method, nil)
		req.Trace = trace
		p.Send(req)
		got := map[string]codec.Trace{}
		for answered := false; !answered; {
			m := p.Next()
			switch m.Kind {
			case codec.Response:
				answered = true
				if m.Err != nil {
					t.Error(m.Err)
				}
			case codec.Notification:
				got[m.Method] = m.Trace
			}
		}
		if id := <-ids; id != req.ID || got["same"] != trace || got["other"] != other {
			t.Errorf("%s: id %d, traces %v", method, id, got)
		}
	}
}

// A host takes items from its supervisor, as a supervisor does from a host.
func TestHostTakesItems(t *testing.T) {
	s := newServer()
	p := connect(t, s)
	type got struct {
		items []int
		err   error
	}
	take := func(ctx context.Context, most int) <-chan got {
		done := make(chan got, 1)
		go func() {
			var g got
			for n, err := range sdk.Items[int](ctx, s, "count", "all") {
				if err != nil {
					g.err = err
					break
				}
				if g.items = append(g.items, n); len(g.items) == most {
					break
				}
			}
			done <- g
		}()
		return done
	}
	asked := func() (id uint32, credit uint32) {
		t.Helper()
		req := p.Next()
		if req.Kind != codec.Request || req.Method != "count" || p.JSON(req.Params) != `"all"` {
			t.Fatalf("%v %q", req.Kind, req.Method)
		}
		return req.ID, p.Expect(codec.Credit, req.ID).Credit
	}
	item := func(id, seq uint32) codec.Message {
		return codec.Message{Kind: codec.Item, ID: id, Seq: seq, Result: p.Raw(seq)}
	}

	// More than the first credit allows.
	done := take(t.Context(), -1)
	id, credit := asked()
	const n = 1000
	for seq := uint32(0); seq < n; seq++ {
		for credit == 0 {
			credit = p.Expect(codec.Credit, id).Credit
		}
		p.Send(item(id, seq))
		credit--
	}
	p.Send(codec.Message{Kind: codec.Response, ID: id})
	g := <-done
	if g.err != nil || len(g.items) != n || g.items[n-1] != n-1 {
		t.Errorf("%d items, %v", len(g.items), g.err)
	}
	for p.Send(p.Request("$/ping", nil)); ; { // credit that was on its way
		if m := p.Next(); m.Kind == codec.Response {
			break
		}
	}

	// The result is the last one: the only one without items. An error is the end.
	done = take(t.Context(), -1)
	id, _ = asked()
	p.Send(item(id, 0), codec.Message{Kind: codec.Response, ID: id, Result: p.Raw(7)})
	if g := <-done; g.err != nil || fmt.Sprint(g.items) != "[0 7]" {
		t.Errorf("%v, %v", g.items, g.err)
	}
	done = take(t.Context(), -1)
	id, _ = asked()
	p.Send(codec.Message{Kind: codec.Response, ID: id, Result: p.Raw(7)})
	if g := <-done; g.err != nil || fmt.Sprint(g.items) != "[7]" {
		t.Errorf("%v, %v", g.items, g.err)
	}
	done = take(t.Context(), -1)
	id, _ = asked()
	p.Send(item(id, 0), codec.Message{Kind: codec.Response, ID: id, Err: &codec.Error{Name: "No"}})
	var e *codec.Error
	if g := <-done; len(g.items) != 1 || !errors.As(g.err, &e) || e.Name != "No" {
		t.Errorf("%v, %v", g.items, g.err)
	}

	// Whoever has enough takes the request back; what comes late is dropped.
	done = take(t.Context(), 1)
	id, _ = asked()
	p.Send(item(id, 0), item(id, 1))
	if g := <-done; g.err != nil || len(g.items) != 1 {
		t.Errorf("%v, %v", g.items, g.err)
	}
	p.Expect(codec.Cancel, id)
	p.Send(item(id, 2), codec.Message{Kind: codec.Response, ID: id})
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	done = take(ctx, -1)
	id, _ = asked()
	cancel(mine)
	if g := <-done; g.err != mine {
		t.Error(g.err)
	}
	p.Expect(codec.Cancel, id)
	p.Send(codec.Message{Kind: codec.Response, ID: id})
}

// Items beyond the credit end the connection.
func TestItemsBeyondTheCredit(t *testing.T) {
	s := newServer()
	mine, theirs := counterpart.Pair(t)
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.Open(t, mine)
	called := make(chan error, 1)
	block := make(chan struct{})
	go func() {
		var last error
		for _, err := range sdk.Items[int](t.Context(), s, "count", nil) {
			last = err
			<-block // it takes nothing meanwhile
		}
		called <- last
	}()
	id := p.Next().ID
	credit := p.Expect(codec.Credit, id).Credit
	for seq := range credit + 1 {
		p.Send(codec.Message{Kind: codec.Item, ID: id, Seq: seq, Result: p.Raw(seq)})
	}
	if err := <-done; !errors.Is(err, codec.ErrNoCredit) {
		t.Error("serve:", err)
	}
	close(block)
	if err := <-called; !errors.Is(err, codec.ErrNoCredit) {
		t.Error("call:", err)
	}
}
