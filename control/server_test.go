package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// one serves a supervisor with one host "ts" and returns a client of it.
func one(t *testing.T, change func(*controltest.Supervisor, *controltest.Host)) *control.Client {
	t.Helper()
	c := control.NewClient(serveOne(t, change))
	t.Cleanup(c.Close)
	return c
}

// serveOne returns the path of a control socket.
func serveOne(t *testing.T, change func(*controltest.Supervisor, *controltest.Host)) string {
	t.Helper()
	h := controltest.NewHost(record.HostStatus{Name: "ts", Group: "editor", State: lifecycle.Running, Life: 1})
	h.Enc = native.New()
	sup := &controltest.Supervisor{Members: []*controltest.Host{h}}
	if change != nil {
		change(sup, h)
	}
	return controltest.Serve(t, sup, control.Options{Version: "v1.2.3", MaxBody: 1 << 20})
}

func class(err error) control.Class {
	var e *control.Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// within fails the test unless done is closed in time.
func within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not happen", what)
	}
}

func TestCall(t *testing.T) {
	var seen control.Call
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnCall = func(_ context.Context, q control.Call) (codec.Raw, error) {
			seen = q
			return q.Params, nil
		}
	})
	tests := []struct{ params, want string }{
		{"", "null"},
		{"null", "null"},
		{`{"a":[1,-2.5,"é<&>",true,null],"b":{}}`, `{"a":[1,-2.5,"é<&>",true,null],"b":{}}`},
		{"18446744073709551615", "18446744073709551615"},
		{"-9223372036854775808", "-9223372036854775808"},
	}
	for _, tt := range tests {
		got, err := c.Call(t.Context(), control.Request{Host: "ts", Method: "echo", Params: json.RawMessage(tt.params)})
		if err != nil || string(got) != tt.want {
			t.Errorf("echo %s: %s, %v", tt.params, got, err)
		}
	}
	_, err := c.Call(t.Context(), control.Request{Host: "ts", Method: "m", Timeout: 1500 * time.Millisecond, Idempotent: true})
	if err != nil || seen.Method != "m" || seen.Timeout != 1500*time.Millisecond || !seen.Idempotent {
		t.Errorf("got %+v, %v", seen, err)
	}
	if err := c.Notify(t.Context(), control.Request{Host: "ts", Method: "n"}); err != nil || seen.Method != "n" {
		t.Errorf("notify: %+v, %v", seen, err)
	}
}

func TestNoSuchHostListsExistingHosts(t *testing.T) {
	c := one(t, nil)
	calls := map[string]func() error{
		"status":  func() error { _, err := c.Status(t.Context(), "ts", "x/../y"); return err },
		"start":   func() error { _, err := c.Start(t.Context(), "x/../y"); return err },
		"crashes": func() error { _, err := c.Crashes(t.Context(), "x/../y"); return err },
		"call":    func() error { _, err := c.Call(t.Context(), control.Request{Host: "x/../y", Method: "m"}); return err },
		"logs": func() error {
			for _, err := range c.Logs(t.Context(), "x/../y", 1, false) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		var e *control.Error
		hosts := []string{"ts"}
		if name == "status" {
			hosts = append(hosts, "editor") // which takes groups too
		}
		if err := call(); !errors.As(err, &e) || e.Class != control.NoSuchHost || e.Host != "x/../y" || !slices.Equal(e.Hosts, hosts) {
			t.Errorf("%s: %#v", name, e)
		}
	}
}

// A supervisor that has ended has no hosts; the error must not claim that none were
// configured.
func TestEnded(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	c := one(t, func(s *controltest.Supervisor, _ *controltest.Host) { s.Members, s.Ended = nil, ended })
	if _, err := c.Status(t.Context()); class(err) != control.Closed {
		t.Errorf("status: %v", err)
	}
	if _, err := c.Start(t.Context(), "ts"); class(err) != control.Closed {
		t.Errorf("start: %v", err)
	}
}

func TestNoProtocol(t *testing.T) {
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) { h.Enc = nil })
	_, err := c.Call(t.Context(), control.Request{Host: "ts", Method: "m"})
	if class(err) != control.NoProtocol {
		t.Errorf("got %v", err)
	}
}

func TestStatusOfSomeHosts(t *testing.T) {
	c := one(t, func(s *controltest.Supervisor, _ *controltest.Host) {
		s.Members = append(s.Members, controltest.NewHost(record.HostStatus{Name: "db", Group: "data"}))
		s.Groups = []record.GroupStatus{{Name: "editor", Hosts: []string{"ts"}}, {Name: "data", Hosts: []string{"db"}}}
	})
	all, err := c.Status(t.Context())
	if err != nil || len(all.Hosts) != 2 || len(all.Groups) != 2 {
		t.Errorf("all: %+v, %v", all, err)
	}
	some, err := c.Status(t.Context(), "db")
	if err != nil || len(some.Hosts) != 1 || some.Hosts[0].Name != "db" || len(some.Groups) != 1 || some.Groups[0].Name != "data" {
		t.Errorf("some: %+v, %v", some, err)
	}
}

