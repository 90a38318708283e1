package demo_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// envHost makes this test program the demo host.
const envHost = "DEMO_TEST_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(envHost) != "" {
		leaktest.Exit(demo.Main(context.Background()))
	}
	leaktest.Main(m)
}

// here serves the demo host in this process.
func here(t *testing.T) *counterpart.Peer {
	t.Helper()
	mine, theirs := counterpart.Pair(t)
	done := make(chan error, 1)
	go func() { done <- demo.Serve(context.Background(), theirs) }()
	p := counterpart.Open(t, mine)
	p.LeaveAtEnd(done)
	return p
}

func TestMethods(t *testing.T) {
	p := here(t)
	if p.Host.Name != "demo" || p.Host.Caps != codec.CapAll {
		t.Errorf("%+v", p.Host)
	}
	for _, tt := range []struct {
		method string
		params any
		want   string
	}{
		{"echo", map[string]any{"a": []int{1}}, `{"a":[1]}`},
		{"add", []any{1, 2}, "3"},
		{"add", []any{0.5, 0.25, -1}, "-0.25"},
		{"add", nil, "0"},
		{"pid", nil, p.JSON(p.Raw(os.Getpid()))},
		{"sleep", map[string]any{"ms": 1}, "null"},
		{"sleep", nil, "null"},
		{"hang", map[string]any{"ms": 1}, "null"},
		{"stream", map[string]any{"n": 3}, "[0,1,2]"},
		{"stream", map[string]any{"n": 2, "ms": 1}, "[0,1]"},
		{"stream", nil, "[]"},
		{"print", map[string]any{"stdout": "", "stderr": ""}, "null"},
		{"garbage", map[string]any{"kind": "wrong"}, "InvalidParams"},
		{"crash", map[string]any{"signal": "SIGWRONG"}, "InvalidParams"},
		{"add", []any{1, "x"}, "InvalidParams"},
		{"none", nil, "MethodNotFound"},
	} {
		m := p.Call(tt.method, tt.params)
		got := p.JSON(m.Result)
		if m.Err != nil {
			got = m.Err.Name
		}
		if got != tt.want {
			t.Errorf("%s(%v) = %s, want %s (%v)", tt.method, tt.params, got, tt.want, m.Err)
		}
	}
	e := p.Call("fail", map[string]any{"message": "no luck"}).Err
	if e == nil || e.Name != "DemoError" || e.Message != "no luck" || e.Code == 0 || e.Stack == "" || len(e.Data) == 0 || e.Cause == nil {
		t.Errorf("fail: %+v", e)
	}
}

func TestStreamByCredit(t *testing.T) {
	p := here(t)
	req := p.Request("stream", map[string]any{"n": 3})
	p.Send(req, codec.Message{Kind: codec.Credit, ID: req.ID, Credit: 10})
	var seqs []uint32
	for m := p.Next(); m.Kind != codec.Response; m = p.Next() {
		if m.Kind == codec.Item {
			seqs = append(seqs, m.Seq)
		}
	}
	if len(seqs) != 3 || seqs[2] != 2 {
		t.Error(seqs)
	}
}

// sleep leaves the loop free, hang does not.
func TestSleepAndHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- demo.Serve(ctx, theirs) }()
		p := counterpart.Open(t, mine)
		begin := time.Now()
		sleep := p.Request("sleep", map[string]any{"ms": 5000})
		p.Send(sleep)
		p.Expect(codec.Ack, sleep.ID)
		if m := p.Call("$/ping", nil); m.Err != nil || time.Since(begin) != 0 {
			t.Error("ping during sleep:", m.Err, time.Since(begin))
		}
		p.Expect(codec.Response, sleep.ID)
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("sleep took %v", took)
		}
		begin = time.Now()
		hang := p.Request("hang", map[string]any{"ms": 5000})
		offered := p.Offer(hang, p.Request("$/ping", nil))
		p.Expect(codec.Response, hang.ID) // no ack, and no pong before it
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("hang took %v", took)
		}
		p.Expect(codec.Response, p.Last)
		<-offered
		p.Send(p.Request("sleep", map[string]any{"ms": 60_000}))
		p.Expect(codec.Ack, p.Last)
		p.Send(codec.Message{Kind: codec.Cancel, ID: p.Last})
		if m := p.Expect(codec.Response, p.Last); m.Err == nil || m.Err.Name != codec.NameCancelled {
			t.Error("cancelled sleep:", m.Err)
		}
		p.Send(p.Request("hang", nil)) // for ever, but for the end of the host
		synctest.Wait()
		cancel()
		if err := p.End(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestKindsBreakTheProtocol(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range demo.Kinds() {
		if seen[g.Kind] || g.What == "" || g.Err == nil {
			t.Errorf("kind %+v", g)
		}
		seen[g.Kind] = true
		t.Run(g.Kind, func(t *testing.T) {
			mine, theirs := counterpart.Pair(t)
			done := make(chan error, 1)
			go func() { done <- demo.Serve(context.Background(), theirs) }()
			p := counterpart.Open(t, mine)
			req := p.Request("garbage", map[string]any{"kind": g.Kind})
			p.Send(req)
			var m codec.Message
			var err error
			for m.Kind = codec.Ack; m.Kind == codec.Ack && m.ID != 0xfffffff0 && err == nil; {
				if m.ID == req.ID || m.ID == 0 {
					err = p.Try(&m)
				}
			}
			var bad *codec.FrameError
			switch {
			case errors.As(err, &bad):
				if !errors.Is(err, g.Err) {
					t.Errorf("reader: %v, want %v", err, g.Err)
				}
			case err != nil:
				t.Errorf("reader: %v, want %v", err, g.Err)
			// Whether an id was given only its owner knows.
			case g.Kind == "id" && m.Kind == codec.Response && m.ID == 0xfffffff0:
			case g.Kind == "ack" && m.Kind == codec.Ack && m.ID == 0xfffffff0:
			case g.Kind == "item" && m.Kind == codec.Item && m.ID == req.ID:
			case g.Kind == "twice" && m.Kind == codec.Response && m.ID == req.ID:
				for m = p.Next(); m.Kind == codec.Ack; m = p.Next() {
				}
				if m.Kind != codec.Response || m.ID != req.ID {
					t.Errorf("%v %d behind the first answer", m.Kind, m.ID)
				}
			default:
				t.Errorf("%v %d came through, want %v", m.Kind, m.ID, g.Err)
			}
			p.Close()
			if err := <-done; !errors.Is(err, sdk.ErrPeerGone) {
				t.Error("serve:", err)
			}
		})
	}
}
