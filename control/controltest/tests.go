package controltest

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench/tests"
)

// Tests is what extensions have of tests, in all hosts.
type Tests struct {
	Controllers []tests.Controller
	Tree        tests.TestTree
	Runs        []tests.Run
	OnRead      func(q tests.Query) // is called when Tree is read
	// OnRun runs tests; without it the run is the last one of Runs.
	OnRun    func(ctx context.Context, q tests.Request) (*tests.Run, error)
	OnCancel func(id string) // is called when one of Runs is canceled
}

// TestControllers returns the controllers of Tests.
func (s *Supervisor) TestControllers(host string) ([]tests.Controller, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.Tests.Controllers), func(c tests.Controller) bool { return host != "" && c.Host != host }), nil
}

// ReadTests returns the tree of Tests, or one of the tests at its top.
func (s *Supervisor) ReadTests(_ context.Context, host string, q tests.Query) (*tests.TestTree, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	if s.Tests.OnRead != nil {
		s.Tests.OnRead(q)
	}
	out := s.Tests.Tree
	out.Tests = append([]tests.Test{}, out.Tests...)
	if q.Test == "" {
		return &out, nil
	}
	out.Tests = slices.DeleteFunc(out.Tests, func(t tests.Test) bool { return t.ID != q.Test })
	if len(out.Tests) == 0 {
		return nil, fmt.Errorf("%w: %q", tests.ErrNoTest, q.Test)
	}
	return &out, nil
}

// RunTests calls OnRun of Tests.
func (s *Supervisor) RunTests(ctx context.Context, host string, q tests.Request) (*tests.Run, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	for _, id := range q.Tests {
		if _, err := s.ReadTests(ctx, host, tests.Query{Test: id}); err != nil {
			return nil, err
		}
	}
	if s.Tests.OnRun != nil {
		return s.Tests.OnRun(ctx, q)
	}
	return &s.Tests.Runs[len(s.Tests.Runs)-1], nil
}

// TestRuns returns the runs of Tests.
func (s *Supervisor) TestRuns(host string) ([]tests.Run, error) {
	if err := s.hasExtensions(host); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.Tests.Runs), func(r tests.Run) bool { return host != "" && r.Host != host }), nil
}

// CancelTestRun calls OnCancel of Tests for one of its runs.
func (s *Supervisor) CancelTestRun(id string) error {
	if !slices.ContainsFunc(s.Tests.Runs, func(r tests.Run) bool { return r.ID == id }) {
		return fmt.Errorf("%w: %q", tests.ErrNoRun, id)
	}
	if s.Tests.OnCancel != nil {
		s.Tests.OnCancel(id)
	}
	return nil
}
