package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

const (
	extAuth = "ExtHostAuthentication."
	// registering is how long a provider that was activated may take to register, as in VS Code.
	registering = 5 * time.Second
)

// register answers $registerAuthenticationProvider: id, label and whether there may be several
// accounts, or an object with them.
func (s *Service) register(c *workbench.Call) (any, error) {
	var p struct {
		ID, Label                string
		SupportsMultipleAccounts bool
	}
	if err := c.Args(&p); err != nil { // of 1.100.3
		if err := c.Args(&p.ID, &p.Label, &p.SupportsMultipleAccounts); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(tooLong("the id of a provider", p.ID), tooLong("the label of a provider", p.Label)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.providers[p.ID]
	switch {
	case p.ID == "":
		return nil, workbench.Invalid("authentication.registerAuthenticationProvider: the id of a provider expected")
	case before != nil && before.host == "":
		return nil, workbench.Invalid("authentication.registerAuthenticationProvider: the provider %q is one of the program that runs the host", p.ID)
	case before != nil && before.host != c.Host.Name():
		return nil, workbench.Invalid("authentication.registerAuthenticationProvider: the provider %q is registered in host %s already", p.ID, before.host)
	case before == nil && len(s.providers) >= maxProviders:
		return nil, workbench.Invalid("authentication.registerAuthenticationProvider: %d providers are registered, which is the limit", maxProviders)
	}
	from := &remote{s, p.ID, c.Host.Name(), c.Life}
	s.providers[p.ID] = &provider{p.ID, p.Label, p.SupportsMultipleAccounts, from, c.Host.Name(), c.Life}
	close(s.changed)
	s.changed = make(chan struct{})
	return nil, nil
}

func (s *Service) unregister(c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.providers[id]; p != nil && p.host == c.Host.Name() && p.life == c.Life {
		delete(s.providers, id)
	}
	return nil, nil
}

// changes answers $sendDidChangeSessions: the provider of an extension has other sessions.
func (s *Service) changes(c *workbench.Call) (any, error) {
	var id string
	var raw struct{ Added, Removed, Changed []json.RawMessage }
	if err := c.Args(&id, &raw); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p := s.providers[id]
	own := p != nil && p.host == c.Host.Name() && p.life == c.Life
	s.mu.Unlock()
	if !own {
		return nil, workbench.Invalid("the provider %q of accounts is not registered in this host", id)
	}
	var change Change
	for _, part := range []struct {
		dst *[]Session
		raw []json.RawMessage
	}{{&change.Added, raw.Added}, {&change.Removed, raw.Removed}, {&change.Changed, raw.Changed}} {
		for _, one := range part.raw {
			session, err := read(one)
			if err != nil {
				return nil, err
			}
			*part.dst = append(*part.dst, session)
		}
	}
	s.tell(id, change)
	return nil, nil
}

// tell tells all hosts that sessions of a provider have changed. They ask for them.
func (s *Service) tell(id string, change Change) {
	s.mu.Lock()
	p := s.providers[id]
	s.mu.Unlock()
	if p == nil || len(change.Added)+len(change.Removed)+len(change.Changed) == 0 {
		return
	}
	s.hold(p, slices.Concat(change.Added, change.Changed)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, gone := range change.Removed {
		for _, of := range s.given {
			delete(of, [2]string{id, gone.ID})
		}
	}
	s.hosts.Tell(extAuth+"$onDidChangeAuthenticationSessions", workbench.Params(p.id, p.label))
}

// ensure answers $ensureProvider: the extension of a provider is activated.
func (s *Service) ensure(ctx context.Context, c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	_, err := s.find(ctx, id)
	return nil, err
}

// find returns a provider, whose extension is activated first; nil if no extension registers it.
func (s *Service) find(ctx context.Context, id string) (*provider, error) {
	s.mu.Lock()
	p, declared := s.providers[id], len(s.declared[id]) > 0
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	if s.opt.Activate != nil && declared {
		if err := s.opt.Activate(ctx, "onAuthenticationRequest:"+id); err != nil {
			return nil, err
		}
	}
	timeout := time.NewTimer(registering)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		p, changed := s.providers[id], s.changed
		s.mu.Unlock()
		if p != nil || !declared {
			return p, nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, workbench.Invalid("the extension that declares the provider %q of accounts has not registered it within %v", id, registering)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// remote is the source of a provider in a host.
type remote struct {
	service *Service
	id      string
	host    string
	life    uint64
}

func (r *remote) call(ctx context.Context, method string, params []any, out any) error {
	r.service.mu.Lock()
	h := r.service.hosts[r.host]
	r.service.mu.Unlock()
	if h == nil || h.Life() != r.life {
		return workbench.Invalid("the provider %q of accounts ended with its host %s", r.id, r.host)
	}
	return h.Call(ctx, extAuth+method, workbench.Params(params...), out)
}

// options are those of a call.
func (q Query) options() map[string]any {
	out := map[string]any{}
	if q.Account != nil {
		out["account"] = q.Account
	}
	return out
}

// scopes returns the scopes as an argument.
func (q Query) scopes() any {
	if q.Scopes == nil {
		return workbench.Undefined
	}
	return q.Scopes
}

// Sessions implements [Source].
func (r *remote) Sessions(ctx context.Context, q Query) ([]Session, error) {
	var raw json.RawMessage
	if err := r.call(ctx, "$getSessions", []any{r.id, q.scopes(), q.options()}, &raw); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := workbench.Decode(raw, &list); err != nil {
		return nil, workbench.Invalid("the provider %q of accounts: a list of sessions expected", r.id)
	}
	out := make([]Session, len(list))
	for i, one := range list {
		var err error
		if out[i], err = read(one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Create implements [Source].
func (r *remote) Create(ctx context.Context, q Query) (Session, error) {
	if q.Scopes == nil {
		q.Scopes = []string{}
	}
	var raw json.RawMessage
	if err := r.call(ctx, "$createSession", []any{r.id, q.Scopes, q.options()}, &raw); err != nil {
		return Session{}, err
	}
	return read(raw)
}

// Remove implements [Source].
func (r *remote) Remove(ctx context.Context, id string) error {
	return r.call(ctx, "$removeSession", []any{r.id, id}, nil)
}

// read reads a session that an extension made.
func read(raw json.RawMessage) (Session, error) {
	var in struct {
		ID, AccessToken, IDToken string
		Account                  Account
		Scopes                   []string
	}
	var all map[string]json.RawMessage
	if len(raw) > maxSession {
		return Session{}, workbench.Invalid("a session of at most %d bytes expected of the provider of accounts, found %d", maxSession, len(raw))
	}
	if workbench.Decode(raw, &in) != nil || workbench.Decode(raw, &all) != nil || in.ID == "" || in.AccessToken == "" {
		// The text of the session is not told, it may have a token.
		return Session{}, workbench.Invalid("a session with id, accessToken, account and scopes expected of the provider of accounts")
	}
	if err := cmp.Or(tooLong("the id of a session", in.ID), tooLong("the id of an account", in.Account.ID), tooLong("the label of an account", in.Account.Label)); err != nil {
		return Session{}, err
	}
	for name, value := range all {
		if string(value) == "null" { // undefined
			delete(all, name)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return Session{}, err
	}
	return Session{in.ID, Token(in.AccessToken), Token(in.IDToken), in.Account, in.Scopes, raw}, nil
}

// result returns a session as an extension gets it.
func (s *Session) result() any {
	if s.raw != nil {
		return s.raw
	}
	out := map[string]any{"id": s.ID, "accessToken": string(s.AccessToken), "account": s.Account, "scopes": append([]string{}, s.Scopes...)}
	if s.IDToken != "" {
		out["idToken"] = string(s.IDToken)
	}
	return out
}
