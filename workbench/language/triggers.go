package language

import (
	"encoding/json"
	"slices"
)

// Triggers are the characters behind which an editor asks by itself, those of all providers that are
// registered, in order.
type Triggers struct {
	Completion []string
	Signature  []string
	Retrigger  []string // for signatures, while one is shown
	Format     []string // for FeatureFormatOnType
}

// Triggers returns the characters at the time. Extensions register theirs when they are activated, which
// the question about a document of their language does.
func (s *Service) Triggers() Triggers {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*provider
	for _, p := range s.providers.list {
		if on := s.hosts[p.host]; on != nil && on.Life() == p.life {
			list = append(list, p)
		}
	}
	return triggersOf(list)
}

func triggersOf(providers []*provider) (t Triggers) {
	for _, p := range providers {
		if len(p.rest) < 2 {
			continue
		}
		var list []string
		var signature struct{ TriggerCharacters, RetriggerCharacters []string }
		_, _ = json.Unmarshal(p.rest[1], &list), json.Unmarshal(p.rest[1], &signature)
		switch p.kind {
		case features[FeatureCompletion].register:
			t.Completion = append(t.Completion, list...)
		case features[FeatureFormatOnType].register:
			t.Format = append(t.Format, list...)
		case features[FeatureSignature].register:
			t.Signature = append(t.Signature, signature.TriggerCharacters...)
			t.Retrigger = append(t.Retrigger, signature.RetriggerCharacters...)
		}
	}
	for _, list := range []*[]string{&t.Completion, &t.Signature, &t.Retrigger, &t.Format} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return t
}

// Subscribe calls changed when providers or hosts have changed, until stop is called. changed must not
// block and must not call the service.
func (s *Service) Subscribe(changed func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &changed
	s.subscribers[own] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, own)
	}
}

// hasTrigger reports whether the provider of completions or of formatting is asked when a character is
// typed.
func (p *provider) hasTrigger(typed string) bool {
	var all []string
	_ = json.Unmarshal(p.rest[1], &all)
	return slices.Contains(all, typed)
}
