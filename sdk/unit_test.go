package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// diary keeps what has happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) is(t testing.TB, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Error(diff)
	}
	d.lines = nil
}

// noted is a manifest that writes into a diary.
func noted(d *diary, id string, needs ...string) sdk.Manifest {
	return sdk.Manifest{
		ID: id, Version: "1", DependsOn: needs,
		Activate: func(_ context.Context, a *sdk.Activation) error {
			d.add("%s on for %s, startup %t", id, a.Event, a.Startup)
			return nil
		},
		Deactivate: func(context.Context) error {
			d.add("%s off", id)
			return nil
		},
	}
}

func answer(_ context.Context, in any) (any, error) { return in, nil }

// supervised serves s to a supervisor that speaks of extensions.
func supervised(t testing.TB, s *sdk.Server, h codec.Hello) *counterpart.Peer {
	t.Helper()
	mine, theirs := counterpart.Pair(t)
	return opened(t, s, h, mine, theirs)
}

func opened(t testing.TB, s *sdk.Server, h codec.Hello, mine counterpart.Conn, theirs io.ReadWriteCloser) *counterpart.Peer {
	t.Helper()
	done := counterpart.Serve(context.Background(), s, theirs)
	p := counterpart.New(t, mine)
	h.Supervisor, h.Host, h.Life, h.Extended = "test", "h", 1, true
	p.Handshake(h)
	p.LeaveAtEnd(done)
	return p
}

func activate(t testing.TB, p *counterpart.Peer, id, event string) {
	t.Helper()
	m := p.Call(native.MethodActivate, native.Activate{ID: id, Event: event})
	if m.Err != nil {
		t.Fatal(m.Err)
	}
	var done native.Activated
	if err := (mpack.Encoding{}).Unmarshal(m.Result, &done); err != nil || done.TookMS < 0 || done.TookMS > 1e6 {
		t.Errorf("%+v, %v", done, err)
	}
}

func deactivate(t testing.TB, p *counterpart.Peer, id string) *codec.Error {
	t.Helper()
	return p.Call(native.MethodDeactivate, native.Deactivate{ID: id, TimeoutMS: 10_000}).Err
}

func refused(t testing.TB, e *codec.Error, parts ...string) {
	t.Helper()
	if e == nil || e.Name != codec.NameNotActive {
		t.Fatalf("%v, want NotActive", e)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q does not mention %q", e.Message, part)
		}
	}
}

// asked is the next request of the host.
func asked(p *counterpart.Peer) codec.Message {
	for {
		if m := p.Next(); m.Kind != codec.Ack {
			return m
		}
	}
}

func TestUnitsAreAnnounced(t *testing.T) {
	s := newServer()
	x := sdk.Extend(s, sdk.Manifest{ID: "Acme.Fmt", Version: "1.2", Events: []string{"onLanguage:go"}, DependsOn: []string{"acme.base"}})
	sdk.Handle(x, "fmt.run", answer)
	sdk.Stream(x, "fmt.all", func(context.Context, any, func(any) error) error { return nil })
	x.HandleRaw("fmt.raw", echo)
	sdk.Extend(s, sdk.Manifest{ID: "acme.base"})
	sdk.Handle(s, "own", answer)
	var told []string
	s.OnInitialize(func(_ context.Context, h sdk.Hello) error {
		told = h.Extensions
		return nil
	})
	p := supervised(t, s, codec.Hello{Extensions: []string{"acme.base"}})
	list, ok := p.Announced()
	want := []codec.Announced{
		{ID: "Acme.Fmt", Version: "1.2", Events: []string{"onLanguage:go"}, DependsOn: []string{"acme.base"}, Methods: []string{"fmt.all", "fmt.raw", "fmt.run"}},
		{ID: "acme.base", Events: []string{}, DependsOn: []string{}, Methods: []string{}},
	}
	if diff := cmp.Diff(want, list); !ok || diff != "" {
		t.Error(diff)
	}
	if !p.Host.Caps.Has(codec.CapExtensions) || !slices.Equal(told, []string{"acme.base"}) || x.ID() != "Acme.Fmt" {
		t.Errorf("%b, %q", p.Host.Caps, told)
	}
	// A host without extensions does not speak of them.
	if p := supervised(t, newServer(), codec.Hello{}); p.Host.Caps.Has(codec.CapExtensions) {
		t.Errorf("%b", p.Host.Caps)
	}
}

