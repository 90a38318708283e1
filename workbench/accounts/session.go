package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// NameNotAllowed is the name of the error for an extension that may not use an account.
const NameNotAllowed = "NotAllowed"

// request is a call of authentication.getSession.
type request struct {
	host, extension              string
	provider                     string
	query                        Query
	create, force, silent, clear bool
}

// readRequest reads the arguments of $getSession: the provider, scopes, the id and name of the extension,
// and options.
func readRequest(c *workbench.Call) (r request, err error) {
	const api = "authentication.getSession"
	var o struct {
		CreateIfNone, ForceNewSession  any // boolean, or an object with a text for the user
		Silent, ClearSessionPreference bool
		Account                        *Account
		AuthorizationServer            json.RawMessage
	}
	if err := c.Args(&r.provider, nil, &r.extension, nil, &o); err != nil {
		return r, err
	}
	if err := cmp.Or(tooLong("the id of a provider", r.provider), tooLong("the id of an extension", r.extension)); err != nil {
		return r, err
	}
	if raw := c.Raw(1); len(raw) > 0 && raw[0] == '{' {
		return r, workbench.NotSupported(api, "a challenge instead of scopes")
	}
	if err := c.Args(nil, &r.query.Scopes); err != nil {
		return r, err
	}
	if len(o.AuthorizationServer) > 0 && string(o.AuthorizationServer) != "null" {
		return r, workbench.NotSupported(api, "the option authorizationServer")
	}
	wished := func(v any) bool { return v != nil && v != false }
	r.create, r.force, r.silent, r.clear = wished(o.CreateIfNone), wished(o.ForceNewSession), o.Silent, o.ClearSessionPreference
	r.query.Account, r.extension = o.Account, strings.ToLower(r.extension)
	if r.query.Scopes == nil {
		r.query.Scopes = []string{}
	}
	if c.Host != nil {
		r.host = c.Host.Name()
	}
	for _, two := range []struct {
		both        bool
		first, then string
	}{
		{r.force && r.create, "forceNewSession", "createIfNone"},
		{r.force && r.silent, "forceNewSession", "silent"},
		{r.create && r.silent, "createIfNone", "silent"},
	} {
		if two.both {
			return r, workbench.Invalid("%s: the options %s and %s exclude each other", api, two.first, two.then)
		}
	}
	return r, nil
}

// session answers $getSession.
func (s *Service) session(ctx context.Context, c *workbench.Call) (any, error) {
	r, err := readRequest(c)
	if err != nil {
		return nil, err
	}
	if s.opt.Runs != nil {
		if runs, err := s.opt.Runs(ctx, r.host, r.extension); err != nil {
			return nil, err
		} else if !runs {
			return nil, &codec.Error{Name: NameNotAllowed, Message: fmt.Sprintf("authentication.getSession: extension %q does not run in host %q", r.extension, r.host)}
		}
	}
	p, err := s.find(ctx, r.provider)
	switch {
	case err != nil:
		return nil, err
	case p == nil && (r.create || r.force):
		return nil, workbench.NotSupported("authentication.getSession", fmt.Sprintf("there is no provider %q of accounts", r.provider))
	case p == nil:
		return workbench.Undefined, nil
	}
	found, err := s.choose(ctx, p, r)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return workbench.Undefined, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.given[r.host]
	if of == nil {
		of = map[[2]string]bool{}
		s.given[r.host] = of
	}
	if len(of) < maxKept {
		of[[2]string{p.id, found.ID}] = true
	}
	return found.result(), nil
}

// choose finds or makes the session for an extension; nil if it is to have none. The steps are those
// of VS Code, with the policy in the place of the user.
func (s *Service) choose(ctx context.Context, p *provider, r request) (*Session, error) {
	list, err := p.source.Sessions(ctx, r.query)
	if err != nil {
		return nil, err
	}
	s.hold(p, list...)
	key := [2]string{r.extension, p.id}
	s.mu.Lock()
	if r.clear {
		delete(s.prefers, key)
	}
	label, prefers := s.prefers[key]
	s.mu.Unlock()

	var preferred *Session
	for i := range list {
		if r.query.Account != nil || prefers && list[i].Account.Label == label {
			preferred = &list[i]
			break
		}
	}
	if !r.force {
		if preferred != nil && s.allowed(p, r, preferred.Account) {
			return preferred, nil
		}
		if !p.multiple && len(list) > 0 && s.allowed(p, r, list[0].Account) {
			return &list[0], nil
		}
	}
	if r.create || r.force {
		found, err := s.signIn(ctx, p, r, list, preferred)
		if err == nil {
			s.prefer(key, found.Account.Label)
		}
		return found, err
	}
	if preferred == nil && !prefers {
		for i := range list {
			if s.allowed(p, r, list[i].Account) {
				return &list[i], nil
			}
		}
	}
	if len(list) > 0 && !r.silent {
		s.report(r)
	}
	return nil, nil
}

