package language

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench"
)

// maxAnswers bounds the answers of all providers to one question, in bytes.
const maxAnswers = 128 << 20

// token is a cancellation token, as package codec/vscode writes it.
var token = workbench.Token

// question is what providers are asked.
type question struct {
	name Feature
	doc  document
	args []any                   // between the document and the token
	only func(p *provider) bool  // nil: all providers
	with func(p *provider) []any // in the place of args, if it is different for each provider
	size *atomic.Int64           // bytes of the answers so far

	listed *atomic.Bool // a provider has answered with a list; nil: it does not matter
}

// item is a part of what a provider has answered, as the host has sent it.
type item struct {
	p    scored
	rank int // of the provider
	raw  json.RawMessage
	ref  string // by which it can be resolved; "": it has no more parts
	open bool   // of a completion: its list is incomplete
}

// ProviderError means that a provider has failed, or that the life of its host has ended.
type ProviderError struct {
	Host    string // the name of the host
	Feature Feature
	Err     error // *codec.Error, *actors.HostError, *actors.CallError
}

// Error names the feature and the host.
func (e *ProviderError) Error() string {
	return fmt.Sprintf("%s in host %q: %v", e.Feature, e.Host, e.Err)
}

// Unwrap returns Err.
func (e *ProviderError) Unwrap() error { return e.Err }

// answer is what a provider has answered.
type answer struct {
	items []item
	err   error
}

// ask asks providers and returns their items, in the order of the providers. If a life ends meanwhile,
// all are asked once more. The error is [ErrNoProvider], the end of a life, or what a provider has
// failed with if no other one has an answer.
func (s *Service) ask(ctx context.Context, q question) ([]item, error) {
	f := features[q.name]
	for again := false; ; again = true {
		list := s.find(f, q.doc)
		if q.only != nil {
			list = slices.DeleteFunc(list, func(p scored) bool { return !q.only(p.provider) })
		}
		if len(list) == 0 {
			err := fmt.Errorf("%s of %s: %w", q.name, q.doc, ErrNoProvider)
			return nil, errors.Join(err, q.doc.failed)
		}
		items, lost, err := s.askOnce(ctx, f, q, list)
		switch {
		case len(lost) == 0 && len(items) > 0:
			return items, nil
		case len(lost) == 0 || again:
			return nil, err
		}
		if !s.await(ctx, f, q, lost) {
			return nil, err
		}
	}
}

// String names a document in errors.
func (d document) String() string {
	if d.uri.Scheme == "" {
		return "the workspace"
	}
	if path, ok := d.uri.FilePath(); ok {
		return path
	}
	return d.uri.String()
}

// askOnce asks the providers. lost are those whose life has ended.
func (s *Service) askOnce(ctx context.Context, f feature, q question, list []scored) (items []item, lost []scored, err error) {
	rounds := [][]scored{list}
	switch f.how {
	case askGroup:
		rounds = groups(list)
	case askBest:
		rounds = groups(list)[:1]
	case askFirst, askOne:
		rounds = slices.Collect(slices.Chunk(list, 1))
		if f.how == askOne {
			rounds = rounds[:1]
		}
	}
	q.size = &atomic.Int64{}
	var errs []error
	rank := 0
	for _, round := range rounds {
		answers := make([]answer, len(round))
		var work sync.WaitGroup
		for i, p := range round[1:] {
			work.Go(func() { answers[i+1] = s.provide(ctx, f, q, p, rank+i+1) })
		}
		answers[0] = s.provide(ctx, f, q, round[0], rank)
		work.Wait()
		rank += len(round)
		for i, a := range answers {
			var ended *actors.HostError
			if errors.As(a.err, &ended) {
				lost = append(lost, round[i])
			}
			errs = append(errs, a.err)
			if f.how != askBest || len(items) == 0 {
				items = append(items, a.items...)
			}
		}
		if f.how != askAll && len(items) > 0 || ctx.Err() != nil {
			break
		}
	}
	return items, lost, errors.Join(errs...)
}

