//go:build linux

package integration

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
	exttests "github.com/hostsup/hostsup/workbench/tests"
)

// tested runs a host with an extension that has exttests.
func tested(t *testing.T, version string) (*supervisor.Supervisor, *supervisor.Host, *exttests.Service) {
	sup, h := alone(t, edited(t, version, "calc"))
	ready(t, h)
	svc, err := exttests.Of(h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(svc.State("")) == 1 && len(svc.State("")[0].Profiles) == 3 }, "the test controller")
	return sup, h, svc
}

func readsTests(t *testing.T, svc *exttests.Service, q exttests.Query, want ...string) {
	t.Helper()
	tree, err := svc.Read(ctx(t), q)
	if err != nil {
		t.Fatal(err)
	}
	if got := exttests.Lines(tree.Tests, true); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// took is how long a test took.
var took = regexp.MustCompile(`  [0-9.]+m?s$`)

// resultsOf returns the lines of a run without its id.
func resultsOf(r *exttests.Run) string {
	return strings.ReplaceAll(strings.Join(r.Lines(), "\n"), r.ID, "ID")
}

// Tests of extensions are listed as deep as they are asked for, found again, and end with their controller.
func TestTestsOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, svc := tested(t, version)
		readsTests(t, svc, exttests.Query{Depth: 1}, "  Calc  calc", "  + calc.js  /srv/calc.js  calc::calc.js")
		all := []string{
			"  Calc  calc", "    calc.js  /srv/calc.js  calc::calc.js", "      adds  /srv/calc.js:1:1  calc::calc.js::adds",
			"      divides  /srv/calc.js:2:1  calc::calc.js::divides", "      slow  until it is canceled  /srv/calc.js:3:1  calc::calc.js::slow",
		}
		readsTests(t, svc, exttests.Query{}, all...)
		readsTests(t, svc, exttests.Query{Test: "calc::calc.js::divides"}, strings.TrimPrefix(all[3], "    "))
		readsTests(t, svc, exttests.Query{Refresh: true}, slices.Insert(slices.Clone(all), 4, "      more  /srv/calc.js:4:1  calc::calc.js::more")...)
		var told []string
		if err := executes(t, h, &told, "calc.told"); err != nil || !slices.Equal(told, []string{"resolve calc.js"}) {
			t.Errorf("the extension was told %q, %v", told, err)
		}
		if _, err := svc.Read(ctx(t), exttests.Query{Test: "calc::other"}); !errors.Is(err, exttests.ErrNoTest) {
			t.Error(err)
		}
		if err := executes(t, h, nil, "calc.dispose"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(svc.State("")) == 0 }, "the end of the controller")
	})
}

// Tests are run one by one and all together, before they were listed and by another profile, and their
// results have messages, places and output.
func TestRunsOfTestsOfExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		_, h, svc := tested(t, version)
		run := func(q exttests.Request) *exttests.Run {
			t.Helper()
			out, err := svc.Run(ctx(t), q)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		out := run(exttests.Request{Tests: []string{"calc::calc.js::adds"}})
		if got := resultsOf(out); got != "passed  Calc > calc.js > adds  12ms\nrun ID: passed: 1 passed" || out.Output != "adds\n" {
			t.Errorf("%s\n%+v", got, out)
		}
		out = run(exttests.Request{Exclude: []string{"calc::calc.js::slow"}})
		const failed = "failed  Calc > calc.js > divides  3ms\n  /srv/calc.js:8:1: not equal\n  expected: 2\n  actual: 3\n  at divide /srv/calc.js:10:3\n"
		if got := resultsOf(out); got != "passed  Calc > calc.js > adds  12ms\n"+failed+"run ID: failed: 1 passed, 1 failed" || out.Output != "adds\ndivides\n" {
			t.Errorf("%s\n%+v", got, out)
		}
		if place := out.Results[1].Place(); place != "/srv/calc.js:2:1" {
			t.Errorf("the test is at %s", place)
		}
		if got := resultsOf(run(exttests.Request{Profile: "Broken"})); got != "error: Error: no compiler\nrun ID: failed: no test was run" {
			t.Error(got)
		}
		if out := run(exttests.Request{Tests: []string{"calc::calc.js::adds"}, Profile: "Fast"}); out.State != exttests.Passed {
			t.Errorf("%+v", out)
		}
		if _, err := svc.Run(ctx(t), exttests.Request{Tests: []string{"calc::calc.js::divides"}, Profile: "Fast"}); !errors.Is(err, exttests.ErrNoProfile) {
			t.Error(err)
		}
		var told []string
		want := []string{"resolve calc.js", "Run adds", "Run all", "Broken all", "Fast adds"}
		if err := executes(t, h, &told, "calc.told"); err != nil || !slices.Equal(told, want) {
			t.Errorf("the extension was told %q, %v", told, err)
		}
		if err := executes(t, h, nil, "calc.begin"); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			last := svc.Runs(h.Name())
			return len(last) == 5 && last[4].State == exttests.Passed && took.ReplaceAllString(last[4].Lines()[0], "") == "passed  Calc > calc.js"
		}, "the run of the extension")
	})
}

// A run is canceled by its caller and by others, also when its host is killed.
func TestRunsOfTestsAreCanceled(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, svc := tested(t, version)
		c := control.Over(sup)
		type ended struct {
			run *exttests.Run
			err error
		}
		begin := func(ctx context.Context) <-chan ended {
			out := make(chan ended, 1)
			go func() {
				r, err := c.RunTests(ctx, h.Name(), exttests.Request{Tests: []string{"calc::calc.js::slow"}})
				out <- ended{r, err}
			}()
			eventually(t, func() bool {
				if len(out) > 0 {
					end := <-out
					t.Fatalf("the run has ended: %+v, %v", end.run, end.err)
				}
				list, err := c.TestRuns(h.Name())
				if err != nil || len(list) == 0 {
					return false
				}
				last := list[len(list)-1]
				return last.State == exttests.Running && len(last.Results) == 1 && last.Results[0].State == exttests.Running
			}, "the start of the test")
			return out
		}
		out := begin(ctx(t))
		list := svc.Runs("")
		if err := c.CancelTestRun(list[len(list)-1].ID); err != nil {
			t.Fatal(err)
		}
		if end := <-out; end.err != nil || end.run.State != exttests.Canceled || end.run.Results[0].State != exttests.Skipped {
			t.Errorf("%+v, %v", end.run, end.err)
		}
		own, cancel := context.WithCancel(ctx(t))
		out = begin(own)
		cancel()
		if end := <-out; !errors.Is(end.err, context.Canceled) || end.run.State != exttests.Canceled || end.run.Results[0].State != exttests.Skipped {
			t.Errorf("%+v, %v", end.run, end.err)
		}
		var told []string
		want := []string{"resolve calc.js", "Run slow", "canceled", "Run slow", "canceled"}
		if err := executes(t, h, &told, "calc.told"); err != nil || !slices.Equal(told, want) {
			t.Errorf("the extension was told %q, %v", told, err)
		}
		out = begin(ctx(t))
		signal(t, h, syscall.SIGKILL)
		if end := <-out; end.err != nil || end.run.State != exttests.Failed || len(end.run.Errors) != 1 || end.run.Results[0].State != exttests.Unset {
			t.Errorf("%+v, %v", end.run, end.err)
		}
		ready(t, h)
		if list, err := c.TestControllers(h.Name()); err != nil || len(list) > 1 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