func TestVerbs(t *testing.T) {
	var did []string
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnVerb = func(_ context.Context, verb string) error {
			did = append(did, verb)
			return nil
		}
	})
	ctx := t.Context()
	for _, do := range []func(context.Context, string) (*record.HostStatus, error){c.Stop, c.Start, c.Restart, c.Reset} {
		st, err := do(ctx, "ts")
		if err != nil || st.Name != "ts" {
			t.Errorf("%+v, %v", st, err)
		}
	}
	if _, err := c.Wait(ctx, "ts", 0, lifecycle.Running); err != nil {
		t.Error(err)
	}
	if want := []string{"stop", "start", "restart", "reset", "wait"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
}

// A wait that times out must report the present state of the host.
func TestWaitTimesOut(t *testing.T) {
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		reason := "exit 3"
		h.Set(func(st *record.HostStatus) { st.State, st.Reason = lifecycle.Restarting, &reason })
		h.OnVerb = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	_, err := c.Wait(t.Context(), "ts", 10*time.Millisecond, lifecycle.Running)
	want := `timed out after 10ms: host "ts" is restarting (exit 3)`
	if class(err) != control.TimedOut || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, bad := range [][]lifecycle.State{nil, {"sleeping"}} {
		if _, err := c.Wait(t.Context(), "ts", 0, bad...); class(err) != control.Invalid {
			t.Errorf("wait for %q: %v", bad, err)
		}
	}
}

// Requests that wait for a caller must end when the caller goes away.
func TestCallerGoesAway(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	wait := func(ctx context.Context) error {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}
	c := one(t, func(s *controltest.Supervisor, h *controltest.Host) {
		h.OnVerb = func(ctx context.Context, _ string) error { return wait(ctx) }
		h.OnCall = func(ctx context.Context, _ control.Call) (codec.Raw, error) { return nil, wait(ctx) }
		h.OnStream = func(ctx context.Context, _ control.Call) iter.Seq2[codec.Raw, error] {
			return func(yield func(codec.Raw, error) bool) { yield(nil, wait(ctx)) }
		}
	})
	calls := map[string]func(context.Context) error{
		"start": func(ctx context.Context) error { _, err := c.Start(ctx, "ts"); return err },
		"wait":  func(ctx context.Context) error { _, err := c.Wait(ctx, "ts", 0, lifecycle.Failed); return err },
		"call": func(ctx context.Context) error {
			_, err := c.Call(ctx, control.Request{Host: "ts", Method: "m"})
			return err
		},
		"stream": func(ctx context.Context) error {
			for _, err := range c.Stream(ctx, control.Request{Host: "ts", Method: "m"}) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error, 1)
			go func() { result <- call(ctx) }()
			within(t, started, "the request")
			cancel()
			within(t, ended, "the end of the request")
			if err := <-result; class(err) != control.Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("the caller got %v", err)
			}
		})
	}
}

func TestStream(t *testing.T) {
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.OnStream = func(_ context.Context, q control.Call) iter.Seq2[codec.Raw, error] {
			return func(yield func(codec.Raw, error) bool) {
				for i := range 1000 {
					raw, err := native.New().Marshal(map[string]int{"end": i})
					if err != nil || !yield(raw, err) {
						return
					}
				}
				if q.Method == "bad" {
					yield(nil, &codec.Error{Name: "E", Message: "enough"})
				}
			}
		}
	})
	n := 0
	for item, err := range c.Stream(t.Context(), control.Request{Host: "ts", Method: "good"}) {
		if want := fmt.Sprintf(`{"end":%d}`, n); err != nil || string(item) != want {
			t.Fatalf("item %d: %s, %v", n, item, err)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d items", n)
	}
	var last error
	for _, err := range c.Stream(t.Context(), control.Request{Host: "ts", Method: "bad"}) {
		last = err
	}
	if class(last) != control.HostError || last.Error() != "E: enough" {
		t.Errorf("got %v", last)
	}
}

func TestFollowEvents(t *testing.T) {
	live := make(chan supervisor.Event)
	c := one(t, func(s *controltest.Supervisor, _ *controltest.Host) {
		s.History, s.Live = []supervisor.Event{{Seq: 1, Kind: record.KindSupervisor}}, live
	})
	past := 0
	for _, err := range c.Events(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		past++
	}
	if past != 1 {
		t.Errorf("%d events of history", past)
	}

	next, stop := iter.Pull2(c.Events(t.Context(), true))
	defer stop()
	if ev, err, ok := next(); !ok || err != nil || ev.Seq != 1 {
		t.Fatalf("%+v, %v", ev, err)
	}
	for _, want := range []supervisor.Event{{Seq: 2, Kind: record.KindSlow}, {Lost: 7}, {Seq: 10, Kind: record.KindSlow}} {
		live <- want // each is seen before the next is sent
		if ev, err, ok := next(); !ok || err != nil || ev.Seq != want.Seq || ev.Lost != want.Lost {
			t.Fatalf("%+v, %v, want %+v", ev, err, want)
		}
	}
	close(live)
	if ev, err, ok := next(); ok {
		t.Errorf("after the end: %+v, %v", ev, err)
	}
}

