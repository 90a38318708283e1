package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/link/linktest"
)

// thinRef is fakeRef with rules.
func thinRef(rules ...throttle.Rule) *Ref {
	ref := fakeRef()
	spec := ref.spec
	spec.Throttle = rules
	out := newRef(ref.world, "g", spec)
	out.inbox.ended = true
	return out
}

var changes = throttle.Rule{Method: "change", Every: 16 * time.Millisecond, Key: "uri"}

func change(uri string, n int) map[string]any { return map[string]any{"uri": uri, "n": n} }

// said is what a host has been told so far, in short: change a1.
func said(t testing.TB, ref *Ref, w *linktest.Wire) string {
	t.Helper()
	synctest.Wait()
	var out []string
	for _, m := range w.Written(t) {
		switch m.Kind {
		case codec.Request:
			out = append(out, "("+m.Method+")")
		case codec.Notification:
			var v struct {
				URI string `msgpack:"uri"`
				N   int    `msgpack:"n"`
			}
			if err := ref.spec.Protocol.Unmarshal(m.Params, &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s%d", m.Method, v.URI, v.N))
		}
	}
	return strings.Join(out, ", ")
}

func tellAll(t testing.TB, ref *Ref, method, uri string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := ref.Notify(t.Context(), method, change(uri, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thinRef(changes)
		c, w := fakeConn(t, ref)
		ref.conn.Store(c)
		expect := func(what, want string) {
			t.Helper()
			if got := said(t, ref, w); got != want {
				t.Fatalf("%s: %s\nwant %s", what, got, want)
			}
		}
		so := "change a1"
		tellAll(t, ref, "change", "a", 1, 100)
		expect("the first at once", so)
		time.Sleep(15 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
		expect("before the interval is over", so)
		time.Sleep(time.Millisecond) //nolint:forbidigo // in a synctest bubble
		so += ", change a100"
		expect("then the last", so)
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		expect("and no more", so)

		tellAll(t, ref, "change", "a", 101, 103)
		tellAll(t, ref, "change", "b", 1, 2)
		tellAll(t, ref, "save", "c", 1, 1)
		so += ", change a101, change b1, save c1"
		expect("another key holds nothing up", so)
		tellAll(t, ref, "save", "a", 104, 104)
		so += ", change a103, save a104"
		expect("nothing overtakes what is held of its key", so)
		if _, err := ref.Go(t.Context(), "hover", change("x", 0)); err != nil {
			t.Fatal(err)
		}
		so += ", (hover)"
		expect("a request about something else", so)
		if _, err := ref.Go(t.Context(), "hover", change("b", 0)); err != nil {
			t.Fatal(err)
		}
		so += ", change b2, (hover)"
		expect("a request about what has changed", so)
		if _, err := ref.Go(t.Context(), "change", change("b", 3)); err != nil {
			t.Fatal(err)
		}
		so += ", (change)"
		expect("a request is never held", so)

		tellAll(t, ref, "change", "a", 105, 106)
		st := ref.Status().Throttle
		want := ThrottleStatus{Method: "change", Every: 0.016, Key: "uri", Sent: 6, Coalesced: 100, Held: 1}
		if len(st) != 1 || st[0] != want {
			t.Errorf("status: %+v, want %+v", st, want)
		}
		ref.thin.drain(c)
		so += ", change a106"
		expect("before the goodbye", so)
		tellAll(t, ref, "change", "a", 107, 108)
		so += ", change a107, change a108"
		expect("nothing is held behind it", so)
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		expect("in the end", so)
		for _, q := range c.close(ErrStopped) {
			q.Settle(nil, ErrStopped)
		}
	})
}

// A crash drops what was held, and the next life has nothing to do with it.
func TestThrottleOverLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thinRef(changes)
		c, w := fakeConn(t, ref)
		ref.conn.Store(c)
		tellAll(t, ref, "change", "a", 1, 3)
		tellAll(t, ref, "change", "b", 1, 3)
		c.close(ErrCrashed)
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
		if got := said(t, ref, w); got != "change a1, change b1" {
			t.Errorf("the first life was told %s", got)
		}
		next, nw := fakeConn(t, ref)
		ref.conn.Store(next)
		tellAll(t, ref, "change", "a", 4, 5)
		c.close(ErrCrashed)     // again, by whoever is late
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
		if got := said(t, ref, nw); got != "change a4, change a5" {
			t.Errorf("the second life was told %s", got)
		}
		want := ThrottleStatus{Method: "change", Every: 0.016, Key: "uri", Sent: 4, Coalesced: 2, Dropped: 2}
		if st := ref.Status().Throttle; len(st) != 1 || st[0] != want {
			t.Errorf("status: %+v, want %+v", st, want)
		}
		if next.close(ErrStopped); ref.thin.timer == nil {
			t.Error("nothing was held")
		}
	})
}

