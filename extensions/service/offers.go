package service

import (
	"context"
	"encoding/json"
)

// Offers is what the extensions offer to programs, those that are not disabled.
type Offers struct {
	Manifests []json.RawMessage // descriptions of the extensions, as hosts get them
	Commands  []string          // sorted ids: those of manifests, and those that are registered now
}

// Offers returns what the extensions offer now.
func (s *Service) Offers(ctx context.Context) (Offers, error) {
	return get(ctx, s, func() Offers {
		out := Offers{Commands: s.commands()}
		for _, e := range s.registry.All() {
			if e.Description != nil {
				out.Manifests = append(out.Manifests, e.Description)
			}
		}
		return out
	})
}

// offersChanged reports a change of what Offers returns.
func (s *Service) offersChanged() {
	if s.tree.Changed != nil {
		s.tree.Changed()
	}
}
