package vscode

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
)

// Requests of hosts for context.secrets of their extensions, and the notification that a
// secret has changed.
const (
	methodSecret       = "MainThreadSecretState.$getPassword"
	methodStoreSecret  = "MainThreadSecretState.$setPassword"
	methodDeleteSecret = "MainThreadSecretState.$deletePassword"
	methodSecretKeys   = "MainThreadSecretState.$getKeys" // of newer releases
	methodSecretNews   = "ExtHostSecretState.$onDidChangePassword"
)

// changesKept is the least number of later changes after which an outdated change is still
// recognized.
const changesKept = 4096

// shortMark begins what is kept of a value that is too short for a store of secrets, and so cannot be
// redacted. Extensions store such values, for instance an empty list as JSON.
const (
	shortMark = "hostsup:short:"
	tooShort  = 4 // bytes
)

// kept returns what is kept of a value.
func kept(value string) string {
	if len(value) < tooShort || strings.HasPrefix(value, shortMark) {
		return shortMark + value
	}
	return value
}

// secretWrites orders the changes of secrets. The hosts of one protocol share it.
type secretWrites struct {
	requests atomic.Uint64 // requests so far
	busy     chan struct{} // semaphore

	changed map[[3]string]uint64 // number of the request by household, extension and key; guarded by busy
}

func newSecretWrites() *secretWrites {
	return &secretWrites{busy: make(chan struct{}, 1), changed: map[[3]string]uint64{}}
}

// Household implements Household of [codec.Secrets]: secrets of extensions are stored by
// the name of the host, like their other data.
func (p *Protocol) Household(host string) string {
	if p.opt.Name != "" {
		return p.opt.Name
	}
	return host
}

// Confides implements Confides of [codec.Secrets].
func (*Protocol) Confides(method string) bool { return method == methodStoreSecret }

// Keep implements Serve of [codec.Secrets], for context.secrets of extensions. Of two
// changes of the same secret the later one stays.
func (p *Protocol) Keep(method string) codec.SecretService {
	if !slices.Contains([]string{methodSecret, methodStoreSecret, methodDeleteSecret, methodSecretKeys}, method) {
		return nil
	}
	c := p.secrets
	turn := c.requests.Add(1)
	return func(ctx context.Context, v codec.Vault, host string, params codec.Raw) (codec.Raw, error) {
		id, key, value, err := parseSecret(method, params)
		if err != nil {
			return nil, err
		}
		select {
		case c.busy <- struct{}{}:
			defer func() { <-c.busy }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch method {
		case methodSecret:
			value, found, err := v.Get(ctx, id, key)
			if err != nil || !found {
				return codec.Raw(wire.Undefined), err
			}
			return json.Marshal(strings.TrimPrefix(value, shortMark))
		case methodSecretKeys:
			keys, err := v.Keys(ctx, id)
			if err != nil || len(keys) == 0 {
				return codec.Raw("[]"), err
			}
			return json.Marshal(keys)
		}
		what := [3]string{p.Household(host), id, key}
		if c.changed[what] > turn {
			return nil, nil // a later request was faster
		}
		news := true
		if method == methodStoreSecret {
			err = v.Set(ctx, id, key, kept(value))
		} else {
			news, err = v.Delete(ctx, id, key)
		}
		if err != nil {
			return nil, err
		}
		if c.changed[what] = turn; len(c.changed) > 2*changesKept {
			maps.DeleteFunc(c.changed, func(_ [3]string, of uint64) bool { return of+changesKept < turn })
		}
		if news {
			told, err := json.Marshal([]map[string]string{{"extensionId": id, "key": key}})
			if err != nil {
				return nil, err
			}
			v.Tell(methodSecretNews, told)
		}
		return nil, nil
	}
}

// parseSecret parses the parameters of a request. Its errors contain no value.
func parseSecret(method string, params codec.Raw) (id, key, value string, err error) {
	into, what := []*string{&id, &key, &value}, "an extension, a key and a value, all of them texts,"
	switch method {
	case methodSecretKeys:
		into, what = into[:1], "an extension"
	case methodSecret, methodDeleteSecret:
		into, what = into[:2], "an extension and a key, both of them texts,"
	}
	wrong := &codec.Error{Name: codec.NameInvalidParams, Message: what + " expected"}
	var args []json.RawMessage
	if json.Unmarshal(params, &args) != nil || len(args) < len(into) {
		return "", "", "", wrong
	}
	for i, text := range into {
		if !strings.HasPrefix(string(args[i]), `"`) || json.Unmarshal(args[i], text) != nil { // null is no text
			return "", "", "", wrong
		}
	}
	id, err = extensionID(id)
	return id, key, value, err
}