// A call to one that is not active asks the supervisor, and waits; also where
// only one handler may run.
func TestCallNeedsItsUnit(t *testing.T) {
	for name, inline := range map[string][]sdk.HandlerOption{"goroutine": nil, "inline": {sdk.Inline()}} {
		t.Run(name, func(t *testing.T) {
			var d diary
			s := newServer(sdk.WithMaxConcurrent(1))
			x := sdk.Extend(s, noted(&d, "acme.fmt"))
			sdk.Handle(x, "fmt.run", answer, inline...)
			p := supervised(t, s, codec.Hello{})
			p.Send(p.Request("fmt.run", 7))
			call := p.Last
			ask := asked(p)
			var need native.Need
			if err := (mpack.Encoding{}).Unmarshal(ask.Params, &need); err != nil || ask.Method != native.MethodNeed || need != (native.Need{ID: "acme.fmt", Event: "onCommand:fmt.run"}) {
				t.Fatalf("%q %+v, %v", ask.Method, need, err)
			}
			d.is(t)
			activate(t, p, "ACME.fmt", "onCommand:fmt.run")
			p.Send(codec.Message{Kind: codec.Response, ID: ask.ID})
			if m := p.Answer(call); m.Err != nil || string(m.Result) != "\x07" {
				t.Errorf("%v, % x", m.Err, m.Result)
			}
			if m := p.Call("fmt.run", 8); m.Err != nil {
				t.Error(m.Err)
			}
			activate(t, p, "acme.fmt", "again") // it is already
			if err := deactivate(t, p, "acme.fmt"); err != nil {
				t.Error(err)
			}
			if err := deactivate(t, p, "acme.fmt"); err != nil { // likewise
				t.Error(err)
			}
			d.is(t, "acme.fmt on for onCommand:fmt.run, startup false", "acme.fmt off")
			// The supervisor does not want it any more.
			p.Send(p.Request("fmt.run", 9))
			call = p.Last
			ask = asked(p)
			p.Send(codec.Message{Kind: codec.Response, ID: ask.ID, Err: &codec.Error{Name: codec.NameNotActive, Message: "acme.fmt: it is disabled"}})
			refused(t, p.Answer(call).Err, "it is disabled")
			// One that says yes and does nothing is not asked for ever.
			p.Send(p.Request("fmt.run", 9))
			call = p.Last
			for range 3 {
				p.Send(codec.Message{Kind: codec.Response, ID: asked(p).ID})
			}
			refused(t, p.Answer(call).Err, "acme.fmt")
		})
	}
}

func TestUnitsThatAreNotThere(t *testing.T) {
	s := newServer()
	sdk.Extend(s, sdk.Manifest{ID: "acme.fmt"})
	p := supervised(t, s, codec.Hello{})
	for method, in := range map[string]any{native.MethodActivate: native.Activate{ID: "acme.x"}, native.MethodDeactivate: native.Deactivate{ID: "acme.x"}} {
		refused(t, p.Call(method, in).Err, "acme.x: there is no such extension in this host")
		if m := p.Call(method, 7); m.Err == nil || m.Err.Name != codec.NameInvalidParams {
			t.Errorf("%v", m.Err)
		}
	}
	activate(t, p, "acme.fmt", "*") // with nothing to do
	if err := deactivate(t, p, "acme.fmt"); err != nil {
		t.Error(err)
	}
}

