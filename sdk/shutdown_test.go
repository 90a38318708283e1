package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// bubble serves s in a bubble of fake time, over a pipe.
func bubble(t *testing.T, ctx context.Context, s *sdk.Server) (*counterpart.Peer, <-chan error) {
	t.Helper()
	mine, theirs := net.Pipe()
	done := counterpart.Serve(ctx, s, theirs)
	return counterpart.Open(t, mine), done
}

func TestGoodbyeWaitsForHandlersThenHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		story := make(chan string, 10)
		s.HandleRaw("work", func(context.Context, codec.Raw) (codec.Raw, error) {
			<-time.After(time.Second)
			story <- "handler"
			return nil, nil
		})
		sdk.OnNotify(s, "note", func(context.Context, any) error { story <- "note"; return nil })
		s.OnShutdown(func(context.Context) error { story <- "first hook"; return nil })
		s.OnShutdown(func(ctx context.Context) error { story <- "second hook"; return nil })
		p, done := bubble(t, t.Context(), s)
		work := p.Request("work", nil)
		p.Send(work)
		p.Expect(codec.Ack, work.ID)
		p.Send(p.Notification("note", nil))
		bye := p.Request(native.MethodShutdown, nil)
		p.Send(bye)
		p.Expect(codec.Ack, bye.ID) // it takes longer than its turn
		<-s.Stopping()
		if m := p.Call("work", nil); m.Err == nil || m.Err.Name != codec.NameShuttingDown {
			t.Errorf("new request answered %v", m.Err)
		}
		if m := p.Call("$/ping", nil); m.Err != nil {
			t.Error(m.Err)
		}
		p.Expect(codec.Response, work.ID)
		if m := p.Expect(codec.Response, bye.ID); m.Err != nil {
			t.Error(m.Err)
		}
		if m := p.Call(native.MethodShutdown, nil); m.Err != nil { // asked again
			t.Error(m.Err)
		}
		select {
		case err := <-done:
			t.Fatal("serve returned before the end of the stream:", err)
		default:
		}
		p.Close()
		if err := <-done; err != nil {
			t.Error("serve:", err)
		}
		close(story)
		var told []string
		for s := range story {
			told = append(told, s)
		}
		if got := strings.Join(told, ", "); got != "note, handler, second hook, first hook" {
			t.Error(got)
		}
	})
}

// A hook may end the process: the answers of handlers are with the supervisor by then,
// also when the goroutine that writes them is not theirs.
func TestHooksRunBehindTheAnswersOfHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(sdk.WithDrain(0))
		s.HandleRaw("work", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		var hooked atomic.Bool
		s.OnShutdown(func(context.Context) error { hooked.Store(true); return nil })
		p, done := bubble(t, t.Context(), s)
		work := p.Request("work", nil)
		p.Send(work)
		p.Expect(codec.Ack, work.ID)
		bye := p.Request(native.MethodShutdown, nil)
		p.Send(bye)
		synctest.Wait() // the acknowledgement is being written, or the answer, and nobody reads that yet
		if hooked.Load() {
			t.Error("the hook runs before the answer is written")
		}
		first, second := p.Next(), p.Next()
		if first.Kind == codec.Response {
			first, second = second, first
		}
		if first.Kind != codec.Ack || first.ID != bye.ID || second.Kind != codec.Response || second.ID != work.ID {
			t.Errorf("%+v, %+v", first, second)
		}
		p.Expect(codec.Response, bye.ID)
		if !hooked.Load() {
			t.Error("the hook does not run")
		}
		p.Close()
		if err := <-done; err != nil {
			t.Error("serve:", err)
		}
	})
}

func TestGoodbyeDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(sdk.WithDrain(time.Second), sdk.WithMaxConcurrent(1))
		causes := make(chan error, 1)
		s.HandleRaw("forever", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil, context.Cause(ctx)
		})
		p, done := bubble(t, t.Context(), s)
		one, two := p.Request("forever", nil), p.Request("forever", nil)
		p.Send(one, two)
		p.Expect(codec.Ack, one.ID)
		p.Expect(codec.Ack, two.ID)
		start := time.Now()
		bye := p.Request(native.MethodShutdown, nil)
		p.Send(bye)
		p.Expect(codec.Ack, bye.ID)
		p.Expect(codec.Response, one.ID)
		// The one that waited for its turn is not begun any more.
		if m := p.Expect(codec.Response, two.ID); m.Err == nil || m.Err.Name != codec.NameShuttingDown {
			t.Error(m.Err)
		}
		p.Expect(codec.Response, bye.ID)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		if cause := <-causes; cause != sdk.ErrShuttingDown {
			t.Error(cause)
		}
		p.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestEndOfContextIsGraceful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.HandleRaw("work", func(context.Context, codec.Raw) (codec.Raw, error) {
			<-time.After(time.Second)
			return nil, nil
		})
		hooked := false
		s.OnShutdown(func(context.Context) error { hooked = true; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		p, done := bubble(t, ctx, s)
		work := p.Request("work", nil)
		p.Send(work)
		p.Expect(codec.Ack, work.ID)
		cancel()
		p.Expect(codec.Response, work.ID)
		if err := p.End(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil || !hooked {
			t.Error("serve:", err, hooked)
		}
	})
}

func TestLossOfThePeerEndsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		causes := make(chan error, 3)
		began := make(chan struct{}, 3)
		wait := func(ctx context.Context) {
			began <- struct{}{}
			<-ctx.Done()
			causes <- context.Cause(ctx)
		}
		s.HandleRaw("wait", func(ctx context.Context, _ codec.Raw) (codec.Raw, error) {
			wait(ctx)
			return nil, nil
		})
		sdk.OnNotify(s, "wait", func(ctx context.Context, _ any) error { wait(ctx); return nil })
		s.OnShutdown(func(context.Context) error { causes <- nil; return nil })
		p, done := bubble(t, t.Context(), s)
		p.Send(p.Request("wait", nil), p.Notification("wait", nil), p.Notification("wait", nil))
		p.Expect(codec.Ack, p.Last)
		<-began
		<-began
		p.Close()
		for _, want := range []error{sdk.ErrPeerGone, sdk.ErrPeerGone, nil} {
			if got := <-causes; got != want {
				t.Errorf("cause %v, want %v", got, want)
			}
		}
		if err := <-done; !errors.Is(err, sdk.ErrPeerGone) {
			t.Error("serve:", err)
		}
	})
}

func TestStuckHandlersAreLeftBehind(t *testing.T) {
	for _, where := range []string{"handler", "inline", "note", "hook"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(sdk.WithDrain(time.Second))
				stuck := make(chan struct{})
				defer close(stuck)
				began := make(chan struct{}, 1)
				hold := func() { began <- struct{}{}; <-stuck }
				s.HandleRaw("handler", func(context.Context, codec.Raw) (codec.Raw, error) { hold(); return nil, nil })
				s.HandleRaw("inline", func(context.Context, codec.Raw) (codec.Raw, error) { hold(); return nil, nil }, sdk.Inline())
				sdk.OnNotify(s, "note", func(context.Context, any) error { hold(); return nil })
				ctx, cancel := context.WithCancel(t.Context())
				p, done := bubble(t, ctx, s)
				switch where {
				case "hook":
					s.OnShutdown(func(context.Context) error { hold(); return nil })
				case "note":
					p.Send(p.Notification(where, nil))
				default:
					p.Send(p.Request(where, nil))
				}
				ended := make(chan error, 1)
				go func() { ended <- p.End() }()
				if where != "hook" {
					<-began
				}
				start := time.Now()
				cancel()
				if err := <-done; !errors.Is(err, sdk.ErrStuck) {
					t.Error("serve:", err)
				}
				if took := time.Since(start); took > 4*time.Second {
					t.Errorf("took %v", took)
				}
				if err := <-ended; err != nil {
					t.Error("stream:", err)
				}
			})
		})
	}
}

func TestShutdownFunctionsThatFailAreLogged(t *testing.T) {
	var log strings.Builder
	s := newServer(sdk.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	s.OnShutdown(func(context.Context) error { return errors.New("hook failed") })
	s.OnShutdown(func(context.Context) error { panic("hook panicked") })
	mine, theirs := counterpart.Pair(t)
	done := counterpart.Serve(context.Background(), s, theirs)
	counterpart.Open(t, mine).Goodbye()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"hook failed", "hook panicked"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %q: %s", want, log.String())
		}
	}
}

