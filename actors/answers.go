package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link"
)

// AnswerRule says how the requests are answered that a host makes. The rule
// with the most specific pattern answers: a method's own name, then the longest
// pattern that ends in *, which stands for any rest. Among equals a handler goes
// before a reply, and that before a forward. What no rule fits is answered "no
// such method".
type AnswerRule struct {
	Handlers map[string]Handler // by pattern; they are not part of what makes two specs equal
	Replies  []Reply
	Forwards []Forward
}

// Handler answers a request that a host makes: with a value, which is encoded
// by the host's protocol (a [codec.Raw] goes as it is), or an error, of which a
// *[codec.Error] goes as it is and any other by its text. A value that is an
// iter.Seq2[any, error] is sent item by item, as fast as the host allows, if the host
// takes items, else as a list; an error ends it. Handlers run
// concurrently, at most 256 for one connection. ctx ends when the host takes the
// request back or its connection ends; a handler has to return then, and its
// answer is dropped. A panic is answered as an error and logged.
type Handler func(ctx context.Context, r *Incoming) (any, error)

// Incoming is a request that a host makes.
type Incoming struct {
	Host     string
	Life     uint64
	Method   string
	Params   codec.Raw
	Encoding codec.Encoding // of Params
	Trace    codec.Trace

	ref  *Ref
	rest []func(uint64, *codec.Message) Verdict // who is behind the interceptor that answers
}

// Rest answers the request as the interceptors behind the one that has it do; ok is
// false if none of them does.
func (r *Incoming) Rest(ctx context.Context) (result any, ok bool, err error) {
	m := &codec.Message{Kind: codec.Request, Method: r.Method, Params: r.Params, Trace: r.Trace}
	for n, f := range r.rest {
		v := f(r.Life, m)
		switch {
		case v.Err != nil:
			return nil, true, v.Err
		case v.Reply != nil && v.Reply.Err != nil:
			return nil, true, v.Reply.Err
		case v.Reply != nil:
			return v.Reply.Result, true, nil
		case v.Handle != nil:
			in := *r
			in.Method, in.Params, in.rest = m.Method, m.Params, r.rest[n+1:]
			result, err = v.Handle(ctx, &in)
			return result, true, err
		}
		if v.Message != nil {
			m = v.Message
		}
	}
	rule, ok := r.ref.answers.find(r.Method)
	switch {
	case !ok:
		return nil, false, nil
	case rule.handler != nil:
		result, err = rule.handler(ctx, r)
		return result, true, err
	case rule.reply.Err != nil:
		return nil, true, rule.reply.Err
	}
	return rule.reply.Result, true, nil
}

// Decode decodes the parameters into the pointer out.
func (r *Incoming) Decode(out any) error { return r.Encoding.Unmarshal(r.Params, out) }

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

// Names of errors that hosts get from the supervisor, besides those of package
// codec.
const (
	NameHostDown   = "HostDown"          // of a forward: its host crashed, is stopped or has failed
	NameTimeout    = "Timeout"           // of a forward: its host did not answer in time
	NameOverloaded = link.NameOverloaded // too many requests are open
	NameError      = "Error"             // anything else
)

// answerer is the rule for one pattern.
type answerer struct {
	pattern string
	handler Handler
	reply   *codec.Message // with everything but the id
}

// answers are the rules of one host, the most specific first.
type answers struct {
	mu    sync.RWMutex
	rules []answerer
}

// newAnswers makes the rules of a spec that was validated.
func newAnswers(w *World, spec *HostSpec) *answers {
	a := &answers{}
	for _, pattern := range slices.Sorted(maps.Keys(spec.Answers.Handlers)) {
		a.add(answerer{pattern: pattern, handler: spec.Answers.Handlers[pattern]}, false)
	}
	for _, r := range spec.Answers.Replies {
		m := &codec.Message{Kind: codec.Response, Err: r.Err}
		if r.Err == nil {
			m.Result, _ = spec.Protocol.Marshal(r.Result) // Validate has seen that it can be
		}
		a.add(answerer{pattern: r.Method, reply: m}, false)
	}
	for _, f := range spec.Answers.Forwards {
		a.add(answerer{pattern: f.Method, handler: w.forward(f.To)}, false)
	}
	return a
}

// add puts a rule behind those as specific as it, or with first before them.
func (a *answers) add(r answerer, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.rules, func(o answerer) bool {
		return specific(o.pattern) < specific(r.pattern) || first && specific(o.pattern) == specific(r.pattern)
	})
	if at < 0 {
		at = len(a.rules)
	}
	a.rules = slices.Insert(slices.Clone(a.rules), at, r)
}

// specific orders patterns: a whole name before any with a *.
func specific(pattern string) int {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return len(prefix)
	}
	return 1<<30 + len(pattern)
}

func (a *answers) find(method string) (answerer, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.rules {
		if prefix, ok := strings.CutSuffix(r.pattern, "*"); r.pattern == method || ok && strings.HasPrefix(method, prefix) {
			return r, true
		}
	}
	return answerer{}, false
}

// Handle lets h answer the requests of a method, or of a pattern that ends in *,
// from now on, before any rule as specific; see [AnswerRule]. For what a host
// asks right at its start, name the handler in the spec.
func (r *Ref) Handle(pattern string, h Handler) {
	r.answers.add(answerer{pattern: pattern, handler: h}, true)
}

// forward returns the handler that hands requests to another host.
func (w *World) forward(to string) Handler {
	return func(ctx context.Context, in *Incoming) (any, error) {
		target := w.Ref(to)
		if target == nil {
			return nil, &codec.Error{Name: NameHostDown, Message: fmt.Sprintf("no host %q is configured", to)}
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

// translate is answerOf for an error of a host with another encoding, whose
// data has to be converted.
func translate(in, from codec.Encoding, err error) error {
	e := answerOf(err)
	if e.Data == nil || in == from {
		return e
	}
	out := *e
	if out.Data, err = convert(from, in, e.Data); err != nil {
		out.Data = nil
	}
	return &out
}

// answerOf puts an error into the words of an answer to a host.
func answerOf(err error) *codec.Error {
	var own *codec.Error
	if e, ok := err.(*codec.Error); ok { //nolint:errorlint // what wraps one says more
		return e
	}
	e := &codec.Error{Name: NameError, Message: err.Error()}
	switch {
	case errors.Is(err, ErrNoSuchMethod):
		e.Name = codec.NameMethodNotFound
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Name = NameTimeout
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled):
		e.Name = codec.NameCancelled
	case errors.Is(err, ErrOverloaded):
		e.Name = NameOverloaded
	case errors.Is(err, ErrCrashed), errors.Is(err, ErrUnresponsive), errors.Is(err, ErrStopped), errors.Is(err, ErrFailed):
		e.Name = NameHostDown
	case errors.As(err, &own):
		e.Name, e.Code = own.Name, own.Code
	}
	return e
}

// validate says what is wrong with the rules.
func (a *AnswerRule) validate(p codec.Protocol, bad func(field, format string, args ...any)) {
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
