package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

func echo(_ context.Context, in codec.Raw) (codec.Raw, error) { return in, nil }

// countedPair connects s through a connection that counts the host's writes.
func countedPair(t *testing.T, s *sdk.Server) (*counterpart.Peer, *counted) {
	t.Helper()
	mine, theirs := counterpart.Pair(t)
	c := &counted{Conn: theirs}
	done := counterpart.Serve(context.Background(), s, c)
	p := counterpart.Open(t, mine)
	t.Cleanup(func() {
		p.Close()
		if err := <-done; !errors.Is(err, sdk.ErrPeerGone) && !t.Failed() {
			t.Error("serve:", err)
		}
	})
	return p, c
}

func TestAnswersOfOneTurnLeaveInOneWrite(t *testing.T) {
	s := newServer()
	s.HandleRaw("echo", echo, sdk.Inline())
	p, c := countedPair(t, s)
	before := c.count()
	var batch []codec.Message
	for i := range 100 {
		batch = append(batch, p.Request("echo", i))
	}
	batch = append(batch, p.Request("none", nil), p.Request("$/ping", nil))
	p.Send(batch...)
	for i, m := range batch {
		got := p.Expect(codec.Response, m.ID)
		if i < 100 && p.JSON(got.Result) != fmt.Sprint(i) {
			t.Fatalf("answer %d is %s", i, p.JSON(got.Result))
		}
	}
	if n := c.count() - before; n != 1 {
		t.Errorf("%d answers took %d writes", len(batch), n)
	}
	p.Call("echo", nil)
	if n := c.count() - before; n != 2 {
		t.Errorf("a lone request took %d writes", n-1)
	}
}

func TestBlockedHandlersAreAcknowledgedInTheirTurn(t *testing.T) {
	s := newServer()
	release := make(chan struct{})
	s.HandleRaw("echo", echo, sdk.Inline())
	s.HandleRaw("block", func(ctx context.Context, in codec.Raw) (codec.Raw, error) {
		<-release
		return in, nil
	})
	p, c := countedPair(t, s)
	before := c.count()
	b1, e1, b2 := p.Request("block", 1), p.Request("echo", 2), p.Request("block", 3)
	p.Send(b1, e1, b2)
	p.Expect(codec.Response, e1.ID)
	p.Expect(codec.Ack, b1.ID)
	p.Expect(codec.Ack, b2.ID)
	if n := c.count() - before; n != 1 {
		t.Errorf("acks and answer took %d writes", n)
	}
	// The loop goes on meanwhile.
	p.Send(p.Request("$/ping", nil))
	p.Expect(codec.Response, p.Last)
	close(release)
	got := map[uint32]bool{p.Next().ID: true, p.Next().ID: true}
	if !got[b1.ID] || !got[b2.ID] {
		t.Errorf("answered %v", got)
	}
}

func TestNoAckWithoutTheCapability(t *testing.T) {
	s := newServer(sdk.WithCapabilities(0))
	release := make(chan struct{})
	s.HandleRaw("block", func(ctx context.Context, in codec.Raw) (codec.Raw, error) {
		<-release
		return in, nil
	})
	p := connect(t, s)
	if p.Host.Caps != 0 {
		t.Errorf("capabilities %b in force", p.Host.Caps)
	}
	p.Send(p.Request("block", nil))
	block := p.Last
	p.Send(p.Request("$/ping", nil))
	p.Expect(codec.Response, p.Last)
	close(release)
	p.Expect(codec.Response, block)
}

func TestRequestsBeyondTheLimitWaitAcknowledged(t *testing.T) {
	s := newServer(sdk.WithMaxConcurrent(2))
	started := make(chan string, 10)
	release := make(chan struct{})
	sdk.Handle(s, "block", func(_ context.Context, name string) (string, error) {
		started <- name
		<-release
		return name, nil
	})
	p := connect(t, s)
	var batch []codec.Message
	for i := range 5 {
		batch = append(batch, p.Request("block", fmt.Sprint(i)))
	}
	p.Send(batch...)
	for _, m := range batch {
		p.Expect(codec.Ack, m.ID)
	}
	if a, b := <-started, <-started; a+b != "01" && a+b != "10" {
		t.Errorf("%s and %s started first", a, b)
	}
	// One that waits is answered at once when it is cancelled, and never runs.
	p.Send(codec.Message{Kind: codec.Cancel, ID: batch[3].ID}, codec.Message{Kind: codec.Cancel, ID: batch[3].ID})
	if m := p.Expect(codec.Response, batch[3].ID); m.Err == nil || m.Err.Name != codec.NameCancelled {
		t.Errorf("cancelled request answered %v", m.Err)
	}
	select {
	case name := <-started:
		t.Errorf("%s started beyond the limit", name)
	default:
	}
	close(release)
	left := map[uint32]bool{batch[0].ID: true, batch[1].ID: true, batch[2].ID: true, batch[4].ID: true}
	for len(left) > 0 {
		m := p.Next()
		if !left[m.ID] || m.Err != nil {
			t.Fatalf("unexpected %v %d %v", m.Kind, m.ID, m.Err)
		}
		delete(left, m.ID)
	}
	if a, b := <-started, <-started; a+b != "24" && a+b != "42" {
		t.Errorf("%s and %s started last", a, b)
	}
}

