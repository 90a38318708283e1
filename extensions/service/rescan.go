package service

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
)

// Kinds of differences.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed" // it has another version, manifest or folder
)

// Difference is one extension of which a look into the folders has found
// something else than the one before.
type Difference struct {
	Host   string `json:"host"` // whose extension it is, by the spec
	ID     string `json:"id"`
	Change string `json:"change"` // added, removed, changed
	Before string `json:"before"` // its version; "" (null as JSON) when it was added
	After  string `json:"after"`  // "" (null) when it was removed
}

// MarshalJSON implements json.Marshaler: what is absent is null.
func (d Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Host   string  `json:"host"`
		ID     string  `json:"id"`
		Change string  `json:"change"`
		Before *string `json:"before"`
		After  *string `json:"after"`
	}{d.Host, d.ID, d.Change, orNull(d.Before), orNull(d.After)})
}

// String is the difference in a line, without the host.
func (d Difference) String() string {
	switch {
	case d.Change == Added:
		return fmt.Sprintf("%s %s was added", d.ID, d.After)
	case d.Change == Removed:
		return fmt.Sprintf("%s %s was removed", d.ID, d.Before)
	case d.Before == d.After:
		return fmt.Sprintf("%s %s has changed", d.ID, d.After)
	}
	return fmt.Sprintf("%s %s has become %s", d.ID, d.Before, d.After)
}

// differences compares what was found with what is there now, by id.
func differences(host string, before, now []extensions.Extension) []Difference {
	old := map[extensions.ID]extensions.Extension{}
	for _, x := range before {
		old[x.ID] = x
	}
	out := []Difference{}
	for _, x := range now {
		was, ok := old[x.ID]
		delete(old, x.ID)
		switch {
		case !ok:
			out = append(out, Difference{Host: host, ID: x.Name(), Change: Added, After: x.Version})
		case !reflect.DeepEqual(was, x):
			out = append(out, Difference{Host: host, ID: x.Name(), Change: Changed, Before: was.Version, After: x.Version})
		}
	}
	for _, x := range old {
		out = append(out, Difference{Host: host, ID: x.Name(), Change: Removed, Before: x.Version})
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
	return out
}

// Rescan looks into the folders anew and has what is different count: what a
// start would find there now is what there is, but that an extension of which the
// package.json is there and cannot be read stays as it was. It returns the differences, by id,
// when hosts that they concern have been told, started or restarted; an empty
// list when there are none. What is wrong with extensions is told in the journal,
// unless it was told of the last look. When ctx ends before all was read, nothing
// is different; later what is different counts all the same. Errors:
// [ErrNoFolders], [ErrClosed], ctx's.
func (s *Service) Rescan(ctx context.Context) ([]Difference, error) {
	if !s.dialect.folders() {
		return nil, fmt.Errorf("%w: host %q", ErrNoFolders, s.base.Name())
	}
	// One after the other, so that what was seen last is what counts.
	select {
	case s.looks <- struct{}{}:
	case <-s.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := s.look(ctx)
	<-s.looks
	if err != nil || len(out) == 0 {
		return out, err
	}
	return out, s.quiet(ctx)
}

// look reads the folders and takes what is there, on the goroutine of who wants
// to know.
func (s *Service) look(ctx context.Context) ([]Difference, error) {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	before, err := get(ctx, s, func() []extensions.Extension { return s.found })
	if err != nil {
		return nil, err
	}
	now := s.dialect.find(reading, before)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.ctx.Err() != nil:
		return nil, ErrClosed
	}
	return get(context.WithoutCancel(ctx), s, func() []Difference { return s.taken(now) })
}

// taken has count what was found now.
func (s *Service) taken(now found) []Difference {
	list := differences(s.base.Name(), s.found, now.list)
	before := s.wrong
	s.wrong = map[string]bool{}
	fresh := func(problems []error) (out []error) {
		for _, err := range problems {
			if !before[err.Error()] && !s.wrong[err.Error()] {
				out = append(out, err)
			}
			s.wrong[err.Error()] = true
		}
		return out
	}
	for _, err := range fresh(now.problems) {
		s.problem("", err)
	}
	if len(list) == 0 {
		for text := range before { // what the registry refuses is as it was
			s.wrong[text] = true
		}
		return list
	}
	for _, d := range list {
		s.log.Info("found", "extension", d.ID, "change", d.Change, "before", d.Before, "after", d.After)
		s.tell(actors.Event{Kind: actors.KindExtension, Extension: string(extensions.MakeID(d.ID)), Reason: d.String()}, s.base.Name(), 0)
	}
	s.found, s.index = now.list, now.index
	s.remember()
	gone := s.forget(list)

	var c extensions.Change
	for _, d := range list {
		if id := extensions.MakeID(d.ID); d.Change != Added && s.registry.Has(id) {
			c.Remove = append(c.Remove, id)
		}
	}
	// What was refused may be welcome now that others are different.
	for _, x := range now.list {
		if s.disabled[x.ID] == "" && (!s.registry.Has(x.ID) || slices.Contains(c.Remove, x.ID)) {
			c.Add = append(c.Add, x)
			delete(s.refused, x.ID)
		}
	}
	r, problems := s.registry.Apply(c, nil)
	s.registry = r
	for _, err := range problems { // known, whether it is told or not
		s.refuse(err)
	}
	s.problems(fresh(problems))
	for number := range s.faults {
		if out := s.fault(number, blame.Forget{IDs: gone}); out.forgive {
			out.moved = false // everybody is, below
			s.follow(number, out)
		}
	}
	s.relocate()
	return list
}

// forget drops what was known of what is different, and returns those that are
// removed.
func (s *Service) forget(list []Difference) (gone []extensions.ID) {
	other := map[extensions.ID]bool{}
	for _, d := range list {
		id := extensions.MakeID(d.ID)
		other[id] = true
		if d.Change != Removed {
			continue
		}
		gone = append(gone, id)
		delete(s.refused, id)
		delete(s.record, id)
		delete(s.why, id)
	}
	for note := range s.notes {
		if other[note.ID] {
			delete(s.notes, note)
		}
	}
	for command, id := range s.command {
		if other[id] {
			delete(s.command, command)
		}
	}
	for _, p := range s.places {
		p.commands.Clear() // they may be somebody else's now
	}
	return gone
}