// A supervisor that does not read stops the host's senders, not its memory,
// and does not keep the host from ending.
func TestSlowReaderStopsSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 64 << 10
		s := newServer(sdk.WithOutgoing(limit))
		p, done := bubble(t, t.Context(), s)
		item := strings.Repeat("x", 1<<10)
		sent := 0
		flood := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for {
				if err := s.Notify(ctx, "flood", item); err != nil {
					flood <- err
					return
				}
				sent++
			}
		}()
		synctest.Wait() // the sender waits: a pipe holds nothing
		if n := sent * len(item); n < limit || n > 3*limit {
			t.Errorf("%d bytes were taken, the limit is %d", n, limit)
		}
		cancel()
		if err := <-flood; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// All that was taken arrives once the supervisor reads again.
		for range sent {
			if m := p.Next(); m.Method != "flood" {
				t.Fatalf("%v %q", m.Kind, m.Method)
			}
		}
		p.Goodbye()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestEndWhilePeerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(sdk.WithOutgoing(1<<10), sdk.WithDrain(time.Second))
		s.HandleRaw("echo", echo)
		ctx, cancel := context.WithCancel(t.Context())
		p, done := bubble(t, ctx, s)
		var batch []codec.Message
		for range 5 {
			batch = append(batch, p.Request("echo", strings.Repeat("x", 1<<10)))
		}
		offered := p.Offer(append(batch, p.Request(native.MethodShutdown, nil))...)
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		<-offered
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestHandshake(t *testing.T) {
	hello := codec.Hello{Supervisor: "sup", Version: "2", Host: "h", Life: 3, Init: map[string]any{"level": 5}}
	t.Run("hello", func(t *testing.T) {
		s := newServer()
		var got sdk.Hello
		var init struct {
			Level int `msgpack:"level"`
		}
		s.OnInitialize(func(ctx context.Context, h sdk.Hello) error {
			got = h
			if err := s.Call(ctx, "m", nil, nil); err != sdk.ErrInline {
				t.Error("call before the handshake:", err)
			}
			return h.Decode(&init)
		})
		mine, theirs := counterpart.Pair(t)
		done := counterpart.Serve(context.Background(), s, theirs)
		p := counterpart.New(t, mine)
		p.Handshake(hello)
		<-s.Ready()
		if p.Host != (codec.Peer{Name: "test", Version: "1", Caps: codec.CapAll}) {
			t.Errorf("%+v", p.Host)
		}
		if got.Supervisor != "sup" || got.Version != "2" || got.Host != "h" || got.Life != 3 || got.Caps != codec.CapAll || init.Level != 5 {
			t.Errorf("%+v, %+v", got, init)
		}
		p.Goodbye()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := (sdk.Hello{}).Decode(&init); err != nil || init.Level != 5 {
			t.Error("no init:", err, init)
		}
	})
	for name, fn := range map[string]func(context.Context, sdk.Hello) error{
		"refused":  func(context.Context, sdk.Hello) error { return &codec.Error{Name: "Refused"} },
		"panicked": func(context.Context, sdk.Hello) error { panic("Refused") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.OnInitialize(fn)
			mine, theirs := counterpart.Pair(t)
			done := counterpart.Serve(context.Background(), s, theirs)
			p := counterpart.New(t, mine)
			if err := p.TryHandshake(hello); err == nil || !strings.Contains(err.Error(), "Refused") {
				t.Error("supervisor:", err)
			}
			if err := <-done; err == nil || !strings.Contains(err.Error(), "Refused") {
				t.Error("serve:", err)
			}
		})
	}
	for name, tt := range map[string]struct {
		first codec.Message
		want  error
	}{
		"early":   {codec.Message{Kind: codec.Request, ID: 1, Method: "echo"}, codec.ErrEarly},
		"version": {codec.Message{Kind: codec.Request, ID: 1, Method: "initialize", Params: codec.Raw("\x81\xa8protocol\x02")}, codec.ErrVersion},
	} {
		t.Run(name, func(t *testing.T) {
			mine, theirs := counterpart.Pair(t)
			done := counterpart.Serve(context.Background(), newServer(), theirs)
			p := counterpart.New(t, mine)
			p.Send(tt.first)
			if err := <-done; !errors.Is(err, tt.want) {
				t.Errorf("serve: %v, want %v", err, tt.want)
			}
			if err := p.End(); err != nil {
				t.Error(err)
			}
		})
	}
}
