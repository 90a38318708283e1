package answer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link/linktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newAnswers returns the rules of a host.
func newAnswers(rule answer.Rule, p codec.Protocol, find func(string) *actors.Ref) *answer.Answers {
	a := &answer.Answers{}
	a.Replace(rule, p, find)
	return a
}

// named returns a handler whose result is its name.
func named(name string) actors.Handler {
	return func(context.Context, *actors.Incoming) (any, error) { return name, nil }
}

// nowhere finds no host.
func nowhere(string) *actors.Ref { return nil }

// outcome describes what answers a request of a method.
func outcome(t testing.TB, i *actors.Interceptor, method string) string {
	t.Helper()
	v := i.Inbound(1, &codec.Message{Kind: codec.Request, ID: 7, Method: method})
	switch {
	case v.Reply != nil && v.Handle != nil:
		t.Fatalf("%s: a reply and a handler", method)
	case v.Reply != nil && v.Reply.Err != nil:
		return "error " + v.Reply.Err.Name
	case v.Reply != nil:
		var s string
		if err := native.New().Unmarshal(v.Reply.Result, &s); err != nil {
			t.Fatal(err)
		}
		return "reply " + s
	case v.Handle != nil:
		out, err := v.Handle(t.Context(), &actors.Incoming{Method: method, Encoding: native.New()})
		var e *codec.Error
		if errors.As(err, &e) {
			return "error " + e.Name
		}
		return fmt.Sprint("handler ", out)
	case v.Err != nil || v.Taken || v.Message != nil || v.Hold != nil || v.To != nil:
		t.Fatalf("%s: %+v", method, v)
	}
	return "none"
}

func TestMostSpecificRuleAnswers(t *testing.T) {
	replied := func(method, result string) answer.Reply { return answer.Reply{Method: method, Result: result} }
	for name, c := range map[string]struct {
		rule answer.Rule
		want map[string]string
	}{
		"no rules": {answer.Rule{}, map[string]string{"a": "none", "": "none"}},
		"a name is the whole method": {
			answer.Rule{Replies: []answer.Reply{replied("fs.read", "1")}},
			map[string]string{"fs.read": "reply 1", "fs.rea": "none", "fs.readAll": "none", "FS.read": "none"},
		},
		"a star stands for any rest, also none": {
			answer.Rule{Replies: []answer.Reply{replied("fs.*", "1")}},
			map[string]string{"fs.": "reply 1", "fs.read": "reply 1", "fs": "none"},
		},
		"a star alone answers everything": {
			answer.Rule{Handlers: map[string]actors.Handler{"*": named("all")}},
			map[string]string{"": "handler all", "a": "handler all"},
		},
		"a name goes before a longer pattern, and that before a shorter one": {
			answer.Rule{Replies: []answer.Reply{replied("*", "0"), replied("fs.*", "1"), replied("fs.read*", "2"), replied("fs.read", "3"), replied("fs.*", "again")}},
			map[string]string{"fs.read": "reply 3", "fs.readAll": "reply 2", "fs.write": "reply 1", "net": "reply 0"},
		},
		"a handler goes before a reply, and that before a forward": {
			answer.Rule{
				Handlers: map[string]actors.Handler{"a": named("mine"), "b*": named("mine")},
				Replies:  []answer.Reply{replied("a", "1"), replied("b*", "1"), replied("c", "1")},
				Forwards: []answer.Forward{{"a", "x"}, {"c", "x"}, {"d", "x"}},
			},
			map[string]string{"a": "handler mine", "b": "handler mine", "c": "reply 1", "d": "error HostDown"},
		},
		"a specific forward goes before a general handler": {
			answer.Rule{Handlers: map[string]actors.Handler{"*": named("all")}, Forwards: []answer.Forward{{"d", "x"}}},
			map[string]string{"d": "error HostDown", "e": "handler all"},
		},
		"a reply may be an error": {
			answer.Rule{Replies: []answer.Reply{{Method: "a", Err: &codec.Error{Name: "Mine"}, Result: "ignored"}}},
			map[string]string{"a": "error Mine"},
		},
	} {
		i := newAnswers(c.rule, native.New(), nowhere).Interceptor()
		for method, want := range c.want {
			if got := outcome(t, i, method); got != want {
				t.Errorf("%s: %q is answered by %s, want %s", name, method, got, want)
			}
		}
	}
}

func TestNotificationsPass(t *testing.T) {
	i := newAnswers(answer.Rule{Replies: []answer.Reply{{Method: "*"}}}, native.New(), nowhere).Interceptor()
	if v := i.Inbound(1, &codec.Message{Kind: codec.Notification, Method: "a"}); v.Reply != nil || v.Handle != nil {
		t.Errorf("%+v", v)
	}
	if i.Stage != actors.StageRules {
		t.Errorf("stage %d", i.Stage)
	}
}

