package sdk_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// count sends 0 to n-1 and reports each send that has returned.
func count(s *sdk.Server, sent chan<- int) {
	sdk.Stream(s, "count", func(_ context.Context, n int, send func(any) error) error {
		for i := range n {
			if err := send(i); err != nil {
				return err
			}
			if sent != nil {
				sent <- i
			}
		}
		return nil
	})
}

func credit(id, n uint32) codec.Message {
	return codec.Message{Kind: codec.Credit, ID: id, Credit: n}
}

// nextItem skips acks.
func nextItem(t *testing.T, p *counterpart.Peer, id, seq uint32) {
	t.Helper()
	m := p.Next()
	for m.Kind == codec.Ack {
		m = p.Next()
	}
	if m.Kind != codec.Item || m.ID != id || m.Seq != seq {
		t.Fatalf("%v %d seq %d (%v), want item %d of %d", m.Kind, m.ID, m.Seq, m.Err, seq, id)
	}
	if got := p.JSON(m.Result); got != p.JSON(p.Raw(seq)) {
		t.Fatalf("item %d is %s", seq, got)
	}
}

func TestStreamFollowsCredit(t *testing.T) {
	s := newServer()
	sent := make(chan int, 100)
	count(s, sent)
	p := connect(t, s)
	req := p.Request("count", 10)
	p.Send(req, credit(req.ID, 3))
	for seq := range uint32(3) {
		nextItem(t, p, req.ID, seq)
	}
	// Without credit send blocks: the loop answers, the stream does not move.
	if m := p.Call("$/ping", nil); m.Err != nil {
		t.Error(m.Err)
	}
	p.Send(credit(req.ID, 2), credit(req.ID, 1))
	for seq := uint32(3); seq < 6; seq++ {
		nextItem(t, p, req.ID, seq)
	}
	p.Send(credit(req.ID, 1000))
	for seq := uint32(6); seq < 10; seq++ {
		nextItem(t, p, req.ID, seq)
	}
	if m := p.Answer(req.ID); m.Err != nil || p.JSON(m.Result) != "null" {
		t.Errorf("end of stream: %s %v", p.JSON(m.Result), m.Err)
	}
	p.Send(credit(req.ID, 1)) // finished: ignored
	if m := p.Call("$/ping", nil); m.Err != nil {
		t.Error(m.Err)
	}
}

func TestStreamWithoutCreditIsOneList(t *testing.T) {
	s := newServer()
	count(s, nil)
	sdk.Stream(s, "mixed", func(_ context.Context, _ any, send func(any) error) error {
		return errors.Join(send(nil), send(codec.Raw(nil)), send("x"), send([]int{1}))
	})
	p := connect(t, s)
	for _, tt := range []struct {
		method string
		n      int
		want   string
	}{{"count", 0, "[]"}, {"count", 3, "[0,1,2]"}, {"mixed", 0, `[null,null,"x",[1]]`}} {
		if m := p.Call(tt.method, tt.n); p.JSON(m.Result) != tt.want {
			t.Errorf("%s(%d) = %s %v, want %s", tt.method, tt.n, p.JSON(m.Result), m.Err, tt.want)
		}
	}
	if m := p.Call("count", 70_000); m.Err != nil || strings.Count(p.JSON(m.Result), ",") != 69_999 {
		t.Errorf("a long list: %v, %d bytes", m.Err, len(m.Result))
	}
}

func TestStreamWithoutTheCapability(t *testing.T) {
	s := newServer(sdk.WithCapabilities(codec.CapAll &^ codec.CapStream))
	count(s, nil)
	p := connect(t, s)
	if m := p.Call("count", 2); p.JSON(m.Result) != "[0,1]" {
		t.Errorf("%s %v", p.JSON(m.Result), m.Err)
	}
}