func TestThousandRequestsEachAnsweredOnce(t *testing.T) {
	s := newServer(sdk.WithMaxConcurrent(300))
	s.HandleRaw("inline", echo, sdk.Inline())
	sdk.Handle(s, "sleep", func(ctx context.Context, in int) (int, error) {
		<-time.After(rand.N(5 * time.Millisecond)) // mixes the order of the answers
		return in, nil
	})
	p := connect(t, s)
	const n = 1000
	methods := []string{"inline", "sleep", "none"}
	var batch []codec.Message
	for i := range n {
		batch = append(batch, p.Request(methods[i%len(methods)], i))
	}
	go p.Send(batch...)
	answered := map[uint32]bool{}
	for len(answered) < n {
		m := p.Next()
		if m.Kind == codec.Ack {
			continue
		}
		if answered[m.ID] {
			t.Fatalf("%d answered twice", m.ID)
		}
		answered[m.ID] = true
		switch i := int(m.ID - batch[0].ID); {
		case i%3 == 2:
			if m.Err == nil || m.Err.Name != codec.NameMethodNotFound {
				t.Fatalf("%d: %v", i, m.Err)
			}
		case m.Err != nil || p.JSON(m.Result) != fmt.Sprint(i):
			t.Fatalf("%d: %s, %v", i, p.JSON(m.Result), m.Err)
		}
	}
}

func TestCancelEndsTheHandlersContext(t *testing.T) {
	s := newServer()
	causes := make(chan error, 1)
	s.HandleRaw("wait", func(ctx context.Context, in codec.Raw) (codec.Raw, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return in, nil // too late for a result
	})
	p := connect(t, s)
	wait := p.Request("wait", nil)
	p.Send(wait)
	p.Expect(codec.Ack, wait.ID)
	p.Send(codec.Message{Kind: codec.Cancel, ID: wait.ID})
	if cause := <-causes; cause != sdk.ErrCancelled || !errors.Is(cause, context.Canceled) {
		t.Errorf("cause %v", cause)
	}
	if m := p.Expect(codec.Response, wait.ID); m.Err == nil || m.Err.Name != codec.NameCancelled {
		t.Errorf("answer %v", m.Err)
	}
	p.Send(codec.Message{Kind: codec.Cancel, ID: wait.ID}) // finished: ignored
	if m := p.Call("$/ping", nil); m.Err != nil {
		t.Error(m.Err)
	}
}

func TestPeerThatBreaksTheProtocolIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		send func(p *counterpart.Peer)
		want error
	}{
		{"cancel of no request", func(p *counterpart.Peer) { p.Send(codec.Message{Kind: codec.Cancel, ID: 99}) }, codec.ErrID},
		{"credit for no request", func(p *counterpart.Peer) { p.Send(codec.Message{Kind: codec.Credit, ID: 99, Credit: 1}) }, codec.ErrID},
		{"ack of no request", func(p *counterpart.Peer) { p.Send(codec.Message{Kind: codec.Ack, ID: 1}) }, codec.ErrID},
		{"answer to no request", func(p *counterpart.Peer) { p.Send(codec.Message{Kind: codec.Response, ID: 1}) }, codec.ErrID},
		{"item for no request", func(p *counterpart.Peer) { p.Send(codec.Message{Kind: codec.Item, ID: 1}) }, codec.ErrID},
		{"id used twice", func(p *counterpart.Peer) {
			m := p.Request("block", nil)
			p.Send(m, m)
		}, codec.ErrID},
		{"empty frame", func(p *counterpart.Peer) { p.Write([]byte{0, 0, 0, 0}) }, codec.ErrEmpty},
		{"invalid byte", func(p *counterpart.Peer) { p.Write([]byte{0, 0, 0, 5, 0x93, 2, 0xa1, 'n', 0xc1}) }, codec.ErrByte},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer()
			s.HandleRaw("echo", echo, sdk.Inline())
			s.HandleRaw("block", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			mine, theirs := counterpart.Pair(t)
			done := counterpart.Serve(context.Background(), s, theirs)
			p := counterpart.Open(t, mine)
			p.Call("echo", nil)
			tt.send(p)
			err := <-done
			var bad *codec.FrameError
			if !errors.Is(err, tt.want) || !errors.As(err, &bad) {
				t.Errorf("serve: %v, want %v", err, tt.want)
			}
			if err := p.End(); err != nil {
				t.Error("stream:", err)
			}
		})
	}
}