func TestFollowLogs(t *testing.T) {
	live := make(chan capture.Line)
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) {
		h.Output = []capture.Line{{Seq: 1, Stream: capture.Stdout, Text: "a"}, {Seq: 2, Stream: capture.Stderr, Text: "b"}}
		h.Live = live
	})
	next, stop := iter.Pull2(c.Logs(t.Context(), "ts", 1, true))
	defer stop()
	if ln, err, _ := next(); err != nil || ln.Text != "b" || ln.Stream != capture.Stderr {
		t.Errorf("%+v, %v", ln, err)
	}
	live <- capture.Line{Seq: 9, Stream: capture.Stdout, Text: "c", Lost: 6}
	if ln, err, _ := next(); err != nil || ln.Text != "c" || ln.Lost != 6 {
		t.Errorf("%+v, %v", ln, err)
	}
	close(live)
	if _, err, ok := next(); ok {
		t.Errorf("after the end: %v", err)
	}
	for _, n := range []int{-1, 2_000_000} {
		for _, err := range c.Logs(t.Context(), "ts", n, false) {
			if class(err) != control.Invalid {
				t.Errorf("n = %d: %v", n, err)
			}
		}
	}
}

// Requests that Client never makes must get errors in the same form.
func TestRawRequests(t *testing.T) {
	socket := serveOne(t, nil)
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer web.CloseIdleConnections()
	tests := []struct {
		name, method, path, body string
		status                   int
		class                    control.Class
	}{
		{"no such path", "GET", "/", "", 404, control.Unknown},
		{"another version", "GET", "/v2/status", "", 404, control.Unknown},
		{"wrong method", "GET", "/v1/hosts/ts/start", "", 404, control.Unknown},
		{"no body", "POST", "/v1/hosts/ts/call", "", 400, control.Invalid},
		{"not JSON", "POST", "/v1/hosts/ts/call", "{", 400, control.Invalid},
		{"no method", "POST", "/v1/hosts/ts/call", "{}", 400, control.Invalid},
		{"unknown field", "POST", "/v1/hosts/ts/call", `{"method":"m","retries":3}`, 400, control.Invalid},
		{"two documents", "POST", "/v1/hosts/ts/call", `{"method":"m"}{}`, 400, control.Invalid},
		{"negative time-out", "POST", "/v1/hosts/ts/call", `{"method":"m","timeout_seconds":-1}`, 400, control.Invalid},
		{"endless time-out", "POST", "/v1/hosts/ts/wait", `{"states":["failed"],"timeout_seconds":1e300}`, 400, control.Invalid},
		{"too large", "POST", "/v1/hosts/ts/call", `{"method":"` + strings.Repeat("m", 2<<20) + `"}`, 413, control.TooLarge},
		{"bad flag", "GET", "/v1/events?follow=perhaps", "", 400, control.Invalid},
		{"bad number", "GET", "/v1/hosts/ts/logs?n=many", "", 400, control.Invalid},
		{"no such crash", "GET", "/v1/crashes/x", "", 404, control.NoSuchCrash},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://h"+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var got struct{ Error control.Error }
			if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || got.Error.Class != tt.class || got.Error.Message == "" {
				t.Errorf("%d %+v, want %d %s", res.StatusCode, got.Error, tt.status, tt.class)
			}
			if v := res.Header.Get("Hostsup-Version"); v != "v1.2.3" {
				t.Errorf("version %q", v)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	said := make(chan feed.Message)
	c := one(t, func(_ *controltest.Supervisor, h *controltest.Host) { h.Said = said })
	next, stop := iter.Pull2(c.Messages(t.Context(), "ts"))
	defer stop()
	at := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	go func() {
		said <- feed.Message{Time: at, Host: "ts", Life: 3, Kind: codec.Request, Method: "m", Params: codec.Raw{0x92, 1, 2}, Encoding: mpack.Encoding{}}
		said <- feed.Message{Lost: 4}
		said <- feed.Message{Time: at, Host: "ts", Life: 3, Kind: codec.Notification, Method: "n"}
		close(said)
	}()
	for _, want := range []control.Message{
		{Time: at, Host: "ts", Life: 3, Kind: "request", Method: "m", Params: json.RawMessage("[1,2]")},
		{Lost: 4},
		{Time: at, Host: "ts", Life: 3, Kind: "notification", Method: "n", Params: json.RawMessage("null")},
	} {
		got, err, ok := next()
		if d := cmp.Diff(want, got); err != nil || !ok || d != "" {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	}
	if m, err, ok := next(); ok {
		t.Errorf("after the end: %+v, %v", m, err)
	}
	for _, err := range c.Messages(t.Context(), "nobody") {
		if class(err) != control.NoSuchHost {
			t.Errorf("of nobody: %v", err)
		}
	}
}
