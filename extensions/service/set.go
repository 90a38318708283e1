package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
)

// Has reports whether an extension with this id was found.
func (s *Service) Has(ctx context.Context, id string) (bool, error) {
	return get(ctx, s, func() bool {
		_, ok := s.extension(extensions.MakeID(id))
		return ok
	})
}

// Runs reports whether an extension with this id runs in a host, or will when the host starts.
func (s *Service) Runs(ctx context.Context, host, id string) (bool, error) {
	return get(ctx, s, func() bool {
		at := s.placed.Places[extensions.MakeID(id)]
		return at.Kind != "" && s.name(at) == host
	})
}

func (s *Service) extension(id extensions.ID) (extensions.Extension, bool) {
	i := slices.IndexFunc(s.found, func(e extensions.Extension) bool { return e.ID == id })
	if i < 0 {
		return extensions.Extension{}, false
	}
	return s.found[i], true
}

// Set carries out an operation, and returns after the hosts concerned have been updated,
// started or restarted. Errors: [extensions.ErrUnknown], [extensions.ErrVerb], why an extension cannot
// be used, [ErrClosed], that of ctx.
func (s *Service) Set(ctx context.Context, id string, verb extensions.Verb) error {
	failed, err := get(ctx, s, func() error { return s.set(extensions.MakeID(id), verb) })
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	return s.waitIdle(ctx)
}

func (s *Service) set(id extensions.ID, verb extensions.Verb) error {
	e, ok := s.extension(id)
	if !ok {
		return fmt.Errorf("%w: %q", extensions.ErrUnknown, id)
	}
	at := s.placed.Places[id]
	number := at.Number
	if at.Cell != "" {
		number = s.owner[at.Cell]
	}
	switch verb {
	case extensions.Enable:
		if s.disabled[id] == "" {
			return nil
		}
		delete(s.disabled, id)
		delete(s.refused, id)
		return s.change(extensions.Change{Add: []extensions.Extension{e}})
	case extensions.Disable:
		if s.disabled[id] != "" {
			return nil
		}
		s.disabled[id] = "disabled by a person"
		if !s.registry.Has(id) {
			return nil
		}
		return s.change(extensions.Change{Remove: []extensions.ID{id}})
	case extensions.Isolate:
		if at.Kind == "" || at.Cell == string(id) {
			return nil // it runs nowhere, or already there
		}
		s.carryOut(number, s.fault(number, blame.Isolate{ID: id}))
	case extensions.Release:
		s.carryOut(number, s.fault(number, blame.Release{ID: id}))
	default:
		return fmt.Errorf("%w: %q", extensions.ErrVerb, verb)
	}
	return nil
}

// change changes the registry.
func (s *Service) change(c extensions.Change) error {
	r, problems := s.registry.Apply(c, nil)
	s.registry = r
	s.problems(problems)
	s.offersChanged()
	s.relocate()
	for _, e := range c.Add {
		if !r.Has(e.ID) {
			return errors.Join(problems...)
		}
	}
	return nil
}

// Status returns the status of all extensions, in the order of the registry.
func (s *Service) Status(ctx context.Context) ([]extensions.Status, error) {
	return get(ctx, s, s.status)
}

func (s *Service) status() []extensions.Status {
	out := make([]extensions.Status, 0, len(s.found))
	figures, countPerHost := s.figures(), s.countPerHost()
	for _, e := range s.found {
		st := extensions.Status{Host: s.base.Name(), ID: e.Name(), Version: e.Version, State: string(activation.Inactive)}
		if at := s.placed.Places[e.ID]; at.Kind != "" {
			st.Place = s.name(at)
		}
		if r := s.history[e.ID]; r != nil {
			st.Blame.SuspectIn, st.Blame.Decision = len(r.crashes), r.decision
		}
		for _, f := range s.faults {
			if slices.Contains(f.machine.Quarantined(), e.ID) {
				st.Blame.Quarantined = true
			}
			if until := f.machine.TrialUntil(e.ID); !until.IsZero() {
				st.Blame.Decision += ", until " + until.UTC().Format(time.RFC3339)
			}
		}
		now, known := s.active.Get(e.ID)
		switch {
		case s.disabled[e.ID] != "":
			st.State, st.Why = "disabled", s.disabled[e.ID]
		case s.refused[e.ID] != "":
			st.State, st.Why = string(activation.Broken), strings.TrimPrefix(s.refused[e.ID], string(e.ID)+": ")
		case known && !e.HasCode():
			st.State = extensions.Declarative
		case known:
			st.State, st.Why = string(now.State), s.why[e.ID]
			if now.Err != nil {
				st.Why = s.failure(e.ID, now.Err.Error())
			}
			if now.State == activation.Active {
				st.Activation = &extensions.Activation{
					Event: now.Reason.Event, Startup: now.Reason.Startup, CodeLoading: inMS(now.Times.CodeLoading),
					ActivateCall: inMS(now.Times.ActivateCall), ActivateResolved: inMS(now.Times.ActivateResolved),
				}
			}
		}
		s.measure(&st, e.ID, figures[e.ID], countPerHost)
		out = append(out, st)
	}
	return out
}

// failure returns the reason of a failure, without the id and the word "failed".
func (s *Service) failure(id extensions.ID, why string) string {
	if st, ok := s.active.Get(id); ok && st.Err != nil && errors.Is(st.Err, activation.ErrFailed) && st.Err.Detail != "" {
		return st.Err.Detail
	}
	return strings.TrimPrefix(why, string(id)+": ")
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
