package tests

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/workbench"
)

const (
	maxRun   = 24 * time.Hour   // of a run
	canceled = 15 * time.Second // for a run that was canceled: hosts end one after 10 s
	maxRuns  = 20               // that are kept
)

// Request says which tests to run.
type Request struct {
	Tests   []string `json:"tests,omitempty"`   // ids; empty: all tests
	Exclude []string `json:"exclude,omitempty"` // ids of tests that are not run
	// Profile is the label of the profile that runs the tests. "": the default one of the kind run for each
	// test, or the first one of that kind without a default.
	Profile string `json:"profile,omitempty"`
}

// order is what one controller is to run with one profile.
type order struct {
	c       *controller
	profile int
	tests   []string // ids that the host uses
}

// Run runs tests and waits until they have ended. It returns the results; that tests have failed is not an
// error, see [Run.State]. When ctx ends, the run is canceled and the error is that of ctx; also when another
// caller has canceled it with [Service.Cancel], but then without an error. The error is [ErrNoTest],
// [ErrNoProfile], or that of the start of the host.
func (s *Service) Run(ctx context.Context, q Request) (*Run, error) {
	orders, err := s.plan(ctx, q)
	if err != nil {
		return nil, err
	}
	exclude := []string{}
	for _, id := range q.Exclude {
		wire, err := wireOf(id)
		if err != nil {
			return nil, err
		}
		exclude = append(exclude, wire)
	}
	own, end := context.WithTimeout(ctx, maxRun)
	defer end()
	s.mu.Lock()
	r := s.begin(strings.ToLower(rand.Text()[:8]), orders[0].c.Host)
	r.own = end
	for _, o := range orders {
		r.hosts[o.c.host] = true
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for h, list := range byHost(orders) {
		all.Go(func() { s.runIn(own, r, h, list, exclude) })
	}
	all.Wait()
	if own.Err() != nil {
		s.stop(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.end()
	return new(r.state(s)), ctx.Err()
}

// plan returns what each controller is to run.
func (s *Service) plan(ctx context.Context, q Request) (out []order, err error) {
	add := func(c *controller, wire string) error {
		profile, err := s.profile(c, wire, q.Profile)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(out, func(o order) bool { return o.c == c && o.profile == profile })
		if i < 0 {
			i, out = len(out), append(out, order{c: c, profile: profile})
		}
		out[i].tests = append(out[i].tests, wire)
		return nil
	}
	if len(q.Tests) == 0 {
		list, err := s.started(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if err := c.host.Call(ctx, methodSync, workbench.Params(), nil); err != nil {
				return nil, err
			}
			if err := add(c, c.ID); err != nil {
				return nil, err
			}
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("%w: no extension has created a test controller", ErrNoTest)
		}
		return out, nil
	}
	for _, id := range q.Tests {
		wire, err := wireOf(id)
		if err != nil {
			return nil, err
		}
		list, err := s.started(ctx, wire)
		if err != nil {
			return nil, err
		}
		if err := list[0].host.Call(ctx, methodSync, workbench.Params(), nil); err != nil {
			return nil, err
		}
		if _, err := s.resolve(ctx, list[0], wire); err != nil {
			return nil, err
		}
		if err := add(list[0], wire); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// profile returns the id of the profile that runs a test.
func (s *Service) profile(c *controller, wire, label string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Profile
	for i := range c.Profiles {
		p := &c.Profiles[i]
		if label == "" && p.Kind != kinds[2] || label != "" && p.Label != label || !c.fits(p, wire) {
			continue
		}
		if found == nil || p.Default && !found.Default {
			found = p
		}
	}
	if found != nil {
		return found.id, nil
	}
	which := "of the kind run"
	if label != "" {
		which = fmt.Sprintf("with the label %q", label)
	}
	return 0, fmt.Errorf("%w: %q has no profile %s", ErrNoProfile, nameOf(wire), which)
}

// fits reports whether a profile can run a test. The caller must hold the lock of the service.
func (c *controller) fits(p *Profile, wire string) bool {
	if p.Tag == "" || wire == c.ID {
		return true
	}
	t := c.tests[wire]
	return t != nil && slices.ContainsFunc(t.Tags, func(tag string) bool { return tagName(tag) == p.Tag })
}

func byHost(orders []order) map[life][]order {
	out := map[life][]order{}
	for _, o := range orders {
		out[o.c.host] = append(out[o.c.host], o)
	}
	return out
}

// runIn runs tests in one host, and notes what goes wrong.
func (s *Service) runIn(ctx context.Context, r *run, h life, orders []order, exclude []string) {
	var params []map[string]any
	for _, o := range orders {
		not := []string{}
		for _, id := range exclude {
			if !slices.Contains(o.tests, id) {
				not = append(not, id)
			}
		}
		params = append(params, map[string]any{"runId": r.ID, "controllerId": o.c.ID, "profileId": o.profile, "testIds": o.tests, "excludeExtIds": not})
	}
	var raw json.RawMessage
	err := h.Call(ctx, methodRun, workbench.Params(params, workbench.Token), &raw)
	var answers []struct{ Error string }
	if err == nil {
		err = workbench.Decode(raw, &answers)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		r.fail(s.opt.Redact(err.Error()))
	}
	for _, a := range answers {
		if a.Error != "" {
			r.fail(s.opt.Redact(a.Error))
		}
	}
}

// stop tells the hosts of a run that it is canceled, and waits until its tasks have ended.
func (s *Service) stop(r *run) {
	s.mu.Lock()
	r.canceled = true
	for h := range r.hosts {
		h.Tell(methodCancel, workbench.Params(r.ID))
	}
	s.mu.Unlock()
	late := time.NewTimer(canceled)
	defer late.Stop()
	for {
		s.mu.Lock()
		open, changed := len(r.open) > 0, r.closed
		s.mu.Unlock()
		if !open {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			return
		}
	}
}

// Cancel cancels a run that a program or an extension has begun. It does not wait for its end. The error is
// [ErrNoRun].
func (s *Service) Cancel(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.runs, func(r *run) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrNoRun, id)
	}
	r := s.runs[i]
	switch {
	case r.Ended != nil:
	case r.own != nil:
		r.own()
	default:
		r.canceled = true
		for h := range r.hosts {
			h.Tell(methodCancel, workbench.Params(r.ID))
		}
	}
	return nil
}

// begin keeps a new run, and forgets the oldest one that has ended if there are too many. The caller must
// hold mu.
func (s *Service) begin(id, host string) *run {
	if len(s.runs) >= maxRuns {
		i := max(slices.IndexFunc(s.runs, func(r *run) bool { return r.Ended != nil }), 0)
		for h := range s.runs[i].hosts {
			h.Tell(methodDispose, workbench.Params(s.runs[i].ID))
		}
		s.runs = slices.Delete(s.runs, i, i+1)
	}
	r := &run{
		Run: Run{ID: id, Host: host, Started: time.Now()}, hosts: map[life]bool{}, open: map[string]bool{}, closed: make(chan struct{}),
		results: map[string]*result{},
	}
	s.runs = append(s.runs, r)
	return r
}

// Runs returns the runs that are kept, the oldest first: the last 20. host "" is all hosts.
func (s *Service) Runs(host string) []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Run{}
	for _, r := range s.runs {
		if host == "" || r.Host == host || slices.ContainsFunc(slices.Collect(maps.Keys(r.hosts)), func(h life) bool { return h.Name() == host }) {
			out = append(out, r.state(s))
		}
	}
	return out
}
