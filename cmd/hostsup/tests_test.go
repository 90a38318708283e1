package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/tests"
)

func testsOfExtensions(at time.Time) controltest.Tests {
	place := tests.Location{URI: "file:///srv/calc.js", Range: &language.Range{Start: language.Position{Line: 2}, End: language.Position{Line: 2, Character: 4}}}
	seconds, five := 0.0125, "5"
	results := []tests.Result{
		{Test: "calc::adds", Labels: []string{"Calc", "adds"}, State: tests.Passed, Seconds: &seconds},
		{Test: "calc::divides", Labels: []string{"Calc", "divides"}, State: tests.Failed, Messages: []tests.Failure{{
			Text: "not equal\nsee\x1b\n", Expected: new("4"), Actual: &five, Location: place,
			Stack: []tests.Frame{{Label: "divide", URI: "file:///srv/calc.js", Position: &language.Position{Line: 9, Character: 1}}, {Label: "native"}},
		}}},
	}
	return controltest.Tests{
		Controllers: []tests.Controller{
			{Host: "ts", ID: "calc", Label: "Calc", Profiles: []tests.Profile{{Label: "Run", Kind: "run", Default: true}, {Label: "Debug", Kind: "debug"}}},
			{Host: "ts", ID: "odd"},
		},
		Tree: tests.TestTree{Truncated: true, Tests: []tests.Test{{
			ID: "calc", Label: "Calc", Tests: []tests.Test{
				{ID: "calc::adds", Label: "adds", Description: "fast\x1b", Location: place},
				{ID: "calc::more", Label: "more", Busy: true, More: true, Error: "no compiler"},
			},
		}}},
		Runs: []tests.Run{
			{ID: "aaaa", Host: "ts", State: tests.Running, Started: at, Results: []tests.Result{}},
			{ID: "bbbb", Host: "ts", State: tests.Failed, Started: at, Results: results, Output: "one\ntwo\x1b\n", Errors: []string{"no\ncompiler"}},
		},
		OnRun: func(_ context.Context, q tests.Request) (*tests.Run, error) {
			switch q.Profile {
			case "none":
				return nil, fmt.Errorf("%w: %v", tests.ErrNoProfile, q.Tests)
			case "fails":
				return &tests.Run{ID: "cccc", State: tests.Failed, Results: results[1:], Output: "text"}, nil
			}
			return &tests.Run{ID: "cccc", State: tests.Passed, Results: results[:1], Output: fmt.Sprint(q.Tests, q.Exclude)}, nil
		},
	}
}

func TestTestsOutput(t *testing.T) {
	fake(t)
	const divides = "failed  Calc > divides\n" +
		"  /srv/calc.js:3:1: not equal\n    see\\x1b\n  expected: 4\n  actual: 5\n  at divide /srv/calc.js:10:2\n  at native\n"
	for _, tt := range []struct{ args, want string }{
		{"tests", "HOST  CONTROLLER  PROFILES    LABEL\nts    calc        Run, Debug  Calc\nts    odd         -           -\n"},
		{"tests ts", "  Calc\n    adds  fast\\x1b  /srv/calc.js:3:1\n  + more  (busy)  error: no compiler\n…\n"},
		{"tests ts calc --ids", "  Calc  calc\n    adds  fast\\x1b  /srv/calc.js:3:1  calc::adds\n  + more  (busy)  error: no compiler  calc::more\n…\n"},
		{"tests run ts", "passed  Calc > adds  12.5ms\nrun cccc: passed: 1 passed\n"},
		{"tests run ts calc --exclude calc::more --output", "[calc] [calc::more]\npassed  Calc > adds  12.5ms\nrun cccc: passed: 1 passed\n"},
		{"tests run ts --profile fails", divides + "run cccc: failed: 1 failed\n"},
		{"tests runs ts --output", "run aaaa: running: no test was run\none\ntwo\\x1b\npassed  Calc > adds  12.5ms\n" + divides + "error: no\n    compiler\nrun bbbb: failed: 1 passed, 1 failed\n"},
		{"tests cancel aaaa", ""},
		{"__complete tests run ts ", "calc\tCalc\ncalc::adds\tadds\ncalc::more\tmore\n:4\n"},
		{"__complete tests cancel ", "aaaa\tts\n:4\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"tests run ts", 0, ""},
		{"tests run ts --profile fails", 1, ""},
		{"tests run ts --profile fails --json", 1, ""},
		{"tests run ts --profile none calc", 2, "no profile runs the test: [calc]"},
		{"tests run ts x", 1, `no such test: "x"`},
		{"tests run ts=", 5, "no host"},
		{"tests run", 2, "HOST [ID…] is missing"},
		{"tests ts x", 1, `no such test: "x"`},
		{"tests ts --depth -1", 2, "--depth expects 0 or more"},
		{"tests --ids", 2, "--ids expects a HOST"},
		{"tests db", 1, `host "db" has no tests`},
		{"tests runs db", 1, `host "db" has no tests`},
		{"tests tss", 5, `did you mean "ts"?`},
		{"tests cancel x", 1, `no such run of tests: "x"`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}