// The first credit follows its request; a stream that has ended before it is
// read must not have been answered as a list.
func TestCreditJustBehindTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		count(s, nil)
		mine, theirs := net.Pipe()
		done := counterpart.Serve(context.Background(), s, theirs)
		p := counterpart.Open(t, mine)

		req := p.Request("count", 2)
		p.Send(req)
		p.Expect(codec.Ack, req.ID)
		synctest.Wait() // the handler has returned
		p.Send(credit(req.ID, 1))
		nextItem(t, p, req.ID, 0)
		synctest.Wait()
		p.Send(credit(req.ID, 1))
		nextItem(t, p, req.ID, 1)
		p.Expect(codec.Response, req.ID)

		// A caller that sends none waits no longer than the grace.
		start := time.Now()
		if m := p.Call("count", 2); p.JSON(m.Result) != "[0,1]" {
			t.Errorf("%s %v", p.JSON(m.Result), m.Err)
		}
		if took := time.Since(start); took != 50*time.Millisecond {
			t.Errorf("a list took %v", took)
		}
		p.Goodbye()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// What was sent before the first credit leaves with it, also when the handler
// sends nothing more.
func TestHeldItemsLeaveWithTheFirstCredit(t *testing.T) {
	s := newServer()
	sent := make(chan int, 10)
	sdk.Stream(s, "watch", func(ctx context.Context, _ any, send func(any) error) error {
		for i := range 3 {
			if err := send(i); err != nil {
				return err
			}
			sent <- i
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	p := connect(t, s)
	req := p.Request("watch", nil)
	p.Send(req)
	for range 3 {
		<-sent
	}
	p.Send(credit(req.ID, 2))
	nextItem(t, p, req.ID, 0)
	nextItem(t, p, req.ID, 1)
	p.Send(credit(req.ID, 5))
	nextItem(t, p, req.ID, 2)
	p.Send(codec.Message{Kind: codec.Cancel, ID: req.ID})
	if m := p.Answer(req.ID); m.Err == nil || m.Err.Name != codec.NameCancelled {
		t.Errorf("answer %v", m.Err)
	}
}

func TestCancelWakesASendWithoutCredit(t *testing.T) {
	s := newServer()
	failed := make(chan error, 1)
	sdk.Stream(s, "endless", func(_ context.Context, _ any, send func(any) error) error {
		for {
			if err := send(0); err != nil {
				failed <- err
				return err
			}
		}
	})
	p := connect(t, s)
	req := p.Request("endless", nil)
	p.Send(req, credit(req.ID, 1))
	nextItem(t, p, req.ID, 0)
	p.Send(codec.Message{Kind: codec.Cancel, ID: req.ID})
	if err := <-failed; err != sdk.ErrCancelled {
		t.Error("send:", err)
	}
	// Items held before the credit may still be on their way.
	for m := p.Next(); m.Kind != codec.Response; m = p.Next() {
	}
}

func TestStreamErrors(t *testing.T) {
	s := newServer(sdk.WithLimits(codec.Limits{Frame: 1 << 10}))
	var late func(any) error
	sdk.Stream(s, "fails", func(_ context.Context, _ any, send func(any) error) error {
		late = send
		return errors.Join(send(1), errors.New("broken"))
	})
	sdk.Stream(s, "panics", func(_ context.Context, _ any, send func(any) error) error { panic("p") })
	sdk.Stream(s, "big", func(_ context.Context, _ any, send func(any) error) error {
		return send(strings.Repeat("x", 1<<10))
	})
	sdk.Stream(s, "many", func(_ context.Context, _ any, send func(any) error) error {
		for {
			if err := send("more"); err != nil {
				if !errors.Is(err, sdk.ErrUncollected) {
					return err
				}
				return &codec.Error{Name: "Uncollected"}
			}
		}
	})
	sdk.Stream(s, "unencodable", func(_ context.Context, _ any, send func(any) error) error { return send(func() {}) })
	sdk.Stream(s, "typed", func(_ context.Context, _ int, send func(any) error) error { return nil })
	p := connect(t, s)
	for method, want := range map[string]string{
		"fails": "Error: broken", "panics": "Panic: p", "big": "Error: item of 1027 bytes: frame over the limit",
		"many": "Uncollected", "unencodable": "InvalidResult: encode func()",
		"typed": `InvalidParams: params: want int, got the string "x"`,
	} {
		if m := p.Call(method, "x"); m.Err == nil || !strings.HasPrefix(m.Err.Error(), want) {
			t.Errorf("%s: %v, want %s", method, m.Err, want)
		}
	}
	if err := late(1); err == nil {
		t.Error("send works after the end of the stream")
	}
}
