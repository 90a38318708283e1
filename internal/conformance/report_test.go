package conformance

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"
)

// oneOfEach is a report with every outcome.
func oneOfEach() *Report {
	rules := Rules()
	r := &Report{Command: []string{"host", "-x"}}
	for i, o := range []Outcome{Passed, Broken, NotKept, Skipped, Undecided} {
		r.Results = append(r.Results, Result{
			Rule: rules[i], Transport: "fd", Outcome: o, Sent: []string{`[0,1,"initialize",null]`}, Expected: "an <answer>", Got: "nothing\nat all", Took: time.Second,
		})
	}
	return r
}

func TestTextShowsWhatIsNotKept(t *testing.T) {
	r := oneOfEach()
	for i, want := range []string{"fd    ok        F1  ", "fd    BROKEN    F2  ", "fd    advised   F3  ", "fd    skipped   F4  ", "fd    undecided F5  "} {
		text := r.Results[i].Text(false)
		if !strings.HasPrefix(text, want) {
			t.Errorf("%q does not begin with %q", text, want)
		}
		quiet := i == 0 || i == 3
		for _, part := range []string{"sent      [0,1,", "expected  an <answer>", "rule      "} {
			if strings.Contains(text, part) == quiet || !strings.Contains(r.Results[i].Text(true), part) {
				t.Errorf("%q and %q: %q", text, r.Results[i].Text(true), part)
			}
		}
	}
	if got, want := r.Summary(), "1 rules kept, 1 broken, 1 undecided, 1 advised and not kept, 1 skipped"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFailedCountsAdvisedRulesOnlyIfStrict(t *testing.T) {
	advised := &Report{Results: oneOfEach().Results[2:4]}
	if advised.Failed(false) || !advised.Failed(true) {
		t.Error("an advised rule that is not kept fails if strict only")
	}
	for _, i := range []int{1, 4} {
		if r := (&Report{Results: oneOfEach().Results[i : i+1]}); !r.Failed(false) {
			t.Errorf("%s is no failure", r.Results[0].Outcome)
		}
	}
	if (&Report{Results: oneOfEach().Results[:1]}).Failed(true) {
		t.Error("a rule that is kept is a failure")
	}
}

func TestJSONHasAllResults(t *testing.T) {
	var b bytes.Buffer
	if err := oneOfEach().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Counts  map[string]int `json:"counts"`
		Results []struct {
			Rule, What, Sentence, Level, Transport, Outcome, Expected, Got string
			Sent                                                           []string
			Took                                                           float64 `json:"took_seconds"`
		} `json:"results"`
	}
	d := json.NewDecoder(&b)
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if x := got.Results[1]; len(got.Results) != 5 || got.Counts["broken"] != 1 || x.Rule != "F2" || x.Outcome != "broken" || x.Expected != "an <answer>" ||
		x.Got != "nothing\nat all" || x.Took != 1 || len(x.Sent) != 1 || x.What == "" || x.Sentence == "" || x.Level != "required" || x.Transport != "fd" {
		t.Errorf("%+v", got)
	}
}

func TestJUnitHasACasePerRule(t *testing.T) {
	for _, strict := range []bool{false, true} {
		var b bytes.Buffer
		if err := oneOfEach().WriteJUnit(&b, strict); err != nil {
			t.Fatal(err)
		}
		var got junitSuites
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		failures, skipped := 2, 2
		if strict {
			failures, skipped = 3, 1
		}
		if s := got.Suites[0]; len(got.Suites) != 1 || s.Tests != 5 || len(s.Cases) != 5 || s.Failures != failures || s.Skipped != skipped || s.Time != "5.000" {
			t.Errorf("strict %v: %+v", strict, s)
		}
		if c := got.Suites[0].Cases[1]; c.Failure == nil || !strings.Contains(c.Failure.Message, "an <answer>") || c.Class != "conformance.fd" {
			t.Errorf("%+v", c)
		}
	}
}

// A rule that is broken during the play of another is reported once under its own number.
func TestRuleBrokenOnTheWayIsReported(t *testing.T) {
	t.Parallel()
	report := played(t, "A1", "F6")
	if len(report.Results) != 2 || report.Results[0].Outcome != Undecided || report.Results[1].Rule.ID != "A1" || report.Results[1].Outcome != Broken {
		for i := range report.Results {
			t.Error(describe(&report.Results[i]))
		}
	}
}

func TestRunRefusesWrongOptions(t *testing.T) {
	for _, row := range []struct {
		o    Options
		want error
	}{
		{Options{}, ErrCommand},
		{Options{Command: []string{"no-such-program-of-the-kit"}}, ErrCommand},
		{Options{Command: []string{"true"}, Rules: "Z*"}, ErrNoRule},
		{Options{Command: []string{"true"}, Rules: "["}, ErrNoRule},
		{Options{Command: []string{"true"}, Transports: []string{"tcp"}}, ErrTransport},
	} {
		if _, err := Run(t.Context(), row.o); !errors.Is(err, row.want) {
			t.Errorf("%+v: %v, want %v", row.o, err, row.want)
		}
	}
}

// A program that is no host breaks what it is played, and does not hold up the kit.
func TestProgramThatIsNoHostBreaksTheRule(t *testing.T) {
	t.Parallel()
	for _, over := range Transports() {
		report, err := Run(t.Context(), Options{Command: []string{"true"}, Rules: "O1", Transports: []string{over}})
		if err != nil {
			t.Fatal(err)
		}
		if r := &report.Results[0]; r.Outcome != Broken || !strings.Contains(r.Got, "the process has ended") {
			t.Error(describe(r))
		}
	}
}
