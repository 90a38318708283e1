package actors

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

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/intercept/secret"
)

// SecretRule says which secrets a host gets. Values are read when a life begins,
// and are part of nothing else: not of its spec, arguments, status or events.
type SecretRule struct {
	Env   map[string]secret.Text // variables of its environment, beside HostSpec.Env
	Owned []string               // names that it may ask for, set and delete by requests of its own
}

// NameSecretDenied is the name of the error by which a host is refused a secret
// that is not its own. It says nothing about whether there is such a secret.
const NameSecretDenied = "SecretDenied"

func (r SecretRule) validate(s *HostSpec, bad func(field, format string, args ...any)) {
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			bad("env", "%q is not a name that an environment can hold", k)
		}
		if _, twice := s.Env[k]; twice {
			bad("env", "%q is set to a secret, and to something else", k)
		}
		if err := r.Env[k].Validate(); err != nil {
			bad("env", "%s: %w", k, err)
		}
	}
	if len(r.Owned) > 0 && s.Protocol == nil {
		bad("secrets", "a host without a protocol asks for nothing")
	}
	for _, name := range r.Owned {
		if err := secret.CheckName(name); err != nil {
			bad("secrets", "%w", err)
		}
	}
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
func (r *Ref) hold(life uint64, name string, value []byte) {
	release := r.world.Redactor.Hold(name, value)
	h := &r.holdings
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
func (r *Ref) letGo(life uint64) {
	h := &r.holdings
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

// secretEnv reads the variables that are secrets.
func (r *Ref) secretEnv(ctx context.Context, life uint64) (map[string]string, error) {
	env := make(map[string]string, len(r.spec.Secrets.Env))
	for _, k := range slices.Sorted(maps.Keys(r.spec.Secrets.Env)) {
		v, err := r.spec.Secrets.Env[k].Fill(func(name string) ([]byte, error) {
			if r.world.Secrets == nil {
				return nil, &secret.Error{Op: "read", Name: name, Err: secret.ErrNotFound}
			}
			v, err := r.world.Secrets.Fresh(ctx, name)
			if err == nil {
				r.hold(life, name, v)
			}
			return v, err
		})
		if err != nil {
			return nil, fmt.Errorf("host %q: variable %s: %w", r.spec.Name, k, err)
		}
		env[k] = string(v)
		secret.Wipe(v)
	}
	return env, nil
}

// Methods by which a host works on its secrets.
const (
	secretGet = iota + 1
	secretSet
	secretDelete
)

func secretMethod(method string) int {
	switch strings.ReplaceAll(method, "/", ".") {
	case "secrets.get":
		return secretGet
	case "secrets.set", "secrets.store":
		return secretSet
	case "secrets.delete":
		return secretDelete
	}
	return 0
}

// secretHandler returns what answers a request for secrets, or nil if it is none,
// or the host has none: then the rules answer it, if they do.
func (r *Ref) secretHandler(method string) Handler {
	what := secretMethod(method)
	if what == 0 || len(r.spec.Secrets.Owned) == 0 || r.world.Secrets == nil {
		return nil
	}
	return func(ctx context.Context, in *Incoming) (any, error) {
		key, value, err := secretParams(in, what == secretSet)
		if err != nil {
			return nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%s: %v", in.Method, err)}
		}
		if !slices.Contains(r.spec.Secrets.Owned, key) {
			return nil, &codec.Error{Name: NameSecretDenied, Message: fmt.Sprintf("secret %.64q is not named in the secrets of host %q", key, in.Host)}
		}
		v, err := r.secretWork(ctx, what, in.Life, key, value)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, secret.ErrValue) {
				return nil, err
			}
			// Where it is, and what is the matter there, is not the host's business.
			r.world.Log.Named(in.Host).Warn("a request for a secret failed", "method", in.Method, "life", in.Life, "error", err)
			return nil, &codec.Error{Name: NameError, Message: fmt.Sprintf("secret %q cannot be had at the moment", key)}
		}
		return v, nil
	}
}

func (r *Ref) secretWork(ctx context.Context, what int, life uint64, key, value string) (any, error) {
	store := r.world.Secrets
	switch what {
	case secretSet:
		r.hold(life, key, []byte(value))
		return nil, store.Set(ctx, key, []byte(value))
	case secretDelete:
		err := store.Delete(ctx, key)
		if errors.Is(err, secret.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	v, err := store.Get(ctx, key)
	if errors.Is(err, secret.ErrNotFound) {
		return nil, nil // no value is an answer
	}
	if err != nil {
		return nil, err
	}
	defer secret.Wipe(v)
	if !utf8.Valid(v) {
		return nil, fmt.Errorf("%w: it is not UTF-8, so that it cannot be answered as a text", secret.ErrValue)
	}
	r.hold(life, key, v)
	return string(v), nil
}

// secretParams takes the name, and the value if there has to be one, out of
// {"key": …, "value": …}, or of these as a list.
func secretParams(in *Incoming, valued bool) (key, value string, err error) {
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
