package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench/tests"
)

// testReadInput is the input of a request for tests.
type testReadInput struct {
	Host    Host   `path:"host" doc:"name of a host"`
	Test    string `query:"test" doc:"id of the test that is read with those below it; all without it"`
	Depth   int    `query:"depth" doc:"how many levels extensions are asked for; all without it"`
	Refresh bool   `query:"refresh" doc:"whether extensions find their tests again before"`
}

// testRunInput is the input of a run of tests.
type testRunInput struct {
	Host Host `path:"host" doc:"name of a host"`
	Body tests.Request
}

// testControllerList are test controllers.
type testControllerList struct {
	Controllers []tests.Controller `json:"controllers"`
}

// testRunsInput is the input of a request for runs.
type testRunsInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// testRunList are runs of tests.
type testRunList struct {
	Runs []tests.Run `json:"runs"`
}

// testCancelInput is the input of the end of a run.
type testCancelInput struct {
	ID string `path:"id" doc:"id of a run"`
}

func (t tree) TestControllers(host string) (out []tests.Controller, err error) {
	list, err := servicesOf(t, host, tests.Of)
	for _, svc := range list {
		out = append(out, svc.State(host)...)
	}
	return out, err
}

func (t tree) ReadTests(ctx context.Context, host string, q tests.Query) (*tests.TestTree, error) {
	svc, err := t.testsOf(host)
	if err != nil {
		return nil, err
	}
	return svc.Read(ctx, q)
}

func (t tree) RunTests(ctx context.Context, host string, q tests.Request) (*tests.Run, error) {
	svc, err := t.testsOf(host)
	if err != nil {
		return nil, err
	}
	return svc.Run(ctx, q)
}

// testsOf returns the tests of a host and those beside it.
func (t tree) testsOf(host string) (*tests.Service, error) {
	h, err := t.Supervisor.Host(host)
	if err != nil {
		return nil, err
	}
	return tests.Of(h.Ref())
}

func (t tree) TestRuns(host string) (out []tests.Run, err error) {
	list, err := servicesOf(t, host, tests.Of)
	for _, svc := range list {
		out = append(out, svc.Runs(host)...)
	}
	return out, err
}

func (t tree) CancelTestRun(id string) error {
	list, err := servicesOf(t, "", tests.Of)
	if err != nil {
		return err
	}
	for _, svc := range list {
		if err := svc.Cancel(id); !errors.Is(err, tests.ErrNoRun) {
			return err
		}
	}
	return fmt.Errorf("%w: %q", tests.ErrNoRun, id)
}

func (s *Server) testControllers(_ context.Context, in testRunsInput) (out testControllerList, err error) {
	list, err := s.sup.TestControllers(in.Host)
	if out.Controllers = list; list == nil {
		out.Controllers = []tests.Controller{}
	}
	return out, s.testFail(in.Host, err)
}

func (s *Server) readTests(ctx context.Context, in testReadInput) (tests.TestTree, error) {
	host := in.Host.Status().Name
	out, err := s.sup.ReadTests(ctx, host, tests.Query{Test: in.Test, Depth: in.Depth, Refresh: in.Refresh})
	if err != nil {
		return tests.TestTree{}, s.testFail(host, err)
	}
	return *out, nil
}

func (s *Server) runTests(ctx context.Context, in testRunInput) (tests.Run, error) {
	host := in.Host.Status().Name
	if slices.Contains(in.Body.Tests, "") {
		return tests.Run{}, invalid("the id of a test is empty")
	}
	out, err := s.sup.RunTests(ctx, host, in.Body)
	if err != nil {
		return tests.Run{}, s.testFail(host, err)
	}
	return *out, nil
}

func (s *Server) testRuns(_ context.Context, in testRunsInput) (out testRunList, err error) {
	list, err := s.sup.TestRuns(in.Host)
	if out.Runs = list; list == nil {
		out.Runs = []tests.Run{}
	}
	return out, s.testFail(in.Host, err)
}

func (s *Server) cancelTestRun(_ context.Context, in testCancelInput) (out struct{}, err error) {
	return out, s.testFail("", s.sup.CancelTestRun(in.ID))
}

// testFail returns the error of a request about tests.
func (s *Server) testFail(host string, err error) error {
	if errors.Is(err, extensions.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q has no tests: only extensions of hosts with protocol \"vscode\" have them", host)}
	}
	if err != nil {
		return s.extensionFail(host, err)
	}
	return nil
}

// TestControllers returns the test controllers of the extensions of a host; those of all hosts if host is
// "".
func (c *Client) TestControllers(ctx context.Context, host string) ([]tests.Controller, error) {
	out, err := get[testControllerList](ctx, c, prefix+"/tests", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Controllers, nil
}

// ReadTests reads tests of the extensions of a host, which are asked for those that they have not looked for
// yet; see [tests.Service.Read]. The error has the class [NoSuchTest] for a test that no extension has.
func (c *Client) ReadTests(ctx context.Context, host string, q tests.Query) (*tests.TestTree, error) {
	query := url.Values{}
	if q.Test != "" {
		query.Set("test", q.Test)
	}
	if q.Depth > 0 {
		query.Set("depth", fmt.Sprint(q.Depth))
	}
	if q.Refresh {
		query.Set("refresh", "true")
	}
	return post[tests.TestTree](ctx, c, hostPath(host, "tests/read")+"?"+query.Encode(), nil)
}

// RunTests runs tests of the extensions of a host and waits for the results; see [tests.Service.Run]. The end
// of ctx cancels the run. The error has the class [NoSuchTest], or [Invalid] without a profile for a test.
func (c *Client) RunTests(ctx context.Context, host string, q tests.Request) (*tests.Run, error) {
	return post[tests.Run](ctx, c, hostPath(host, "tests/run"), q)
}

// TestRuns returns the last runs of tests of a host, the oldest first; those of all hosts if host is "".
func (c *Client) TestRuns(ctx context.Context, host string) ([]tests.Run, error) {
	out, err := get[testRunList](ctx, c, prefix+"/tests/runs", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Runs, nil
}

// CancelTestRun cancels a run of tests, and does not wait for its end. The error has the class
// [NoSuchTestRun].
func (c *Client) CancelTestRun(ctx context.Context, id string) error {
	_, err := post[struct{}](ctx, c, prefix+"/tests/runs/"+url.PathEscape(id)+"/cancel", nil)
	return err
}
