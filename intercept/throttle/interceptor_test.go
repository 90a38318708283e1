package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/link/linktest"
	"github.com/hostsup/hostsup/supervisor"
)

// thinned is a host with rules, whose lives are over wires of the test's.
type thinned struct {
	*actors.Ref
	throttle *actors.Interceptor
	life     uint64
}

func thin(p codec.Protocol, rules ...throttle.Rule) *thinned {
	log := hclog.NewNullLogger()
	h := &thinned{}
	h.Ref = actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: p}, Interceptors: func(host *actors.Ref) []*actors.Interceptor {
		if h.throttle = throttle.Interceptor(rules, host); h.throttle == nil {
			return nil
		}
		return []*actors.Interceptor{h.throttle}
	}})
	return h
}

// lives begins the next life.
func (h *thinned) lives(t testing.TB) (line *actors.Line, end func(error), w *linktest.Wire) {
	t.Helper()
	w = linktest.NewWire()
	session := h.Spec().Protocol.Open(codec.Limits{})
	if h.Spec().Protocol.Name() == "hostsup" {
		linktest.Shake(t, session)
	}
	h.life++
	line, end = h.Connect(h.life, session, w, linktest.Shaken(codec.CapAll))
	<-w.Idle
	return line, end, w
}

var changes = throttle.Rule{Method: "change", Every: 16 * time.Millisecond, Key: "uri"}

func change(uri string, n int) map[string]any { return map[string]any{"uri": uri, "n": n} }

// said is what a host has been told so far, in short: change a1.
func said(t testing.TB, ref *thinned, w *linktest.Wire) string {
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
			if err := ref.Spec().Protocol.Unmarshal(m.Params, &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s%d", m.Method, v.URI, v.N))
		}
	}
	return strings.Join(out, ", ")
}

func tellAll(t testing.TB, ref *thinned, method, uri string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := ref.Notify(t.Context(), method, change(uri, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thin(native.New(), changes)
		line, end, w := ref.lives(t)
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
		want := record.ThrottleStatus{Method: "change", Every: 0.016, Key: "uri", Sent: 6, Coalesced: 100, Held: 1}
		if len(st) != 1 || st[0] != want {
			t.Errorf("status: %+v, want %+v", st, want)
		}
		ref.throttle.Leaving(line)
		so += ", change a106"
		expect("before the goodbye", so)
		tellAll(t, ref, "change", "a", 107, 108)
		so += ", change a107, change a108"
		expect("nothing is held behind it", so)
		time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		expect("in the end", so)
		end(actors.ErrStopped)
	})
}

// A crash drops what was held, and the next life has nothing to do with it.
func TestThrottleOverLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thin(native.New(), changes)
		_, end, w := ref.lives(t)
		tellAll(t, ref, "change", "a", 1, 3)
		tellAll(t, ref, "change", "b", 1, 3)
		synctest.Wait()
		end(actors.ErrCrashed)
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
		if got := said(t, ref, w); got != "change a1, change b1" {
			t.Errorf("the first life was told %s", got)
		}
		_, end, nw := ref.lives(t)
		tellAll(t, ref, "change", "a", 4, 5)
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
		if got := said(t, ref, nw); got != "change a4, change a5" {
			t.Errorf("the second life was told %s", got)
		}
		want := record.ThrottleStatus{Method: "change", Every: 0.016, Key: "uri", Sent: 4, Coalesced: 2, Dropped: 2}
		if st := ref.Status().Throttle; len(st) != 1 || st[0] != want {
			t.Errorf("status: %+v, want %+v", st, want)
		}
		end(actors.ErrStopped)
	})
}

// Whoever tells a host something that does not read waits, with rules as without.
func TestThrottleWaitsForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thin(native.New(), changes)
		line, end, w := ref.lives(t)
		defer end(actors.ErrStopped)
		w.Lock()
		w.Room, w.Gate = 0, make(chan struct{})
		w.Unlock()
		large := codec.Message{Kind: codec.Notification, Method: "large", Params: make(codec.Raw, link.Limit)}
		large.Params[0] = 0xc6 // a bin
		large.Params[1], large.Params[2], large.Params[3], large.Params[4] = byte((link.Limit-5)>>24), byte((link.Limit-5)>>16&0xff), byte((link.Limit-5)>>8&0xff), byte((link.Limit-5)&0xff)
		for range 2 { // one is being written
			if _, err := line.Put(&large, link.Limit); err != nil {
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
		if _, err := line.Notify("change", nil); !errors.Is(err, actors.ErrBusy) {
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
		ref := thin(native.New(), changes)
		_, end, w := ref.lives(t)
		tellAll(t, ref, "change", "a", 1, 1)
		raw, err := ref.Spec().Protocol.Marshal(change("a", 2))
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
		end(actors.ErrStopped)
	})
}

// Of what each one counts, none is left out, whatever the rules are.
func TestIncrementalChangesAreNotThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := thin(jsonrpc.Headers(jsonrpc.Options{}), throttle.Rule{Method: "textDocument/didChange", Every: time.Second, Key: "uri"})
		_, end, w := ref.lives(t)
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
		end(actors.ErrStopped)
	})
}

func TestThrottleRulesAreValidated(t *testing.T) {
	spec := supervisor.HostSpec{Name: "h", Command: []string{"x"}, Protocol: native.New(), Throttle: []throttle.Rule{changes, changes}}
	if err := spec.WithDefaults().Validate(); !errors.Is(err, supervisor.ErrSpec) || !errors.Is(err, throttle.ErrRule) {
		t.Error(err)
	}
	spec.Throttle, spec.Protocol = spec.Throttle[:1], nil
	if err := spec.WithDefaults().Validate(); !errors.Is(err, supervisor.ErrSpec) {
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
			ref := thin(native.New(), rules...)
			_, end, _ := ref.lives(b)
			params, err := ref.Spec().Protocol.Marshal(change("a", 1))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := ref.Notify(b.Context(), "change", params); err != nil {
					b.Fatal(err)
				}
			}
			end(actors.ErrStopped)
		})
	}
}
