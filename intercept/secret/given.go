package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/guard"
)

// Rule says which secrets a host gets. Values are read when a life begins,
// and are part of nothing else: not of its spec, arguments, status or events.
type Rule struct {
	Env   map[string]Text // variables of its environment, beside HostSpec.Env
	Owned []string        // names that it may ask for, set and delete by requests of its own
}

// NameDenied is the name of the error by which a host is refused a secret
// that is not its own. It says nothing about whether there is such a secret.
const NameDenied = "SecretDenied"

// Validate says what is wrong with the rule for a host of protocol p, nil for one
// without, that is given env besides.
func (r Rule) Validate(p codec.Protocol, given map[string]string, bad func(field, format string, args ...any)) {
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			bad("env", "%q is not a name that an environment can hold", k)
		}
		if _, twice := given[k]; twice {
			bad("env", "%q is set to a secret, and to something else", k)
		}
		if err := r.Env[k].Validate(); err != nil {
			bad("env", "%s: %w", k, err)
		}
	}
	if len(r.Owned) > 0 && p == nil {
		bad("secrets", "a host without a protocol asks for nothing")
	}
	for _, name := range r.Owned {
		if err := CheckName(name); err != nil {
			bad("secrets", "%w", err)
		}
	}
}

// Tree is what the hosts of one tree share of secrets.
type Tree struct {
	Store    *Store // nil: there are none
	Redactor *Redactor
	Hosts    func() []*actors.Ref
}

// Given are the secrets of one host: those of its rule, and those that its protocol
// keeps for extensions. What the host has of them is looked for in what it says.
type Given struct {
	Tree
	host     *actors.Ref
	rule     Rule
	holdings *holdings
}

// New returns the secrets of a host whose rule was validated. It keeps looking for what
// the host was given by a rule before.
func New(rule Rule, host *actors.Ref, t Tree) *Given {
	r := &Given{Tree: t, host: host, rule: rule, holdings: &holdings{}}
	if before, ok := host.Interceptor(name).(*Given); ok {
		r.holdings = before.holdings
	}
	return r
}

// name is that of the interceptor for a host's own secrets.
const name = "secrets"

// Interceptor returns what puts secrets into the environment of a life, and answers
// requests for those of the host's own before anybody else.
func (r *Given) Interceptor() *actors.Interceptor {
	own := &actors.Interceptor{Name: name, Stage: actors.StageOwn, Value: r, Over: r.letGo}
	if len(r.rule.Env) > 0 {
		own.Starting = r.starting
	}
	if len(r.rule.Owned) > 0 && r.Store != nil {
		own.Inbound = r.owned
	}
	return own
}

// Vault returns what answers requests for secrets that nobody else answers. A host
// without a protocol needs none.
func (r *Given) Vault() *actors.Interceptor {
	return &actors.Interceptor{Name: "vault", Stage: actors.StageLast, Inbound: r.kept}
}

// owned answers requests for secrets of the host's own.
func (r *Given) owned(_ uint64, m *codec.Message) (v actors.Verdict) {
	if m.Kind == codec.Request {
		v.Handle = r.handler(m.Method)
	}
	return v
}

// kept answers requests for secrets that nobody else answers: those of extensions, if
// the protocol keeps some, are in a vault.
func (r *Given) kept(_ uint64, m *codec.Message) (v actors.Verdict) {
	if m.Kind != codec.Request {
		return v
	}
	if v.Handle = r.keeper(m.Method); v.Handle == nil && methodOf(m.Method) != 0 {
		v.Err = &codec.Error{Name: NameDenied, Message: fmt.Sprintf("host %q has no secrets of its own: its configuration names none", r.host.Name())}
	}
	return v
}

// Show returns the params of a message as JSON, and its method, without values of
// secrets; nil if the host was given none.
func (r *Given) Show(m *codec.Message) (params json.RawMessage, method string) {
	if s := r.host.Features().Secrets; methodOf(m.Method) == set || s != nil && s.Confides(m.Method) {
		return json.RawMessage(`"[redacted]"`), m.Method // no value yet that is known
	}
	if !r.Redactor.Active() {
		return nil, ""
	}
	params = json.RawMessage("null")
	if text, err := r.host.Encoding().ToJSON(m.Params); err == nil && len(m.Params) > 0 {
		params = r.Redactor.JSON(text)
	}
	return params, r.Redactor.String(m.Method)
}

// holdings are the values that lives of a host were given, which are looked for
// in what it says.
type holdings struct {
	mu      sync.Mutex
	release map[uint64][]func() // by life
	gone    uint64              // lives up to this one have ended
	latest  map[string]latest   // of secrets that can be another one at any time, by their names
	changes *guard.Limiter      // of these; nil: there was none
}

