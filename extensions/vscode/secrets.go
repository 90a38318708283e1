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

// What hosts have an editor keep for their extensions in context.secrets, and how
// they are told that it is another one.
const (
	methodSecret       = "MainThreadSecretState.$getPassword"
	methodStoreSecret  = "MainThreadSecretState.$setPassword"
	methodDeleteSecret = "MainThreadSecretState.$deletePassword"
	methodSecretKeys   = "MainThreadSecretState.$getKeys" // of newer releases
	methodSecretNews   = "ExtHostSecretState.$onDidChangePassword"
)

// changesKept is how many changes a late one may be behind at least and still be
// known for that.
const changesKept = 4096

// confidences are changes of secrets. The hosts of one protocol share it.
type confidences struct {
	asked atomic.Uint64 // requests so far
	busy  chan struct{} // holds a token while one works

	changed map[[3]string]uint64 // by household, extension and key: the request; of who is busy
}

func newConfidences() *confidences {
	return &confidences{busy: make(chan struct{}, 1), changed: map[[3]string]uint64{}}
}

// Household is that of [codec.Secrets]: extensions keep their secrets by the name
// of the host, as they do everything else.
func (p *Protocol) Household(host string) string {
	if p.opt.Name != "" {
		return p.opt.Name
	}
	return host
}

// Confides is that of [codec.Secrets].
func (*Protocol) Confides(method string) bool { return method == methodStoreSecret }

// Keep is Serve of [codec.Secrets], for context.secrets of extensions. Of two changes
// of the same secret the later one stays.
func (p *Protocol) Keep(method string) codec.SecretService {
	if !slices.Contains([]string{methodSecret, methodStoreSecret, methodDeleteSecret, methodSecretKeys}, method) {
		return nil
	}
	c := p.secrets
	turn := c.asked.Add(1)
	return func(ctx context.Context, v codec.Vault, host string, params codec.Raw) (codec.Raw, error) {
		id, key, value, err := confided(method, params)
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
			return json.Marshal(value)
		case methodSecretKeys:
			keys, err := v.Keys(ctx, id)
			if err != nil || len(keys) == 0 {
				return codec.Raw("[]"), err
			}
			return json.Marshal(keys)
		}
		what := [3]string{p.Household(host), id, key}
		if c.changed[what] > turn {
			return nil, nil // there is a later one
		}
		news := true
		if method == methodStoreSecret {
			err = v.Set(ctx, id, key, value)
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

// confided takes apart what a host asks. No error has a value in it.
func confided(method string, params codec.Raw) (id, key, value string, err error) {
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