// Whoever tells a host something that does not read waits, with rules as without.
func TestThrottleWaitsForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thinRef(changes)
		c, w := fakeConn(t, ref)
		ref.conn.Store(c)
		w.Lock()
		w.Room, w.Gate = 0, make(chan struct{})
		w.Unlock()
		large := codec.Message{Kind: codec.Notification, Method: "large", Params: make(codec.Raw, link.Limit)}
		large.Params[0] = 0xc6 // a bin
		large.Params[1], large.Params[2], large.Params[3], large.Params[4] = byte((link.Limit-5)>>24), byte((link.Limit-5)>>16&0xff), byte((link.Limit-5)>>8&0xff), byte((link.Limit-5)&0xff)
		for range 2 { // one is being written
			if _, err := c.Put(&large, link.Limit); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan error, 1)
		go func() { told <- ref.Notify(ctx, "change", change("a", 1)) }()
		synctest.Wait()
		select {
		case err := <-told:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		cancel()
		if err := <-told; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := (&Line{c}).Notify("change", nil); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		go func() { told <- ref.Notify(t.Context(), "change", change("a", 2)) }()
		synctest.Wait()
		close(w.Gate)
		if err := <-told; err != nil {
			t.Error(err)
		}
		if got := ref.Status().Throttle[0]; got.Sent != 1 || got.Coalesced != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Params that the caller changes afterwards are sent as they were.
func TestThrottleKeepsParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thinRef(changes)
		c, w := fakeConn(t, ref)
		ref.conn.Store(c)
		tellAll(t, ref, "change", "a", 1, 1)
		raw, err := ref.spec.Protocol.Marshal(change("a", 2))
		if err != nil {
			t.Fatal(err)
		}
		if err := ref.Notify(t.Context(), "change", raw); err != nil {
			t.Fatal(err)
		}
		clear(raw)
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
		if got := said(t, ref, w); got != "change a1, change a2" {
			t.Error(got)
		}
		c.close(ErrStopped)
	})
}

// Of what each one counts, none is left out, whatever the rules are.
func TestIncrementalChangesAreNotThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := fakeRef()
		spec := ref.spec
		spec.Protocol = jsonrpc.Headers(jsonrpc.Options{})
		spec.Throttle = []throttle.Rule{{Method: "textDocument/didChange", Every: time.Second, Key: "uri"}}
		ref = newRef(ref.world, "g", spec)
		w := linktest.NewWire()
		c := opened(t, ref, spec.Protocol.Open(codec.Limits{}), w, 0)
		ref.conn.Store(c)
		const (
			whole  = `{"textDocument":{"uri":"a","version":%d},"contentChanges":[{"text":"x"}]}`
			ranged = `{"textDocument":{"uri":"a","version":%d},"contentChanges":[{"range":{},"text":"x"}]}`
			empty  = `{"textDocument":{"uri":"a","version":%d},"contentChanges":[]}`
		)
		for i, form := range []string{whole, whole, ranged, ranged, whole, empty, whole, whole} {
			if err := ref.Notify(t.Context(), "textDocument/didChange", codec.Raw(fmt.Sprintf(form, i+1))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		w.Lock()
		got := w.Got.String()
		w.Unlock()
		var versions []string
		for _, part := range strings.Split(got, `"version":`)[1:] {
			versions = append(versions, part[:1])
		}
		if s := strings.Join(versions, ""); s != "1234568" {
			t.Errorf("versions %s", s)
		}
		c.close(ErrStopped)
	})
}

func TestThrottleRulesAreValidated(t *testing.T) {
	spec := HostSpec{Name: "h", Command: []string{"x"}, Protocol: native.New(), Throttle: []throttle.Rule{changes, changes}}
	if err := spec.WithDefaults().Validate(); !errors.Is(err, ErrSpec) || !errors.Is(err, throttle.ErrRule) {
		t.Error(err)
	}
	spec.Throttle, spec.Protocol = spec.Throttle[:1], nil
	if err := spec.WithDefaults().Validate(); !errors.Is(err, ErrSpec) {
		t.Error(err)
	}
	spec.Protocol = native.New()
	if err := spec.WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func BenchmarkNotifyThrottled(b *testing.B) {
	for name, rules := range map[string][]throttle.Rule{"none": nil, "another": {{Method: "x", Every: time.Hour}}, "held": {changes}} {
		b.Run(name, func(b *testing.B) {
			ref := fakeRef()
			spec := ref.spec
			spec.Throttle = rules
			ref = newRef(&World{System: ref.world.System, Log: hclog.NewNullLogger(), Journal: NewJournal(nil)}, "g", spec)
			c, _ := fakeConn(b, ref)
			ref.conn.Store(c)
			params, err := spec.Protocol.Marshal(change("a", 1))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := ref.Notify(b.Context(), "change", params); err != nil {
					b.Fatal(err)
				}
			}
			c.close(ErrStopped)
		})
	}
}
