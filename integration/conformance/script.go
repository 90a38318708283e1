//go:build linux

package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// How a server is reached.
const (
	WS    = "ws"
	Stdio = "stdio"
)

// Script is what one file has: the scenarios of a theme.
type Script struct {
	Theme     string
	Scenarios []Scenario
}

// Scenario is a conversation with a server, from a first connection on.
type Scenario struct {
	Theme, Name string
	On          []string // transports that it is played over
	Flags       []string // of the server, which is then started for it alone
	Raw         bool     // the first connection has not been initialized
	Numbers     bool     // numbers in the output of processes are not compared
	Patient     bool     // it waits most of the time, and for long
	Confines    bool     // it needs a sandbox that works
	Steps       []Step
}

// Step is one line of a scenario.
type Step struct {
	Line int    // in its file, for errors
	Verb string // see verbs
	Rest string // the line without the verb
}

// Name is what the step is called in a list of differences.
func (s Step) Name() string {
	first, _, _ := strings.Cut(s.Rest, " ")
	switch s.Verb {
	case "call", "stuck":
		return first
	case "start":
		return "process/start " + first
	case "times":
		return s.Verb + " " + first
	case "closed", "exited", "read", "write", "answer", "stream":
		return s.Verb + " " + first
	}
	return s.Verb
}

// Parse reads a script. A line is a step; one that begins with white space
// goes on with the one before it; "== NAME" begins a scenario, about which
// "on", "flags", "raw", "numbers", "patient" and "confines" say what the fields of
// [Scenario] do; # begins a comment. In a step, $DIR is the scenario's folder,
// @/ the beginning of the URIs of what is in it, $SIDE that of the server, $WEB the URL of a [NewWeb], $PORT its port,
// $SESSION the id of the last session, $REPEAT(N) a text of N letters.
func Parse(theme string, text []byte) (Script, error) {
	s := Script{Theme: theme}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " \t")
		bad := func(format string, args ...any) (Script, error) {
			return s, fmt.Errorf("%s:%d: %s", theme, n, fmt.Sprintf(format, args...))
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			if slices.ContainsFunc(s.Scenarios, func(c Scenario) bool { return c.Name == name }) {
				return bad("%q is there already", name)
			}
			s.Scenarios = append(s.Scenarios, Scenario{Theme: theme, Name: name, On: []string{WS, Stdio}})
			continue
		}
		if len(s.Scenarios) == 0 {
			return bad("a step outside of a scenario")
		}
		c := &s.Scenarios[len(s.Scenarios)-1]
		if line[0] == ' ' || line[0] == '\t' {
			if len(c.Steps) == 0 {
				return bad("nothing to go on with")
			}
			c.Steps[len(c.Steps)-1].Rest += " " + strings.TrimSpace(line)
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "on":
			c.On = strings.Fields(rest)
		case "flags":
			c.Flags = strings.Fields(rest)
		case "raw":
			c.Raw = true
		case "numbers":
			c.Numbers = true
		case "confines":
			c.Confines = true
		case "patient":
			c.Patient = true
		default:
			if verbs[verb] == nil {
				return bad("no verb %q", verb)
			}
			c.Steps = append(c.Steps, Step{Line: n, Verb: verb, Rest: rest})
		}
	}
	return s, lines.Err()
}