func TestActivationFails(t *testing.T) {
	var how string
	var last *sdk.Activation
	s := newServer()
	sdk.Extend(s, sdk.Manifest{
		ID: "acme.fmt",
		Activate: func(_ context.Context, a *sdk.Activation) error {
			last = a
			switch how {
			case "fail":
				return fmt.Errorf("no table: %w", &codec.Error{Name: "Missing", Message: "x.db"})
			case "panic":
				panic("no table")
			case "exit":
				runtime.Goexit()
			}
			return nil
		},
		Deactivate: func(context.Context) error { return errors.New("it cannot be undone") },
	})
	p := supervised(t, s, codec.Hello{})
	for _, want := range []struct{ how, name, message string }{
		{"fail", "Missing", "no table: Missing: x.db"}, {"panic", codec.NamePanic, "no table"}, {"exit", codec.NamePanic, "the handler ended its goroutine"},
	} {
		how = want.how
		m := p.Call(native.MethodActivate, native.Activate{ID: "acme.fmt"})
		if m.Err == nil || m.Err.Name != want.name || m.Err.Message != want.message || (m.Err.Stack != "") != (want.how == "panic") {
			t.Errorf("%s: %+v", want.how, m.Err)
		}
		if context.Cause(last.Context()) != sdk.ErrDeactivated {
			t.Errorf("%s: %v", want.how, context.Cause(last.Context()))
		}
	}
	how = ""
	activate(t, p, "acme.fmt", "*")
	if last.Context().Err() != nil {
		t.Error("it has ended")
	}
	if err := deactivate(t, p, "acme.fmt"); err == nil || err.Message != "it cannot be undone" {
		t.Errorf("%v", err)
	}
}

// An activation that nobody waits for is undone.
func TestActivationIsCancelled(t *testing.T) {
	var d diary
	begun := make(chan struct{})
	s := newServer()
	m := noted(&d, "acme.fmt")
	m.Activate = func(ctx context.Context, _ *sdk.Activation) error {
		close(begun)
		<-ctx.Done()
		return nil // too late
	}
	sdk.Extend(s, m)
	p := supervised(t, s, codec.Hello{})
	p.Send(p.Request(native.MethodActivate, native.Activate{ID: "acme.fmt"}))
	id := p.Last
	<-begun
	p.Send(codec.Message{Kind: codec.Cancel, ID: id})
	if m := p.Answer(id); m.Err == nil || m.Err.Name != codec.NameCancelled {
		t.Errorf("%v", m.Err)
	}
	if err := deactivate(t, p, "acme.fmt"); err != nil { // it is off when this is answered
		t.Error(err)
	}
	d.is(t, "acme.fmt off")
}

// inBubble serves s within a synctest bubble, where nothing but time passes.
func inBubble(t *testing.T, s *sdk.Server) *counterpart.Peer {
	mine, theirs := net.Pipe()
	return opened(t, s, codec.Hello{}, mine, theirs)
}