// await waits until the providers that were lost are registered again, in a life that is up. It reports
// whether they are.
func (s *Service) await(ctx context.Context, f feature, q question, lost []scored) bool {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience)
	defer cancel()
	for activated := false; ; {
		s.mu.Lock()
		changed := s.changed
		now := s.providers.find(s.hosts, f.register, q.doc)
		up := !slices.ContainsFunc(lost, func(p scored) bool { h := s.hosts[p.host]; return h == nil || h == p.on })
		s.mu.Unlock()
		if !slices.ContainsFunc(lost, func(p scored) bool {
			return !slices.ContainsFunc(now, func(n scored) bool { return n.on != p.on && n.text == p.text })
		}) {
			return true
		}
		if up && !activated { // what has no service that does so is activated here
			activated = true
			if s.activate(ctx, q.doc.language) == nil {
				continue
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// provide asks one provider.
func (s *Service) provide(ctx context.Context, f feature, q question, p scored, rank int) answer {
	args := []any{p.handle}
	if q.doc.uri.Scheme != "" {
		args = append(args, q.doc.uri)
	}
	if q.with != nil {
		args = append(args, q.with(p.provider)...)
	} else {
		args = append(args, q.args...)
	}
	var raw json.RawMessage
	if err := p.on.Call(ctx, extHost+f.provide, workbench.Params(append(args, token)...), &raw); err != nil {
		return answer{err: &ProviderError{p.host, q.name, err}}
	}
	if err := within(q.size, len(raw)); err != nil {
		return answer{err: &ProviderError{p.host, q.name, err}}
	}
	if q.listed != nil && !isNothing(raw) {
		q.listed.Store(true)
	}
	items, ids, err := f.parse(raw)
	if err != nil {
		return answer{err: &ProviderError{p.host, q.name, err}}
	}
	if len(items) == 1 && f.register == features[FeatureRename].register {
		var reason string
		if json.Unmarshal(property(items[0].raw, "rejectReason"), &reason) == nil && reason != "" {
			return answer{err: fmt.Errorf("%w: %s", ErrRejected, reason)}
		}
	}
	var number int
	for i := range items {
		items[i].p, items[i].rank = p, rank
	}
	if f.release != "" && len(ids) > 0 {
		number = s.hold(&held{p: p, feature: f, ids: ids, items: items})
	}
	if f.release != "" && f.cache == sessionID {
		for i := range items {
			items[i].raw = inSession(items[i].raw, number)
		}
	}
	if number > 0 && p.resolves(f) {
		for i := range items {
			items[i].ref = fmt.Sprintf("%d/%d", number, i)
		}
	}
	return answer{items: items}
}

// within adds to the bytes of the answers to a question, and returns an error if they are too many.
func within(size *atomic.Int64, bytes int) error {
	if size.Add(int64(bytes)) > maxAnswers {
		return workbench.Invalid("the answers of the providers have more than %d MiB together, which is the limit", maxAnswers>>20)
	}
	return nil
}

// isNothing reports whether a value is null or undefined.
func isNothing(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == string(workbench.Undefined)
}

// isEmpty reports whether a list is nothing or has no item.
func isEmpty(raw json.RawMessage) bool { return isNothing(raw) || string(raw) == "[]" }

// parse returns the items of a result, and what must be released.
func (f feature) parse(raw json.RawMessage) (items []item, ids []json.RawMessage, err error) {
	if isNothing(raw) {
		return nil, nil, nil
	}
	if f.register == features[FeatureTokens].register || f.register == features[FeatureRangeTokens].register {
		var data workbench.Bytes
		if err := json.Unmarshal(raw, &data); err != nil || len(data) < 4 {
			return nil, nil, fmt.Errorf("semantic tokens expected: %w", err)
		}
		id := binary.LittleEndian.Uint32(data)
		return []item{{raw: raw}}, []json.RawMessage{json.RawMessage(fmt.Sprint(id))}, nil
	}
	var object map[string]json.RawMessage
	if f.list != "" || f.single && f.cache != "" {
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, nil, err
		}
		if id := object[f.cache]; !isNothing(id) {
			ids = append(ids, id)
		}
	}
	if f.single {
		if f.needs != "" && isEmpty(property(raw, f.needs)) {
			return nil, nil, nil
		}
		return []item{{raw: raw}}, ids, nil
	}
	if f.list != "" {
		raw = object[f.list]
	}
	var list []json.RawMessage
	if !isNothing(raw) {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, nil, err
		}
	}
	seen := map[string]bool{}
	for _, one := range list {
		if isNothing(one) {
			continue
		}
		if f.list == "b" { // completions have short names on the wire
			if one, err = suggestion(one, object["a"]); err != nil {
				return nil, nil, err
			}
		}
		items = append(items, item{raw: one, open: f.list == "b" && string(object["c"]) == "true"})
		if f.list == "" && f.cache != "" { // each item has its session, mostly the same one
			if id := property(one, f.cache); !seen[string(id)] {
				seen[string(id)] = true
				ids = append(ids, id)
			}
		}
	}
	return items, ids, nil
}

// property returns a property of an object; nil if it has none.
func property(raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object[name]
}
