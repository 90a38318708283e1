package extensions

import (
	"encoding/json"
	"slices"
)

// Delta is the update for a running host after a change of the registry, or of the
// extensions that the host runs. It encodes to the argument of the protocol's call.
type Delta struct {
	VersionID           int               `json:"versionId"`
	ToRemove            []Identifier      `json:"toRemove"`
	ToAdd               []json.RawMessage `json:"toAdd"` // descriptions
	AddActivationEvents map[ID][]string   `json:"addActivationEvents"`
	MyToRemove          []Identifier      `json:"myToRemove"` // this host no longer runs them
	MyToAdd             []Identifier      `json:"myToAdd"`    // this host runs them from now on
}

// Empty reports whether the delta changes only the version.
func (d Delta) Empty() bool {
	return len(d.ToRemove)+len(d.ToAdd)+len(d.MyToRemove)+len(d.MyToAdd) == 0
}

// View is what one life of a host knows about extensions. It is a value; the zero
// View knows nothing, so that its first delta contains everything.
type View struct {
	version int
	all     map[ID]known
	mine    map[ID]known
}

// known is what the host knows about an extension.
type known struct {
	since int
	name  Identifier
}

// Next returns the delta from v to the registry, and the view after it. mine reports
// which extensions the host runs, or has without running any code of theirs. Next returns
// false, and nothing must be sent, if the host knows this version or a newer one, or
// nothing changes for it.
//
// An extension that was replaced is in both ToRemove and ToAdd.
func (v View) Next(r Registry, mine func(Extension) bool) (View, Delta, bool) {
	if r.version <= v.version {
		return v, Delta{}, false
	}
	return v.Move(r, mine)
}

// Move is like Next, for a change of mine while the registry stays the same. It
// refuses a registry that is older than what the host knows.
func (v View) Move(r Registry, mine func(Extension) bool) (View, Delta, bool) {
	if r.version < v.version {
		return v, Delta{}, false
	}
	next := View{r.version, make(map[ID]known, len(r.list)), map[ID]known{}}
	d := Delta{VersionID: r.version, ToRemove: []Identifier{}, ToAdd: []json.RawMessage{}, AddActivationEvents: map[ID][]string{}, MyToRemove: []Identifier{}, MyToAdd: []Identifier{}}
	for _, e := range r.list {
		k := known{e.since, e.Identifier()}
		next.all[e.ID] = k
		old, ok := v.all[e.ID]
		replaced := ok && old.since != e.since
		if replaced {
			d.ToRemove = append(d.ToRemove, old.name)
		}
		if !ok || replaced {
			if e.Description != nil {
				d.ToAdd = append(d.ToAdd, e.Description)
			}
			if len(e.Events) > 0 {
				d.AddActivationEvents[e.ID] = e.Events
			}
		}
		was, had := v.mine[e.ID]
		if mine(e.Extension) {
			next.mine[e.ID] = k
			if had && replaced {
				d.MyToRemove = append(d.MyToRemove, was.name)
			}
			if !had || replaced {
				d.MyToAdd = append(d.MyToAdd, k.name)
			}
		} else if had {
			d.MyToRemove = append(d.MyToRemove, was.name)
		}
	}
	d.ToRemove = append(d.ToRemove, gone(v.all, next.all)...)
	d.MyToRemove = append(d.MyToRemove, gone(v.mine, next.all)...)
	return next, d, !d.Empty()
}

// gone returns what is in old but not in now, sorted by id.
func gone(old, now map[ID]known) []Identifier {
	var out []Identifier
	for id, k := range old {
		if _, ok := now[id]; !ok {
			out = append(out, k.name)
		}
	}
	slices.SortFunc(out, func(a, b Identifier) int {
		if a.Lower < b.Lower {
			return -1
		}
		return 1
	})
	return out
}
