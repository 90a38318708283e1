package sdk_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// Handlers get half of the time, then their contexts end; Deactivate comes after
// them, and what was begun with Go ends in between.
func TestDeactivationWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		begin := time.Now()
		s := newServer()
		m := noted(&d, "acme.fmt")
		m.Activate = func(_ context.Context, a *sdk.Activation) error {
			a.Go(func(ctx context.Context) {
				<-ctx.Done()
				d.add("beside: %v", context.Cause(ctx))
			})
			return nil
		}
		x, runs := sdk.Extend(s, m), make(chan struct{})
		sdk.Handle(x, "fmt.wait", func(ctx context.Context, in any) (any, error) {
			close(runs)
			<-ctx.Done()
			synctest.Wait() // so that the other has written
			d.add("after %v: %v", time.Since(begin), context.Cause(ctx))
			return nil, context.Cause(ctx)
		})
		p := inBubble(t, s)
		activate(t, p, "acme.fmt", "*")
		p.Send(p.Request("fmt.wait", nil))
		call := p.Last
		p.Expect(codec.Ack, call)
		<-runs // the acknowledgement says only that it was handed on
		p.Send(p.Request(native.MethodDeactivate, native.Deactivate{ID: "acme.fmt", TimeoutMS: 8000}))
		end := p.Last
		p.Expect(codec.Ack, end)
		refused(t, p.Answer(call).Err, "the extension is deactivated")
		if m := p.Answer(end); m.Err != nil {
			t.Error(m.Err)
		}
		d.is(t, "beside: the extension is deactivated", "after 4s: the extension is deactivated", "acme.fmt off")
	})
}

func TestDeactivationHangs(t *testing.T) {
	for what, want := range map[string]string{
		"deactivate": "its Deactivate does not return: context deadline exceeded",
		"handler":    "its handlers do not return: context deadline exceeded",
		"beside":     "what it runs with Go does not return: context deadline exceeded",
		"activate":   "its Activate does not return: context deadline exceeded",
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, release := time.Now(), make(chan struct{})
				hang := func(here string) {
					if here == what {
						<-release
					}
				}
				s := newServer()
				x := sdk.Extend(s, sdk.Manifest{
					ID: "acme.fmt",
					Activate: func(_ context.Context, a *sdk.Activation) error {
						a.Go(func(context.Context) { hang("beside") })
						hang("activate")
						return nil
					},
					Deactivate: func(context.Context) error { hang("deactivate"); return nil },
				})
				sdk.Handle(x, "fmt.run", func(context.Context, any) (any, error) { hang("handler"); return nil, nil })
				p := inBubble(t, s)
				open := map[uint32]bool{}
				p.Send(p.Request(native.MethodActivate, native.Activate{ID: "acme.fmt"}))
				open[p.Last] = true
				if what != "activate" {
					p.Answer(p.Last)
					delete(open, p.Last)
					p.Send(p.Request("fmt.run", nil))
					open[p.Last] = true
				}
				if what == "handler" || what == "activate" {
					p.Expect(codec.Ack, p.Last)
					synctest.Wait() // it has begun
				} else {
					p.Answer(p.Last)
					delete(open, p.Last)
				}
				m := p.Call(native.MethodDeactivate, native.Deactivate{ID: "acme.fmt", TimeoutMS: 5000})
				if took := time.Since(begin); m.Err == nil || m.Err.Message != want || took != 5*time.Second {
					t.Errorf("%v, after %v", m.Err, took)
				}
				close(release)
				for id := range open {
					p.Answer(id)
				}
				synctest.Wait()
			})
		})
	}
}

// What belongs to the start is active by itself, and all end with the host, the
// last first and before anything else.
func TestUnitsStartAndEnd(t *testing.T) {
	var d diary
	s := newServer(sdk.WithLogger(slog.New(slog.DiscardHandler)))
	up := make(chan struct{})
	late := noted(&d, "acme.late")
	late.Events = []string{"onStartupFinished"}
	inner := late.Activate
	late.Activate = func(ctx context.Context, a *sdk.Activation) error {
		defer close(up)
		return inner(ctx, a)
	}
	early := noted(&d, "acme.early", "acme.base")
	early.Events = []string{"*"}
	bad := noted(&d, "acme.bad", "acme.nobody") // is logged
	bad.Events = []string{"*"}
	for _, m := range []sdk.Manifest{late, bad, early, noted(&d, "acme.base")} {
		sdk.Extend(s, m)
	}
	s.OnShutdown(func(context.Context) error {
		d.add("the host ends")
		return nil
	})
	mine, theirs := counterpart.Pair(t)
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.Open(t, mine)
	<-up
	p.Goodbye()
	if err := <-done; err != nil {
		t.Error(err)
	}
	d.is(t, "acme.base on for *, startup true", "acme.early on for *, startup true", "acme.late on for onStartupFinished, startup true",
		"acme.late off", "acme.early off", "acme.base off", "the host ends")
}