func TestHandleGoesBeforeRulesAsSpecific(t *testing.T) {
	rules := newAnswers(answer.Rule{Handlers: map[string]actors.Handler{"a": named("old"), "b*": named("old"), "b.long*": named("old")}}, native.New(), nowhere)
	i := rules.Interceptor()
	if i.Value != rules {
		t.Error("the interceptor does not lead to the rules")
	}
	for _, pattern := range []string{"a", "b*", "new"} {
		rules.Handle(pattern, named("new"))
	}
	rules.Handle("a", named("newest"))
	for method, want := range map[string]string{"a": "newest", "b.x": "new", "b.longer": "old", "new": "new"} {
		if got := outcome(t, i, method); got != "handler "+want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
}

func TestReplaceKeepsWhatHandleHasAdded(t *testing.T) {
	rules := newAnswers(answer.Rule{Handlers: map[string]actors.Handler{"a": named("old"), "b": named("old"), "c*": named("old")}}, native.New(), nowhere)
	rules.Handle("a", named("mine"))
	rules.Handle("c*", named("mine"))
	i := rules.Interceptor()
	rules.Replace(answer.Rule{Handlers: map[string]actors.Handler{"a": named("next"), "c.d": named("next")}}, native.New(), nowhere)
	for method, want := range map[string]string{"a": "handler mine", "b": "none", "c": "handler mine", "c.d": "handler next"} {
		if got := outcome(t, i, method); got != want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
}

// detached is a host of a protocol, with rules, whose lives are over wires of the test.
func detached(name string, p codec.Protocol, rule answer.Rule, find func(string) *actors.Ref) *actors.Ref {
	log := hclog.NewNullLogger()
	return actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)}, actors.HostSpec{
		Spec: hostspec.Spec{Name: name, Command: []string{"x"}, Protocol: p},
		Interceptors: func(*actors.Ref) []*actors.Interceptor {
			return []*actors.Interceptor{newAnswers(rule, p, find).Interceptor()}
		},
	})
}

// up begins a life of a host.
func up(t testing.TB, host *actors.Ref) (line *actors.Line, end func(error), w *linktest.Wire) {
	t.Helper()
	session := host.Spec().Protocol.Open(codec.Limits{})
	if host.Spec().Protocol.Name() == "hostsup" {
		linktest.Shake(t, session)
	}
	w = linktest.NewWire()
	line, end = host.Connect(1, session, w, linktest.Shaken(codec.CapAll))
	<-w.Idle
	return line, end, w
}

func TestReplyReachesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := detached("h", native.New(), answer.Rule{Replies: []answer.Reply{{Method: "get", Result: 42}}}, nowhere)
		line, end, w := up(t, host)
		for id, method := range []string{"get", "other", "get"} {
			if err := line.Receive(&codec.Message{Kind: codec.Request, ID: uint32(id) + 1, Method: method}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		var got []string
		for _, m := range w.Answers(t) {
			if m.Err != nil {
				got = append(got, fmt.Sprint(m.ID, " ", m.Err.Name))
				continue
			}
			var n int
			if err := native.New().Unmarshal(m.Result, &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(m.ID, " ", n))
		}
		if text := strings.Join(got, ", "); text != "1 42, 2 MethodNotFound, 3 42" {
			t.Error(text)
		}
		end(actors.ErrStopped)
	})
}

// forwarded makes a request of a host with encoding from, which is forwarded to a host
// of protocol to, and returns what the handler returns. answers plays the target: it
// gets the request and returns its response.
func forwarded(t *testing.T, from codec.Protocol, params codec.Raw, to codec.Protocol, answers func(m *codec.Message) *codec.Message) (got any, err error) {
	synctest.Test(t, func(t *testing.T) {
		var request *codec.Message
		target := detached("target", to, answer.Rule{}, nowhere)
		target.Intercept(&actors.Interceptor{Sent: func(_ uint64, m *codec.Message, _ bool) {
			request = &codec.Message{ID: m.ID, Method: m.Method, Params: m.Params}
		}})
		line, end, _ := up(t, target)
		i := newAnswers(answer.Rule{Forwards: []answer.Forward{{"get*", "target"}}}, from, func(name string) *actors.Ref {
			if name != "target" {
				t.Errorf("looks for %q", name)
			}
			return target
		}).Interceptor()
		handle := i.Inbound(1, &codec.Message{Kind: codec.Request, Method: "get/it", Params: params}).Handle
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = handle(t.Context(), &actors.Incoming{Method: "get/it", Params: params, Encoding: from})
		}()
		synctest.Wait()
		if request != nil {
			if request.Method != "get/it" {
				t.Errorf("the target is asked for %q", request.Method)
			}
			m := answers(request)
			m.Kind, m.ID = codec.Response, request.ID
			if err := line.Receive(m); err != nil {
				t.Error(err)
			}
		}
		<-done
		end(actors.ErrStopped)
	})
	return got, err
}

