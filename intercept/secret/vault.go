package secret

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/guard"
)

// Bounds of what those in hosts have kept.
const (
	maxKept     = 256         // secrets of a household
	maxChanges  = 256         // values that a life may store within the time for which they are looked for afterwards
	keepingTime = time.Minute // for a request, with its wait for others
)

// keeper returns what answers a request for secrets of those in a host, or nil.
func (r *Given) keeper(method string) actors.Handler {
	can := r.host.Features().Secrets
	if can == nil || r.Store == nil {
		return nil
	}
	keep := can.Serve(method)
	if keep == nil {
		return nil
	}
	return func(outer context.Context, in *actors.Incoming) (any, error) {
		ctx, cancel := context.WithTimeoutCause(outer, keepingTime, ErrTimeout)
		defer cancel()
		out, err := keep(ctx, vault{r, in.Life, can.Household(in.Host)}, in.Host, in.Params)
		if err != nil && outer.Err() == nil {
			err = r.unkept(in, err)
		}
		return out, err
	}
}

// unkept puts what is the matter with secrets into words for the host.
func (r *Given) unkept(in *actors.Incoming, err error) error {
	var own *codec.Error
	if errors.As(err, &own) || errors.Is(err, ErrValue) {
		return err
	}
	// Where they are is not the host's business.
	r.host.Log().Warn("a request for a secret failed", "method", in.Method, "life", in.Life, "error", err)
	text := "secrets cannot be read or kept at the moment"
	for _, reason := range []error{
		ErrNoStore, ErrNoKeyring, ErrLocked, ErrNoIdentity, ErrIdentity, ErrExposed, ErrUndecipher,
		ErrDamaged, ErrFull, ErrTimeout, ErrClosed,
	} {
		if errors.Is(err, reason) {
			text += ": " + reason.Error()
			break
		}
	}
	return &codec.Error{Name: actors.NameError, Message: text}
}

// vault is the part of the store in which the secrets of a household are, for a
// request of a life of one of its hosts. Their names are made by [Join] of
// the protocol's, the household's, the owner's and the key.
type vault struct {
	ref       *Given
	life      uint64
	household string
}

func (v vault) protocol() string { return v.ref.host.Spec().Protocol.Name() }

func (v vault) name(owner, key string) string {
	return Join(v.protocol(), v.household, owner, key)
}

// Get implements [codec.Vault]. Under a name that cannot be there is nothing.
func (v vault) Get(ctx context.Context, owner, key string) (value string, found bool, err error) {
	name := v.name(owner, key)
	b, err := v.ref.Store.Get(ctx, name)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrName):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	defer Wipe(b)
	if !utf8.Valid(b) {
		return "", false, fmt.Errorf("%w: it is not UTF-8, so that it cannot be answered as a text", ErrValue)
	}
	v.ref.holdLatest(v.life, name, b)
	return string(b), true, nil
}

// Set implements [codec.Vault].
func (v vault) Set(ctx context.Context, owner, key, value string) error {
	name, b := v.name(owner, key), []byte(value)
	defer Wipe(b)
	if err := CheckName(name); err != nil {
		return &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("the name of the secret would have %d bytes (%.64q…); expected at most %d", len(name), name, MaxName)}
	}
	if err := CheckValue(b); err != nil {
		return err
	}
	if err := v.ref.change(); err != nil {
		return err
	}
	defer v.ref.Redactor.Hold(name, b)() // for a while, also when it is not stored
	all, err := v.list(ctx)
	if err != nil {
		return err
	}
	if len(all) >= maxKept && !slices.Contains(all, name) {
		return &codec.Error{Name: actors.NameError, Message: fmt.Sprintf("the extensions of host %q have %d secrets; expected at most %d", v.household, len(all), maxKept)}
	}
	if err := v.ref.Store.Set(ctx, name, b); err != nil {
		return err
	}
	v.ref.holdLatest(v.life, name, b)
	return nil
}

// Delete implements [codec.Vault].
func (v vault) Delete(ctx context.Context, owner, key string) (found bool, err error) {
	name := v.name(owner, key)
	err = v.ref.Store.Delete(ctx, name)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrName) {
		return false, nil
	}
	if err == nil {
		v.ref.letGoLatest(name)
	}
	return err == nil, err
}

// Keys implements [codec.Vault].
func (v vault) Keys(ctx context.Context, owner string) ([]string, error) {
	all, err := v.list(ctx)
	var keys []string
	for _, name := range all {
		if parts, _ := Split(name); parts[2] == owner {
			keys = append(keys, parts[3])
		}
	}
	slices.Sort(keys)
	return keys, err
}

// list returns the names of what is in the vault.
func (v vault) list(ctx context.Context) ([]string, error) {
	all, err := v.ref.Store.List(ctx)
	return slices.DeleteFunc(all, func(name string) bool {
		parts, ok := Split(name)
		return !ok || len(parts) != 4 || parts[0] != v.protocol() || parts[1] != v.household
	}), err
}

// Tell implements [codec.Vault].
func (v vault) Tell(method string, params codec.Raw) {
	for _, r := range v.ref.Hosts() {
		if can := r.Features().Secrets; can != nil && r.Spec().Protocol.Name() == v.protocol() && can.Household(r.Name()) == v.household {
			_ = r.Tell(method, params) // one that is about to end is not told
		}
	}
}

// latest is the value that a life knows of a secret.
type latest struct {
	life    uint64
	sum     [sha256.Size]byte
	release func()
}

// holdLatest looks for the value that a life knows of a secret from now on, in
// place of the one before: for that as long as for any that was let go.
func (r *Given) holdLatest(life uint64, name string, value []byte) {
	sum := sha256.Sum256(value)
	h := r.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	old, known := h.latest[name]
	switch {
	case known && old.life == life && old.sum == sum:
		return
	case life <= h.gone, known && old.life > life:
		r.Redactor.Hold(name, value)()
		return
	case known:
		old.release()
	case h.latest == nil:
		h.latest = make(map[string]latest)
	}
	h.latest[name] = latest{life, sum, r.Redactor.Hold(name, value)}
}

// letGoLatest tells that a secret is there no more.
func (r *Given) letGoLatest(name string) {
	h := r.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	if of, known := h.latest[name]; known {
		of.release()
		delete(h.latest, name)
	}
}

// change counts a value that is stored: each is looked for after it was replaced,
// for which the host must not have any number of them.
func (r *Given) change() error {
	h := r.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	per := max(r.Redactor.Linger(), time.Minute)
	if h.changes == nil {
		h.changes = guard.NewLimiter(guard.Rate{Count: maxChanges, Per: per})
	}
	var busy *guard.RateError
	if err := h.changes.Check(r.host.Now()); errors.As(err, &busy) {
		return &codec.Error{Name: guard.NameRateLimited, Message: fmt.Sprintf("more than %d values were stored within %s; the next one in %s", maxChanges, per, busy.After.Round(time.Millisecond))}
	}
	return nil
}
