// Package answer answers the requests that a host makes by rules: with a handler of the
// program's, with the same reply to each, or with what another host answers.
//
// Rules may be added at any time. Safe for concurrent use.
package answer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// Rule says how the requests are answered that a host makes. The rule
// with the most specific pattern answers: a method's own name, then the longest
// pattern that ends in *, which stands for any rest. Among equals a handler goes
// before a reply, and that before a forward. What no rule fits is answered "no
// such method".
type Rule struct {
	Handlers map[string]actors.Handler // by pattern; they are not part of what makes two specs equal
	Replies  []Reply
	Forwards []Forward
}

// Reply is the same answer to each request.
type Reply struct {
	Method string       // or a pattern
	Result any          // encoded by the host's protocol
	Err    *codec.Error // instead, unless nil
}

// Forward hands requests to another host of the same supervisor, as they are:
// under their method and with their parameters, which are converted where the
// two speak another encoding. The answer comes back the same way; a host that is
// down answers with an error of name "HostDown".
type Forward struct {
	Method string // or a pattern
	To     string // name of the host
}

// answerer is the rule for one pattern.
type answerer struct {
	pattern string
	handler actors.Handler
	reply   *codec.Message // with everything but the id
	later   bool           // it was set by Handle
}

// Answers are the rules of one host, the most specific first. The zero value has none.
type Answers struct {
	mu    sync.RWMutex
	rules []answerer
}

// Replace replaces the rules of a host of protocol p, except those that Handle has added.
// The rule must be valid. find finds the hosts to which requests are forwarded; it returns
// nil for an unknown name.
func (a *Answers) Replace(rule Rule, p codec.Protocol, find func(host string) *actors.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rules = slices.DeleteFunc(slices.Clone(a.rules), func(r answerer) bool { return !r.later })
	for _, pattern := range slices.Sorted(maps.Keys(rule.Handlers)) {
		a.add(answerer{pattern: pattern, handler: rule.Handlers[pattern]})
	}
	for _, r := range rule.Replies {
		m := &codec.Message{Err: r.Err}
		if r.Err == nil {
			m.Result, _ = p.Marshal(r.Result) // Validate has seen that it can be
		}
		a.add(answerer{pattern: r.Method, reply: m})
	}
	for _, f := range rule.Forwards {
		a.add(answerer{pattern: f.Method, handler: forward(f.To, find)})
	}
}

// Interceptor returns the rules as an interceptor of their host.
func (a *Answers) Interceptor() *actors.Interceptor {
	return &actors.Interceptor{Name: "answers", Stage: actors.StageRules, Value: a, Inbound: a.inbound}
}

func (a *Answers) inbound(_ uint64, m *codec.Message) (v actors.Verdict) {
	if m.Kind == codec.Request {
		r := a.find(m.Method)
		v.Reply, v.Handle = r.reply, r.handler
	}
	return v
}

// add puts a rule behind those as specific as it; one of Handle, before them. The caller
// must hold mu.
func (a *Answers) add(r answerer) {
	at := slices.IndexFunc(a.rules, func(o answerer) bool {
		return specific(o.pattern) < specific(r.pattern) || r.later && specific(o.pattern) == specific(r.pattern)
	})
	if at < 0 {
		at = len(a.rules)
	}
	a.rules = slices.Insert(a.rules, at, r)
}

// specific orders patterns: a whole name before any with a *.
func specific(pattern string) int {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return len(prefix)
	}
	return 1<<30 + len(pattern)
}

// find returns the rule for a method; the zero value if none fits.
func (a *Answers) find(method string) answerer {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.rules {
		if prefix, ok := strings.CutSuffix(r.pattern, "*"); r.pattern == method || ok && strings.HasPrefix(method, prefix) {
			return r
		}
	}
	return answerer{}
}

// Handle lets h answer the requests of a method, or of a pattern that ends in *,
// from now on, before any rule as specific; see [Rule].
func (a *Answers) Handle(pattern string, h actors.Handler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(answerer{pattern: pattern, handler: h, later: true})
}

// forward returns the handler that hands requests to another host.
func forward(to string, find func(host string) *actors.Ref) actors.Handler {
	return func(ctx context.Context, in *actors.Incoming) (any, error) {
		target := find(to)
		if target == nil {
			return nil, &codec.Error{Name: actors.NameHostDown, Message: fmt.Sprintf("no host %q is configured", to)}
		}
		params, err := convert(in.Encoding, target.Encoding(), in.Params)
		if err != nil {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("for host %q: %v", to, err)}
		}
		var out codec.Raw
		if err := target.Call(ctx, in.Method, params, &out); err != nil {
			return nil, translate(in.Encoding, target.Encoding(), err)
		}
		return convert(target.Encoding(), in.Encoding, out)
	}
}

// convert turns a payload of one encoding into one of another.
func convert(from, to codec.Encoding, raw codec.Raw) (codec.Raw, error) {
	if from == to || to == nil || len(raw) == 0 {
		return raw, nil
	}
	text, err := from.ToJSON(raw)
	if err != nil {
		return nil, err
	}
	return to.FromJSON(text)
}

// translate is [actors.AnswerOf] for an error of a host with another encoding, whose
// data has to be converted.
func translate(in, from codec.Encoding, err error) error {
	e := actors.AnswerOf(err)
	if e.Data == nil || in == from {
		return e
	}
	out := *e
	out.Data, _ = convert(from, in, e.Data) // nil if that is not possible
	return &out
}

// Validate says what is wrong with the rules for a host of protocol p, nil for one
// without.
func (a *Rule) Validate(p codec.Protocol, bad func(field, format string, args ...any)) {
	if p == nil {
		if len(a.Handlers)+len(a.Replies)+len(a.Forwards) > 0 {
			bad("answers", "a host without a protocol asks nothing")
		}
		return
	}
	pattern := func(field, s string) {
		if s == "" || strings.Contains(strings.TrimSuffix(s, "*"), "*") {
			bad(field, "%q is no method, nor a pattern: a * can only be its end", s)
		}
	}
	for s, h := range a.Handlers {
		pattern("handler", s)
		if h == nil {
			bad("handler", "of %q is nil", s)
		}
	}
	for _, r := range a.Replies {
		pattern("reply", r.Method)
		if _, err := p.Marshal(r.Result); err != nil {
			bad("reply", "to %q cannot be sent: %v", r.Method, err)
		}
	}
	for _, f := range a.Forwards {
		pattern("forward", f.Method)
		if f.To == "" {
			bad("forward", "of %q names no host", f.Method)
		}
	}
}
