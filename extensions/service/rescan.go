package service

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// differences compares two lists, by id.
func differences(host string, before, now []extensions.Extension) []extensions.Difference {
	old := map[extensions.ID]extensions.Extension{}
	for _, x := range before {
		old[x.ID] = x
	}
	out := []extensions.Difference{}
	for _, x := range now {
		was, ok := old[x.ID]
		delete(old, x.ID)
		switch {
		case !ok:
			out = append(out, extensions.Difference{Host: host, ID: x.Name(), Change: extensions.Added, After: x.Version})
		case !reflect.DeepEqual(was, x):
			out = append(out, extensions.Difference{Host: host, ID: x.Name(), Change: extensions.Changed, Before: was.Version, After: x.Version})
		}
	}
	for _, x := range old {
		out = append(out, extensions.Difference{Host: host, ID: x.Name(), Change: extensions.Removed, Before: x.Version})
	}
	slices.SortFunc(out, func(a, b extensions.Difference) int {
		return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
	})
	return out
}

// Rescan scans the folders again and applies the differences: afterwards the extensions
// are those that a start would find, except that one whose package.json exists but cannot
// be read stays unchanged. Rescan returns the differences, by id, after the hosts concerned
// have been updated, started or restarted. It reports mistakes of extensions in the
// journal, unless the last scan did. If ctx is done before all was read, nothing changes;
// if it is done later, the differences are applied nevertheless. Errors: [extensions.ErrNoFolders],
// [ErrClosed], that of ctx.
func (s *Service) Rescan(ctx context.Context) ([]extensions.Difference, error) {
	if !s.dialect.folders() {
		return nil, fmt.Errorf("%w: host %q", extensions.ErrNoFolders, s.base.Name())
	}
	// Scans run one after the other, so that the last one applies.
	select {
	case s.scans <- struct{}{}:
	case <-s.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := s.scanFolders(ctx)
	<-s.scans
	if err != nil || len(out) == 0 {
		return out, err
	}
	return out, s.waitIdle(ctx)
}

// scanFolders reads the folders on the goroutine of the caller and applies the result.
func (s *Service) scanFolders(ctx context.Context) ([]extensions.Difference, error) {
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
	return get(context.WithoutCancel(ctx), s, func() []extensions.Difference { return s.applyScan(now) })
}

// applyScan applies the result of a scan.
func (s *Service) applyScan(now found) []extensions.Difference {
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
		for text := range before { // refusals of the registry are unchanged
			s.wrong[text] = true
		}
		return list
	}
	for _, d := range list {
		s.log.Info("found", "extension", d.ID, "change", d.Change, "before", d.Before, "after", d.After)
		s.emit(record.Event{Kind: record.KindExtension, Extension: string(extensions.MakeID(d.ID)), Reason: d.String()}, s.base.Name(), 0)
	}
	s.found, s.index = now.list, now.index
	s.publishMethods()
	gone := s.forget(list)

	var c extensions.Change
	for _, d := range list {
		if id := extensions.MakeID(d.ID); d.Change != extensions.Added && s.registry.Has(id) {
			c.Remove = append(c.Remove, id)
		}
	}
	// Extensions that were refused may be valid after changes of others.
	for _, x := range now.list {
		if s.disabled[x.ID] == "" && (!s.registry.Has(x.ID) || slices.Contains(c.Remove, x.ID)) {
			c.Add = append(c.Add, x)
			delete(s.refused, x.ID)
		}
	}
	r, problems := s.registry.Apply(c, nil)
	s.registry = r
	for _, err := range problems { // remembered even if not reported
		s.refuse(err)
	}
	s.problems(fresh(problems))
	for number := range s.faults {
		if out := s.fault(number, blame.Forget{IDs: gone}); out.forgive {
			out.moved = false // all are relocated below
			s.carryOut(number, out)
		}
	}
	s.offersChanged()
	s.relocate()
	return list
}

// forget drops the state of changed extensions, and returns the removed ones.
func (s *Service) forget(list []extensions.Difference) (gone []extensions.ID) {
	other := map[extensions.ID]bool{}
	for _, d := range list {
		id := extensions.MakeID(d.ID)
		other[id] = true
		if d.Change != extensions.Removed {
			continue
		}
		gone = append(gone, id)
		delete(s.refused, id)
		delete(s.history, id)
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
	for _, p := range s.hosts {
		p.commands.Clear() // they may belong to other extensions now
	}
	return gone
}