// Under a supervisor that does not speak of extensions a host sees to them by
// itself.
func TestUnitsByThemselves(t *testing.T) {
	var d diary
	s := newServer()
	for _, m := range []sdk.Manifest{
		noted(&d, "acme.base"), noted(&d, "acme.fmt", "acme.base"), noted(&d, "acme.lost", "acme.nobody"),
		noted(&d, "acme.ying", "acme.yang"), noted(&d, "acme.yang", "acme.ying"),
		{ID: "acme.bad", Activate: func(context.Context, *sdk.Activation) error {
			d.add("acme.bad tries")
			return errors.New("no table")
		}},
		noted(&d, "acme.sad", "acme.bad"),
	} {
		x := sdk.Extend(s, m)
		sdk.Handle(x, strings.TrimPrefix(m.ID, "acme."), answer)
	}
	p := connect(t, s)
	if p.Host.Caps.Has(codec.CapExtensions) {
		t.Errorf("%b", p.Host.Caps)
	}
	for range 2 {
		if m := p.Call("fmt", 7); m.Err != nil || string(m.Result) != "\x07" {
			t.Errorf("%v", m.Err)
		}
		refused(t, p.Call("lost", nil).Err, "acme.lost: it depends on acme.nobody, and there is no such extension")
		refused(t, p.Call("ying", nil).Err, "acme.ying: it depends on acme.yang")
		refused(t, p.Call("bad", nil).Err, "acme.bad: its activation has failed")
		m := p.Call("sad", nil)
		refused(t, m.Err, "acme.sad: it depends on acme.bad")
		if text := fmt.Sprint(m.Err.Cause, m.Err.Cause.Cause); !strings.Contains(text, "no table") {
			t.Errorf("%s", text)
		}
	}
	// Nobody can switch it on or off from outside.
	if m := p.Call(native.MethodActivate, native.Activate{ID: "acme.base"}); m.Err == nil || m.Err.Name != codec.NameMethodNotFound {
		t.Errorf("%v", m.Err)
	}
	d.is(t, "acme.base on for onCommand:fmt, startup false", "acme.fmt on for onCommand:fmt, startup false", "acme.bad tries")
}

func TestUnitsAreValid(t *testing.T) {
	for want, list := range map[string][]sdk.Manifest{
		`"fmt" is no id`:                  {{ID: "fmt"}},
		`" a.b" is no id`:                 {{ID: " a.b"}},
		`there are two with the id "A.b"`: {{ID: "a.b"}, {ID: "A.b"}},
		`"a.b" depends on "c"`:            {{ID: "a.b", DependsOn: []string{"c"}}},
	} {
		s := newServer()
		for _, m := range list {
			sdk.Extend(s, m)
		}
		mine, theirs := net.Pipe()
		err := s.ServeConn(context.Background(), theirs)
		if !errors.Is(err, sdk.ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := mine.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is left open")
		}
		mine.Close()
	}
}

// Each has its part of the host's configuration, a logger, and goroutines whose
// panics end nothing.
func TestUnitHasItsOwn(t *testing.T) {
	var log strings.Builder
	type config struct {
		Width int `msgpack:"width"`
	}
	s := newServer(sdk.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	got := config{Width: 80}
	sdk.Extend(s, sdk.Manifest{ID: "Acme.Fmt", Activate: func(_ context.Context, a *sdk.Activation) error {
		a.Log().Info("hello")
		a.Go(func(context.Context) { panic("no table") })
		return a.Decode(&got)
	}})
	other := config{Width: 80}
	sdk.Extend(s, sdk.Manifest{ID: "acme.other", Activate: func(_ context.Context, a *sdk.Activation) error { return a.Decode(&other) }})
	p := supervised(t, s, codec.Hello{Init: map[string]any{"acme.fmt": config{100}, "more": 1}})
	p.Send(p.Request(native.MethodActivate, native.Activate{ID: "acme.fmt"}))
	answered := false
	var told native.Uncaught
	for told.ID == "" || !answered {
		switch m := p.Next(); {
		case m.Kind == codec.Response:
			answered = true
			if m.Err != nil {
				t.Error(m.Err)
			}
		case m.Kind == codec.Notification && m.Method == native.MethodUncaught:
			if err := (mpack.Encoding{}).Unmarshal(m.Params, &told); err != nil {
				t.Fatal(err)
			}
		}
	}
	if told.ID != "Acme.Fmt" || told.Error.Name != codec.NamePanic || told.Error.Message != "no table" || !strings.Contains(told.Error.Stack, "unit_test.go") {
		t.Errorf("%+v", told)
	}
	activate(t, p, "acme.other", "*")
	if got.Width != 100 || other.Width != 80 {
		t.Errorf("%+v, %+v", got, other)
	}
	if text := log.String(); !strings.Contains(text, "msg=hello extension=Acme.Fmt") || !strings.Contains(text, "msg=panicked extension=Acme.Fmt") {
		t.Error(text)
	}
}