// hold looks for a value from now on, which a life is about to be given.
func (r *Given) hold(life uint64, name string, value []byte) {
	release := r.Redactor.Hold(name, value)
	h := r.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	if life <= h.gone {
		release()
		return
	}
	if h.release == nil {
		h.release = make(map[uint64][]func())
	}
	h.release[life] = append(h.release[life], release)
}

// letGo tells that nothing is left to be said by a life, nor by those before it.
func (r *Given) letGo(life uint64) {
	h := r.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = max(h.gone, life)
	for of, list := range h.release {
		if of > h.gone {
			continue
		}
		for _, release := range list {
			release()
		}
		delete(h.release, of)
	}
	for name, of := range h.latest {
		if of.life <= h.gone {
			of.release()
			delete(h.latest, name)
		}
	}
}

// starting reads the variables that are secrets.
func (r *Given) starting(ctx context.Context, s *actors.Start) error {
	for _, k := range slices.Sorted(maps.Keys(r.rule.Env)) {
		v, err := r.rule.Env[k].Fill(func(name string) ([]byte, error) {
			if r.Store == nil {
				return nil, &Error{Op: "read", Name: name, Err: ErrNotFound}
			}
			v, err := r.Store.Fresh(ctx, name)
			if err == nil {
				r.hold(s.Life, name, v)
			}
			return v, err
		})
		if err != nil {
			return fmt.Errorf("host %q: variable %s: %w", r.host.Name(), k, err)
		}
		s.Env[k] = string(v)
		Wipe(v)
	}
	return nil
}

// Methods by which a host works on its secrets.
const (
	get = iota + 1
	set
	remove
)

func methodOf(method string) int {
	switch strings.ReplaceAll(method, "/", ".") {
	case "secrets.get":
		return get
	case "secrets.set", "secrets.store":
		return set
	case "secrets.delete":
		return remove
	}
	return 0
}

// handler returns what answers a request for secrets, or nil if it is none,
// or the host has none: then the rules answer it, if they do.
func (r *Given) handler(method string) actors.Handler {
	what := methodOf(method)
	if what == 0 || len(r.rule.Owned) == 0 || r.Store == nil {
		return nil
	}
	return func(ctx context.Context, in *actors.Incoming) (any, error) {
		key, value, err := paramsOf(in, what == set)
		if err != nil {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%s: %v", in.Method, err)}
		}
		if !slices.Contains(r.rule.Owned, key) {
			return nil, &codec.Error{Name: NameDenied, Message: fmt.Sprintf("secret %.64q is not named in the secrets of host %q", key, in.Host)}
		}
		v, err := r.work(ctx, what, in.Life, key, value)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrValue) {
				return nil, err
			}
			// Where it is, and what is the matter there, is not the host's business.
			r.host.Log().Warn("a request for a secret failed", "method", in.Method, "life", in.Life, "error", err)
			return nil, &codec.Error{Name: actors.NameError, Message: fmt.Sprintf("secret %q cannot be had at the moment", key)}
		}
		return v, nil
	}
}

func (r *Given) work(ctx context.Context, what int, life uint64, key, value string) (any, error) {
	store := r.Store
	switch what {
	case set:
		r.hold(life, key, []byte(value))
		return nil, store.Set(ctx, key, []byte(value))
	case remove:
		err := store.Delete(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	v, err := store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil // no value is an answer
	}
	if err != nil {
		return nil, err
	}
	defer Wipe(v)
	if !utf8.Valid(v) {
		return nil, fmt.Errorf("%w: it is not UTF-8, so that it cannot be answered as a text", ErrValue)
	}
	r.hold(life, key, v)
	return string(v), nil
}

// paramsOf takes the name, and the value if there has to be one, out of
// {"key": …, "value": …}, or of these as a list.
func paramsOf(in *actors.Incoming, valued bool) (key, value string, err error) {
	const shape = `expected {"key": a string%s}`
	want := fmt.Sprintf(shape, "")
	if valued {
		want = fmt.Sprintf(shape, `, "value": a string`)
	}
	wrong := errors.New(want) // without what was sent, which may be a value
	text, err := in.Encoding.ToJSON(in.Params)
	if err != nil {
		return "", "", wrong
	}
	var v any
	if json.Unmarshal(text, &v) != nil {
		return "", "", wrong
	}
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0] // a call with one argument
	}
	var named, given any
	switch v := v.(type) {
	case string:
		named = v
	case map[string]any:
		named, given = v["key"], v["value"]
	case []any:
		if len(v) == 2 && valued {
			named, given = v[0], v[1]
		}
	}
	key, ok := named.(string)
	if !ok {
		return "", "", wrong
	}
	if value, ok = given.(string); valued && !ok {
		return "", "", wrong
	}
	return key, value, nil
}
