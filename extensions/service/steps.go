package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/activation/workspace"
	"github.com/hostsup/hostsup/intercept/meter"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// activation steps the machine and carries out its effects. Their results arrive later
// through the queue.
func (s *Service) activation(ev activation.Event) {
	for _, e := range s.active.Step(ev, time.Now()) {
		switch e := e.(type) {
		case activation.StartHost:
			s.log.Debug("host is needed", "host", e.Host, "for", e.Why)
			if p := s.hosts[e.Host]; p != nil {
				p.start()
			} else {
				s.post(func() {
					s.activation(activation.HostDown{Host: e.Host, Next: activation.NextIdle, Cause: "there is no such host"})
				})
			}
		case activation.Activate:
			s.activate(e)
		case activation.Deactivate:
			if p := s.hosts[e.Host]; p != nil {
				p.adapter.deactivate(e.ID)
			}
		case activation.Changed:
			s.changed(e)
		case activation.Settled:
			if w := s.waits[e.Tag]; w != nil {
				delete(s.waits, e.Tag)
				w.answer <- append(w.refused, e.Errs...)
			}
		case activation.Search:
			s.search(e)
		case activation.SetTimer:
			s.alarm = time.AfterFunc(e.After, func() { s.post(func() { s.activation(activation.Fired{}) }) })
		case activation.CancelTimer:
			if s.alarm != nil {
				s.alarm.Stop()
			}
		}
	}
}

// activate asks a life.
func (s *Service) activate(e activation.Activate) {
	p, x := s.hosts[e.Host], extensions.Extension{}
	known := false
	if p != nil {
		x, known = s.registry.Get(e.ID)
	}
	if !known || p.line == nil || p.life != e.Life {
		s.post(func() {
			s.activation(activation.Failed{Host: e.Host, Life: e.Life, ID: e.ID, Cause: "the host is not up"})
		})
		return
	}
	p.adapter.activate(e, x)
}

// changed publishes the new state of an extension.
func (s *Service) changed(e activation.Changed) {
	s.why[e.ID] = e.Why
	var reason string
	switch e.To {
	case activation.Active:
		st, _ := s.active.Get(e.ID)
		s.why[e.ID] = st.Reason.Event
		reason = fmt.Sprintf("%s is active in %s, by %s", e.ID, milliseconds(total(st.Times)), st.Reason.Event)
		if p := s.hosts[e.Host]; p != nil && p.ref != nil {
			meter.Of(p.ref).Activated(total(st.Times))
		}
		s.log.Info("active", "extension", e.ID, "host", e.Host, "event", st.Reason.Event)
	case activation.Broken:
		reason = fmt.Sprintf("%s has failed: %s", e.ID, s.failure(e.ID, e.Why))
		s.log.Warn("failed", "extension", e.ID, "host", e.Host, "reason", e.Why)
	default:
		return
	}
	life := uint64(0)
	if p := s.hosts[e.Host]; p != nil {
		life = p.life
	}
	s.emit(record.Event{Kind: record.KindExtension, Extension: string(e.ID), Reason: reason}, e.Host, life)
}

func milliseconds(d time.Duration) string { return d.Round(time.Millisecond).String() }

// search searches the workspace for an extension.
func (s *Service) search(e activation.Search) {
	folders := s.folders()
	if len(folders) == 0 {
		s.post(func() { s.activation(activation.Found{ID: e.ID}) })
		return
	}
	s.work.Go(func() {
		event, err := workspace.Contains(s.ctx, e.Events, folders, workspace.Dir{})
		s.post(func() {
			if err != nil {
				s.problem(e.ID, fmt.Errorf("%s: workspace: %w", e.ID, err))
			}
			s.activation(activation.Found{ID: e.ID, Event: event})
		})
	})
}

// Activate requests an event and waits until the extensions that declare it are active or
// have failed; see [ActivationError]. For an extension whose activation does not end, it waits for six
// times the startup of the specification, 1 minute by default, and returns
// [activation.ErrActivating] for it.
func (s *Service) Activate(ctx context.Context, event string) error {
	w := newWaiter()
	s.post(func() {
		w.refused = s.refusals(event)
		s.activation(activation.Request{Event: event, Tag: s.enlist(w), Bounded: true})
	})
	return s.await(ctx, event, w)
}

// refusals returns an error for each extension that declares an event and that the
// registry refused, so that the activation machine does not know it.
func (s *Service) refusals(event string) (errs []*activation.Error) {
	for _, x := range s.found {
		why := s.refused[x.ID]
		if why == "" || s.disabled[x.ID] != "" || !slices.ContainsFunc(activation.EventsOf(event), x.WantsEvent) {
			continue
		}
		errs = append(errs, &activation.Error{ID: x.ID, Cause: activation.ErrRefused, Detail: strings.TrimPrefix(why, string(x.ID)+": ")})
	}
	return errs
}

// waiter waits for a request of the activation machine. The loop owns tag.
type waiter struct {
	tag     uint64
	refused []*activation.Error      // of extensions that the machine does not know; set before the request
	answer  chan []*activation.Error // capacity 1
}

func newWaiter() *waiter { return &waiter{answer: make(chan []*activation.Error, 1)} }

// enlist returns the tag of a request for await.
func (s *Service) enlist(w *waiter) uint64 {
	s.tag++
	w.tag = s.tag
	s.waits[w.tag] = w
	return w.tag
}

// await waits for the outcome of a request. If ctx is done before, it drops the request.
func (s *Service) await(ctx context.Context, event string, w *waiter) error {
	select {
	case errs := <-w.answer:
		if len(errs) > 0 {
			return &ActivationError{event, errs}
		}
		return nil
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		s.post(func() {
			if s.waits[w.tag] != nil {
				delete(s.waits, w.tag)
				s.activation(activation.Forget{Tag: w.tag})
			}
		})
		return ctx.Err()
	}
}
