package extensions

import (
	"errors"
	"slices"
)

// Registry is the set of known extensions. It is a value; the zero Registry is empty
// and has version 0.
type Registry struct {
	version int
	list    []entry
	index   map[ID]int
}

// entry is an extension with the version that added it, which tells a replaced
// extension from an unchanged one.
type entry struct {
	Extension
	since int
}

// Change lists what to remove and to add. Removals come first, so that an id in
// both is replaced.
type Change struct {
	Remove []ID
	Add    []Extension
}

// NewRegistry returns a registry of a first list of extensions, and the errors of
// those that it refused (see [Registry.Apply]).
func NewRegistry(list []Extension) (Registry, []error) {
	return Registry{}.Apply(Change{Add: list}, nil)
}

// Apply returns the registry after a change, with its version one higher, and an
// error for each refused part. It refuses to remove an extension that is unknown
// (ErrUnknown), or whose activation has begun according to started (ErrStarted; a
// nil started means none). It refuses to add an extension that is known
// (ErrDuplicate), has an invalid id (ErrBadID), or is in a dependency loop or needs
// an extension in one (ErrLoop). Extensions with new unknown dependencies are
// reported (ErrMissing) but kept. The rest of the change is applied.
func (r Registry) Apply(c Change, started func(ID) bool) (Registry, []error) {
	next := Registry{version: r.version + 1, list: slices.Clone(r.list)}
	var problems []error
	held := map[ID]bool{}
	gone := map[ID]bool{}
	for _, id := range c.Remove {
		switch {
		case !r.Has(id):
			problems = append(problems, &Error{ID: id, Cause: ErrUnknown})
		case started != nil && started(id):
			held[id] = true
			problems = append(problems, &Error{ID: id, Cause: ErrStarted})
		default:
			gone[id] = true
		}
	}
	next.list = slices.DeleteFunc(next.list, func(e entry) bool { return gone[e.ID] })
	known := map[ID]bool{}
	for _, e := range next.list {
		known[e.ID] = true
	}
	for _, e := range c.Add {
		switch {
		case !e.ID.Valid():
			problems = append(problems, &Error{ID: e.ID, Cause: ErrBadID})
		case held[e.ID]: // reported above
		case known[e.ID]:
			problems = append(problems, &Error{ID: e.ID, Cause: ErrDuplicate})
		default:
			known[e.ID] = true
			next.list = append(next.list, entry{e, next.version})
		}
	}
	// The old extensions have no loop, so every loop contains a new one, and it is
	// enough to refuse those.
	var loops []error
	_, wrong := Resolve(next.All())
	next.list = slices.DeleteFunc(next.list, func(e entry) bool {
		at := slices.IndexFunc(wrong, func(err error) bool { return about(err, e.ID, ErrLoop) })
		if at < 0 || e.since != next.version {
			return false
		}
		loops = append(loops, wrong[at])
		return true
	})
	_, wrong = Resolve(next.All())
	problems = append(problems, loops...)
	next.index = make(map[ID]int, len(next.list))
	for i, e := range next.list {
		next.index[e.ID] = i
	}
	for _, err := range wrong {
		var e *Error
		if errors.As(err, &e) && errors.Is(err, ErrMissing) && r.Has(e.ID) && !gone[e.ID] && !slices.ContainsFunc(e.Path, r.Has) {
			continue // reported when it was added
		}
		problems = append(problems, err)
	}
	return next, problems
}

// about reports whether err is about an extension and has that cause.
func about(err error, id ID, cause error) bool {
	var e *Error
	return errors.As(err, &e) && e.ID == id && errors.Is(err, cause)
}

// Version returns the number of changes. A host never gets an older version.
func (r Registry) Version() int { return r.version }

// Len returns the number of extensions.
func (r Registry) Len() int { return len(r.list) }

// Has reports whether the registry has an extension with this id.
func (r Registry) Has(id ID) bool { _, ok := r.index[id]; return ok }

// Get returns an extension.
func (r Registry) Get(id ID) (Extension, bool) {
	i, ok := r.index[id]
	if !ok {
		return Extension{}, false
	}
	return r.list[i].Extension, true
}

// All returns the extensions in their order.
func (r Registry) All() []Extension {
	out := make([]Extension, len(r.list))
	for i, e := range r.list {
		out[i] = e.Extension
	}
	return out
}

// Interested returns the extensions that an event activates, in order.
func (r Registry) Interested(event string) []ID {
	var out []ID
	for _, e := range r.list {
		if e.WantsEvent(event) {
			out = append(out, e.ID)
		}
	}
	return out
}
