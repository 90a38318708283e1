package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

const lastSent = 8 // messages that a text shows

// Failed reports whether a rule was broken; strict counts the advised ones that are not
// kept, too.
func (r *Report) Failed(strict bool) bool {
	return r.Count(Broken) > 0 || r.Count(Undecided) > 0 || strict && r.Count(NotKept) > 0
}

// labels are the outcomes in a text.
var labels = map[Outcome]string{Passed: "ok", Broken: "BROKEN", NotKept: "advised", Skipped: "skipped", Undecided: "undecided"}

// Text describes the result in one line for people, and below it what was sent, expected and
// got if the rule was not kept, or if all is true.
func (r *Result) Text(all bool) string {
	line := fmt.Sprintf("%-5s %-9s %-3s %s", r.Transport, labels[r.Outcome], r.Rule.ID, r.Rule.What)
	if r.Outcome == Skipped {
		line += " (" + r.Got + ")"
	}
	if !all && (r.Outcome == Passed || r.Outcome == Skipped) {
		return line + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n      rule      %s\n", line, r.Rule.Sentence)
	sent := r.Sent
	if len(sent) > lastSent {
		fmt.Fprintf(&b, "      sent      … %d messages before\n", len(sent)-lastSent)
		sent = sent[len(sent)-lastSent:]
	}
	for _, s := range sent {
		fmt.Fprintf(&b, "      sent      %s\n", s)
	}
	fmt.Fprintf(&b, "      expected  %s\n      got       %s\n", r.Expected, strings.ReplaceAll(r.Got, "\n", "\n                "))
	return b.String()
}

// Summary counts the outcomes in one line.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%d rules kept, %d broken", r.Count(Passed), r.Count(Broken))
	for _, part := range []struct {
		outcome Outcome
		text    string
	}{{Undecided, "undecided"}, {NotKept, "advised and not kept"}, {Skipped, "skipped"}} {
		if n := r.Count(part.outcome); n > 0 {
			text += fmt.Sprintf(", %d %s", n, part.text)
		}
	}
	return text
}

// jsonResult is a result in JSON.
type jsonResult struct {
	Rule      string   `json:"rule"`
	What      string   `json:"what"`
	Sentence  string   `json:"sentence"`
	Level     Level    `json:"level"`
	Transport string   `json:"transport"`
	Outcome   Outcome  `json:"outcome"`
	Sent      []string `json:"sent"`
	Expected  string   `json:"expected"`
	Got       string   `json:"got"`
	Took      float64  `json:"took_seconds"`
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	out := struct {
		Command []string        `json:"command"`
		Counts  map[Outcome]int `json:"counts"`
		Results []jsonResult    `json:"results"`
	}{r.Command, make(map[Outcome]int), []jsonResult{}}
	for o := range labels {
		out.Counts[o] = r.Count(o)
	}
	for i := range r.Results {
		x := &r.Results[i]
		sent := x.Sent
		if sent == nil {
			sent = []string{}
		}
		out.Results = append(out.Results, jsonResult{x.Rule.ID, x.Rule.What, x.Rule.Sentence, x.Rule.Level, x.Transport, x.Outcome, sent, x.Expected, x.Got, x.Took.Seconds()})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// The elements of JUnit's format that continuous integration reads.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    string     `xml:"time,attr"`
		Failure *junitNote `xml:"failure"`
		Skipped *junitNote `xml:"skipped"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// WriteJUnit writes the report in JUnit's format: a suite per transport, a case per rule. An
// advised rule that is not kept is a failure only if strict is true, else it is skipped.
func (r *Report) WriteJUnit(w io.Writer, strict bool) error {
	var out junitSuites
	took := make(map[string]float64)
	at := make(map[string]int)
	for i := range r.Results {
		x := &r.Results[i]
		n, ok := at[x.Transport]
		if !ok {
			n = len(out.Suites)
			at[x.Transport] = n
			out.Suites = append(out.Suites, junitSuite{Name: "hostsup conformance over " + x.Transport})
		}
		s := &out.Suites[n]
		took[x.Transport] += x.Took.Seconds()
		s.Tests++
		s.Time = fmt.Sprintf("%.3f", took[x.Transport])
		c := junitCase{Class: "conformance." + x.Transport, Name: x.Rule.ID + " " + x.Rule.What, Time: fmt.Sprintf("%.3f", x.Took.Seconds())}
		switch {
		case x.Outcome == Broken, x.Outcome == Undecided, x.Outcome == NotKept && strict:
			c.Failure = &junitNote{"expected " + x.Expected + ", got " + x.Got, x.Text(true)}
			s.Failures++
		case x.Outcome == NotKept, x.Outcome == Skipped:
			c.Skipped = &junitNote{Message: x.Got}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
