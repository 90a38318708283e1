package language

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/workbench"
)

// Relation is what [Service.Related] asks for.
type Relation string

// The relations of an item of [FeatureCallHierarchy] and [FeatureTypeHierarchy].
const (
	Incoming   Relation = "incoming"   // calls of the item
	Outgoing   Relation = "outgoing"   // calls in the item
	Supertypes Relation = "supertypes" // the types that the item is made of
	Subtypes   Relation = "subtypes"   // the types that are made of the item
)

// relations are the methods of hosts, without "ExtHostLanguageFeatures.$", and the property of a result
// that has the item; "": the result itself is the item.
var relations = map[Relation]struct{ method, item string }{
	Incoming:   {"provideCallHierarchyIncomingCalls", "from"},
	Outgoing:   {"provideCallHierarchyOutgoingCalls", "to"},
	Supertypes: {"provideTypeHierarchySupertypes", ""},
	Subtypes:   {"provideTypeHierarchySubtypes", ""},
}

// relationOf has the features that ask for an item and its relations in one step.
var relationOf = map[Feature]struct {
	prepare Feature
	what    Relation
}{
	FeatureIncoming: {FeatureCallHierarchy, Incoming}, FeatureOutgoing: {FeatureCallHierarchy, Outgoing},
	FeatureSupertypes: {FeatureTypeHierarchy, Supertypes}, FeatureSubtypes: {FeatureTypeHierarchy, Subtypes},
}

// askRelated asks for the items at a position and for the relations of each.
func (s *Service) askRelated(ctx context.Context, q Query, prepare Feature, what Relation) ([]HierarchyItem, error) {
	q.Feature = prepare
	items, err := Get[[]HierarchyItem](ctx, s, q)
	if err != nil {
		return nil, err
	}
	out := []HierarchyItem{}
	for _, one := range items {
		list, err := s.Related(ctx, one, what)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// inSession returns an item whose session also names the result that is held. Sessions of different
// providers have the same names.
func inSession(raw json.RawMessage, number int) json.RawMessage {
	var object map[string]json.RawMessage
	var session string
	if json.Unmarshal(raw, &object) != nil || json.Unmarshal(object[sessionID], &session) != nil {
		return raw
	}
	object[sessionID] = encode(fmt.Sprintf("%d~%s", number, session))
	return encode(object)
}

// related asks the provider of an item. It returns results as hosts send them.
func (s *Service) related(ctx context.Context, session, itemID string, what Relation) ([]json.RawMessage, error) {
	r, known := relations[what]
	if !known {
		return nil, workbench.Invalid("unknown relation %q", what)
	}
	number, session, _ := strings.Cut(session, "~")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, workbench.Invalid("%q is not the session of an item", number)
	}
	var p scored
	s.mu.Lock()
	for _, h := range s.held {
		if h.number == n {
			p = h.p
		}
	}
	s.mu.Unlock()
	if p.provider == nil {
		return nil, errExpired
	}
	var list []json.RawMessage
	if err := p.on.Call(ctx, extHost+r.method, workbench.Params(p.handle, session, itemID, token), &list); err != nil {
		return nil, &ProviderError{p.host, Feature(what), err}
	}
	return relatedItems(list, r.item, n)
}

// relatedItems puts the number of a result into the sessions of items. property is that of each object
// of the list that has the item; "": the object itself is the item.
func relatedItems(list []json.RawMessage, property string, number int) ([]json.RawMessage, error) {
	for i, raw := range list {
		if property == "" {
			list[i] = inSession(raw, number)
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil || object == nil {
			return nil, workbench.Invalid("an object with the property %q expected of the provider, found %.40q", property, raw)
		}
		object[property] = inSession(object[property], number)
		list[i] = encode(object)
	}
	return list, nil
}

// Related returns the items that an item calls, that call it, or from which its type is made. An item
// that is not one of the last 32 results any more, or whose host has ended, is found again at its place
// first, once: the error is that of its document or provider, or says that no such item is there.
func (s *Service) Related(ctx context.Context, of HierarchyItem, what Relation) ([]HierarchyItem, error) {
	list, err := s.related(ctx, of.Session, of.Item, what)
	var ended *actors.HostError
	if errors.Is(err, errExpired) || errors.As(err, &ended) {
		now, gone := s.foundAgain(ctx, of, what)
		if gone != nil {
			return nil, fmt.Errorf("%w; %w", err, gone)
		}
		list, err = s.related(ctx, now.Session, now.Item, what)
	}
	if err != nil {
		return nil, err
	}
	return decodeRelated(list, relations[what].item)
}

// foundAgain returns the item that is now where an item was.
func (s *Service) foundAgain(ctx context.Context, of HierarchyItem, what Relation) (HierarchyItem, error) {
	uri, err := workbench.ParseURI(string(of.URI))
	if err != nil {
		return of, err
	}
	q := Query{Feature: FeatureTypeHierarchy, URI: uri, Position: of.Selection.Start}
	if what == Incoming || what == Outgoing {
		q.Feature = FeatureCallHierarchy
	}
	items, err := Get[[]HierarchyItem](ctx, s, q)
	if err != nil {
		return of, err
	}
	for _, one := range items {
		if one.Name == of.Name && one.Kind == of.Kind {
			return one, nil
		}
	}
	return of, workbench.Invalid("%s %s is not at %s any more", of.Kind, of.Name, Place(of.URI.Path(), of.Selection.Start))
}

// decodeRelated decodes results. name is the property of each that has the item; "": it is the item.
func decodeRelated(list []json.RawMessage, name string) ([]HierarchyItem, error) {
	out := make([]HierarchyItem, len(list))
	for i, raw := range list {
		at := raw
		if name != "" {
			at = property(raw, name)
		}
		if err := json.Unmarshal(at, &out[i]); err != nil {
			return nil, err
		}
		if ranges := property(raw, "fromRanges"); ranges != nil {
			if err := json.Unmarshal(ranges, &out[i].CallsFrom); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
