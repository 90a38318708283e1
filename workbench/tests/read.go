package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// Query says which tests to read.
type Query struct {
	// Test is the id of a test, which is read with those below it; "": all tests.
	Test string
	// Depth is how many levels extensions are asked for, below their controllers or below Test. Tests that are
	// known already are read in any case. 0: all levels.
	Depth int
	// Refresh asks extensions to find their tests again before.
	Refresh bool
}

// TestTree is what was read.
type TestTree struct {
	// Tests has a test for each controller, with its tests below it; or the test of the query.
	Tests []Test `json:"tests"`
	// Truncated reports that there are more than 10,000 tests.
	Truncated bool `json:"truncated,omitempty"`
}

// Read reads tests. Extensions are asked for tests that they have not looked for yet. The error is
// [ErrNoTest], or that of the host.
func (s *Service) Read(ctx context.Context, q Query) (*TestTree, error) {
	var wire string
	if q.Test != "" {
		var err error
		if wire, err = wireOf(q.Test); err != nil {
			return nil, err
		}
	}
	list, err := s.started(ctx, wire)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if q.Refresh && c.canRefresh(s) {
			if err := c.host.Call(ctx, methodRefresh, workbench.Params(c.ID, workbench.Token), nil); err != nil {
				return nil, err
			}
		}
		if err := c.host.Call(ctx, methodSync, workbench.Params(), nil); err != nil {
			return nil, err
		}
		at := c.ID
		if wire != "" {
			if at, err = s.resolve(ctx, c, wire); err != nil {
				return nil, err
			}
		}
		if err := c.host.Call(ctx, methodExpand, workbench.Params(at, max(q.Depth, 0)-1), nil); err != nil {
			return nil, err
		}
	}
	out := &TestTree{Tests: []Test{}}
	left := maxRead
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		at := c.ID
		if wire != "" {
			at = wire
		}
		if c.tests[at] == nil { // it was removed meanwhile
			continue
		}
		if left--; left >= 0 {
			out.Tests = append(out.Tests, s.test(c, at, &left))
		}
	}
	out.Truncated = left < 0
	return out, nil
}

func (c *controller) canRefresh(s *Service) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Refresh
}

// started returns the controllers; only that of a test unless wire is "". A host without controllers is
// started.
func (s *Service) started(ctx context.Context, wire string) ([]*controller, error) {
	list := s.matching(wire)
	if len(list) == 0 && s.opt.Start != nil {
		if err := s.opt.Start(ctx); err != nil {
			return nil, err
		}
		list = s.matching(wire)
	}
	if len(list) == 0 && wire != "" {
		return nil, fmt.Errorf("%w: %q: no extension has the controller %q", ErrNoTest, nameOf(wire), nameOf(controllerOf(wire)))
	}
	return list, nil
}

func (s *Service) matching(wire string) []*controller {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.of("")
	if wire != "" {
		list = slices.DeleteFunc(list, func(c *controller) bool { return c.ID != controllerOf(wire) })
		list = list[:min(len(list), 1)]
	}
	return list
}

// resolve asks an extension for the tests above a test, until it is known. It returns the id of the test.
func (s *Service) resolve(ctx context.Context, c *controller, wire string) (string, error) {
	parts := strings.Split(wire, wireSeparator)
	for i := 1; i <= len(parts); i++ {
		at := strings.Join(parts[:i], wireSeparator)
		if s.known(c, at) {
			continue
		}
		if i > 1 {
			if err := c.host.Call(ctx, methodExpand, workbench.Params(above(at), 0), nil); err != nil {
				return "", err
			}
		}
		if !s.known(c, at) {
			return "", fmt.Errorf("%w: %q", ErrNoTest, nameOf(wire))
		}
	}
	return wire, nil
}

func (s *Service) known(c *controller, wire string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.tests[wire] != nil
}
