package tests

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench/language"
)

// Lines returns tests as text, one in each line, indented by two spaces for each level: + stands before one
// with others below it that its extension has not looked for. With ids each line ends with the id of its
// test. Lines and columns of places count from 1.
func Lines(list []Test, ids bool) []string { return lines(nil, list, "", ids) }

func lines(out []string, list []Test, indent string, ids bool) []string {
	for _, t := range list {
		sign := "  "
		if t.More {
			sign = "+ "
		}
		parts := []string{indent + sign + t.Label}
		if t.Description != "" {
			parts = append(parts, t.Description)
		}
		if place := t.Place(); place != "" {
			parts = append(parts, place)
		}
		if t.Busy {
			parts = append(parts, "(busy)")
		}
		if t.Error != "" {
			parts = append(parts, "error: "+t.Error)
		}
		if ids {
			parts = append(parts, t.ID)
		}
		out = lines(append(out, strings.Join(parts, "  ")), t.Tests, indent+"  ", ids)
	}
	return out
}

// Place returns the location as FILE:LINE:COL, which count from 1; "" without one.
func (l Location) Place() string {
	file := language.URI(l.URI).Path()
	if l.URI == "" || l.Range == nil {
		return file
	}
	return language.Place(file, l.Range.Start)
}

// Lines returns the results as text: a line for each test, its messages below it, and the counts in the last
// line.
func (r *Run) Lines() (out []string) {
	counts := map[State]int{}
	for _, one := range r.Results {
		counts[one.State]++
		line := string(one.State) + "  " + strings.Join(one.Labels, " > ")
		if one.Seconds != nil {
			line += fmt.Sprintf("  %v", time.Duration(*one.Seconds*float64(time.Second)).Round(time.Millisecond/10))
		}
		out = append(out, line)
		for _, m := range one.Messages {
			out = append(out, m.lines()...)
		}
	}
	for _, text := range r.Errors {
		out = append(out, indented("error: ", text)...)
	}
	var parts []string
	for _, state := range []State{Passed, Failed, Errored, Skipped, Unset, Queued, Running} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no test was run"}
	}
	return append(out, fmt.Sprintf("run %s: %s: %s", r.ID, r.State, strings.Join(parts, ", ")))
}

func (m Failure) lines() (out []string) {
	head := "  "
	if place := m.Place(); place != "" {
		head += place + ": "
	}
	out = indented(head, m.Text)
	if m.Expected != nil {
		out = append(out, indented("  expected: ", *m.Expected)...)
	}
	if m.Actual != nil {
		out = append(out, indented("  actual: ", *m.Actual)...)
	}
	for _, f := range m.Stack {
		line := "  at " + f.Label
		if file := language.URI(f.URI).Path(); f.URI != "" && f.Position != nil {
			line += " " + language.Place(file, *f.Position)
		} else if f.URI != "" {
			line += " " + file
		}
		out = append(out, line)
	}
	return out
}

// indented returns the lines of a text: the first one behind head, the others indented by four spaces.
func indented(head, text string) []string {
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range list {
		if i > 0 {
			head = "    "
		}
		list[i] = head + list[i]
	}
	return list
}