// signIn returns one of the sessions that there are, or makes one.
func (s *Service) signIn(ctx context.Context, p *provider, r request, list []Session, preferred *Session) (*Session, error) {
	if !r.force && len(list) > 0 {
		if !p.multiple || r.query.Account != nil {
			list = list[:1]
		}
		for i := range list {
			if s.allowed(p, r, list[i].Account) {
				return &list[i], nil
			}
		}
		return nil, s.refused(r)
	}
	q := r.query
	if q.Account == nil && preferred != nil {
		q.Account = &preferred.Account
	}
	var account Account
	if q.Account != nil {
		account = *q.Account
	}
	if !s.allowed(p, r, account) {
		return nil, s.refused(r)
	}
	made, err := p.source.Create(ctx, q)
	if err != nil {
		return nil, err
	}
	s.hold(p, made)
	if p.host == "" { // those of extensions tell it
		s.tell(p.id, Change{Added: []Session{made}})
	}
	if r.query.Account != nil && made.Account.Label != r.query.Account.Label {
		return nil, workbench.Invalid("authentication.getSession: the account %q has signed in, %q was asked for", made.Account.Label, r.query.Account.Label)
	}
	if !s.allowed(p, r, made.Account) {
		return nil, s.refused(r)
	}
	return &made, nil
}

// prefer notes which account an extension has used last.
func (s *Service) prefer(key [2]string, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.prefers[key]; known || len(s.prefers) < maxKept {
		s.prefers[key] = label
	}
}

// allowed asks the policy.
func (s *Service) allowed(p *provider, r request, account Account) bool {
	s.mu.Lock()
	declared := s.declared[p.id]
	s.mu.Unlock()
	own := p.host != "" && len(declared) == 1 && declared[0] == r.extension
	listed := slices.ContainsFunc(s.opt.Listed[p.id], func(id string) bool { return strings.EqualFold(id, r.extension) })
	if s.opt.Allow == nil {
		return own || listed
	}
	return s.opt.Allow(Access{r.host, r.extension, p.id, account, own || listed})
}

// refused reports that an extension may not use an account and returns the error for that.
func (s *Service) refused(r request) error {
	return &codec.Error{Name: NameNotAllowed, Message: "authentication.getSession: " + s.report(r)}
}

// report reports once in a life of its host that an extension may not use accounts of a provider.
func (s *Service) report(r request) (text string) {
	text = fmt.Sprintf("extension %q may not use accounts of the provider %q", r.extension, r.provider)
	key := [3]string{r.host, r.extension, r.provider}
	s.mu.Lock()
	tell := s.opt.Report != nil && !s.reported[key] && len(s.reported) < maxKept
	if tell {
		s.reported[key] = true
	}
	s.mu.Unlock()
	if tell {
		s.opt.Report(r.host, text)
	}
	return text
}

// accounts answers $getAccounts. As in VS Code, they are no secret among extensions.
func (s *Service) accounts(ctx context.Context, c *workbench.Call) (any, error) {
	var id string
	if err := c.Args(&id); err != nil {
		return nil, err
	}
	out := []Account{}
	p, err := s.find(ctx, id)
	if p == nil || err != nil {
		return out, err
	}
	list, err := p.source.Sessions(ctx, Query{})
	if err != nil {
		return nil, err
	}
	s.hold(p, list...)
	seen := map[string]bool{}
	for _, one := range list {
		if !seen[one.Account.ID] {
			seen[one.Account.ID] = true
			out = append(out, one.Account)
		}
	}
	return out, nil
}

// remove answers $removeSession: a host removes a session that it was given.
func (s *Service) remove(ctx context.Context, c *workbench.Call) (any, error) {
	var provider, id string
	if err := c.Args(&provider, &id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p := s.providers[provider]
	given := s.given[c.Host.Name()][[2]string{provider, id}]
	s.mu.Unlock()
	if p == nil || !given {
		return nil, &codec.Error{Name: NameNotAllowed, Message: fmt.Sprintf("the session of the provider %q of accounts is not one that this host was given", provider)}
	}
	if err := p.source.Remove(ctx, id); err != nil {
		return nil, err
	}
	if p.host == "" {
		s.tell(p.id, Change{Removed: []Session{{ID: id}}})
	}
	return nil, nil
}