func marshal(t testing.TB, e codec.Encoding, v any) codec.Raw {
	t.Helper()
	raw, err := e.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestForwardConvertsBetweenEncodings(t *testing.T) {
	packed, text := native.New(), jsonrpc.Lines(jsonrpc.Options{})
	for _, c := range []struct{ from, to codec.Protocol }{{packed, packed}, {text, text}, {packed, text}, {text, packed}} {
		name := c.from.Name() + " to " + c.to.Name()
		params := marshal(t, c.from, []any{"a", 1})
		got, err := forwarded(t, c.from, params, c.to, func(m *codec.Message) *codec.Message {
			if want := marshal(t, c.to, []any{"a", 1}); string(m.Params) != string(want) {
				t.Errorf("%s: params %q, want %q", name, m.Params, want)
			}
			return &codec.Message{Result: marshal(t, c.to, "b")}
		})
		if raw, ok := got.(codec.Raw); err != nil || !ok || string(raw) != string(marshal(t, c.from, "b")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}

		_, err = forwarded(t, c.from, params, c.to, func(*codec.Message) *codec.Message {
			return &codec.Message{Err: &codec.Error{Name: "Mine", Message: "no", Data: marshal(t, c.to, "why")}}
		})
		var e *codec.Error
		if !errors.As(err, &e) || e.Name != "Mine" || e.Message != "no" || string(e.Data) != string(marshal(t, c.from, "why")) {
			t.Errorf("%s: error %+v", name, err)
		}
	}
}

func TestForwardThatCannotBeMade(t *testing.T) {
	broken := codec.Raw{0xc1} // no MessagePack
	_, err := forwarded(t, native.New(), broken, jsonrpc.Lines(jsonrpc.Options{}), func(*codec.Message) *codec.Message {
		t.Error("the target is asked")
		return &codec.Message{}
	})
	var e *codec.Error
	if !errors.As(err, &e) || e.Name != codec.NameInvalidParams || !strings.Contains(e.Message, `for host "target"`) {
		t.Errorf("params: %v", err)
	}

	_, err = forwarded(t, native.New(), nil, jsonrpc.Lines(jsonrpc.Options{}), func(*codec.Message) *codec.Message {
		return &codec.Message{Err: &codec.Error{Name: "Mine", Data: codec.Raw("{")}}
	})
	if !errors.As(err, &e) || e.Name != "Mine" || e.Data != nil {
		t.Errorf("data: %+v", err)
	}

	i := newAnswers(answer.Rule{Forwards: []answer.Forward{{"*", "gone"}}}, native.New(), nowhere).Interceptor()
	_, err = i.Inbound(1, &codec.Message{Kind: codec.Request, Method: "a"}).Handle(t.Context(), &actors.Incoming{Method: "a"})
	if !errors.As(err, &e) || e.Name != actors.NameHostDown || !strings.Contains(e.Message, `no host "gone"`) {
		t.Errorf("target: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]struct {
		rule answer.Rule
		p    codec.Protocol
	}{
		"": {answer.Rule{
			Handlers: map[string]actors.Handler{"a": named("a"), "a*": named("a"), "*": named("a")},
			Replies:  []answer.Reply{{Method: "a", Result: 1}, {Method: "b*", Err: &codec.Error{}}}, Forwards: []answer.Forward{{"a", "b"}},
		}, native.New()},
		`handler: "" is no method, nor a pattern: a * can only be its end`: {answer.Rule{Handlers: map[string]actors.Handler{"": named("a")}}, native.New()},
		`handler: of "a" is nil`: {answer.Rule{Handlers: map[string]actors.Handler{"a": nil}}, native.New()},
		`reply: "a*b" is no method, nor a pattern: a * can only be its end`:  {answer.Rule{Replies: []answer.Reply{{Method: "a*b"}}}, native.New()},
		`reply: to "a" cannot be sent`:                                       {answer.Rule{Replies: []answer.Reply{{Method: "a", Result: func() {}}}}, native.New()},
		`forward: "**" is no method, nor a pattern: a * can only be its end`: {answer.Rule{Forwards: []answer.Forward{{"**", "b"}}}, native.New()},
		`forward: of "a" names no host`:                                      {answer.Rule{Forwards: []answer.Forward{{Method: "a"}}}, native.New()},
		`answers: a host without a protocol asks nothing`:                    {answer.Rule{Forwards: []answer.Forward{{"a", "b"}}}, nil},
	} {
		var got []string
		c.rule.Validate(c.p, func(field, format string, args ...any) { got = append(got, field+": "+fmt.Sprintf(format, args...)) })
		if text := strings.Join(got, "; "); text != want && (want == "" || len(got) != 1 || !strings.HasPrefix(text, want)) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
	none := answer.Rule{}
	none.Validate(nil, func(field, format string, args ...any) { t.Errorf(field+": "+format, args...) })
}
