package problems

import (
	"math"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/text"
)

// MaxLine bounds how much of a line is looked at, in bytes.
const MaxLine = 16 << 10

// Kind is what a line means.
type Kind int

// The kinds of events.
const (
	Found  Kind = iota // a problem
	Begins             // a task in the background begins to work: what was found before is over
	Ends               // it has done its work
)

// Event is what a matcher has found in a line.
type Event struct {
	Kind    Kind
	Matcher *Matcher
	File    string                 // as the task has written it; of Begins "" for all files
	Problem diagnostics.Diagnostic // of Found
}

// Collector finds problems in the lines of a task. It must be made with [NewCollector], and used by one
// goroutine at a time.
type Collector struct {
	matchers []*Matcher
	active   map[*Matcher]bool // in the background, and at work
	lines    []string          // the last ones
	most     int               // how many are kept
	looping  *Matcher          // the last pattern of which may match the next line; nil for none
	data     [fields]string    // what the patterns before it have found
}

// NewCollector returns a collector. It begins without lines.
func NewCollector(matchers []*Matcher) *Collector {
	c := &Collector{matchers: matchers, active: map[*Matcher]bool{}}
	for _, m := range matchers {
		c.most = max(c.most, len(m.patterns))
		if m.background != nil && m.background.activeOnStart {
			c.active[m] = true
		}
	}
	return c
}

// plain returns a line as a person sees it: without colours, and with what was written last after a carriage
// return.
func plain(line string) string {
	line = workbench.Plain(line)
	line = strings.TrimRight(line, "\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	if len(line) > MaxLine {
		line = line[:MaxLine]
	}
	return line
}

// Line returns what a line means.
func (c *Collector) Line(raw string) (out []Event) {
	line := plain(raw)
	for _, m := range c.matchers {
		if m.background == nil {
			continue
		}
		if g := m.background.begins.FindStringSubmatch(line); g != nil {
			c.active[m] = true
			out = append(out, Event{Kind: Begins, Matcher: m, File: group(g, m.background.file)})
		} else if c.active[m] && m.background.ends.MatchString(line) {
			delete(c.active, m)
			out = append(out, Event{Kind: Ends, Matcher: m})
		}
	}
	if len(out) > 0 {
		return out
	}
	if m, data, ok := c.find(line); ok {
		return []Event{{Kind: Found, Matcher: m, File: data[file], Problem: m.problem(data)}}
	}
	return nil
}

// Active reports whether a matcher in the background is at work.
func (c *Collector) Active() bool { return len(c.active) > 0 }

// group returns a group of an expression, "" for group 0.
func group(g []string, n int) string {
	if n == 0 {
		return ""
	}
	return g[n]
}

// find returns the problem that ends with a line, and its matcher.
func (c *Collector) find(line string) (*Matcher, [fields]string, bool) {
	if m := c.looping; m != nil {
		last := &m.patterns[len(m.patterns)-1]
		if found, ok := last.match(line); ok {
			if data := joined(c.data, found); m.complete(data) {
				return m, data, true
			}
		}
		c.looping, c.lines = nil, nil
	}
	if c.lines = append(c.lines, line); len(c.lines) > c.most {
		c.lines = c.lines[1:]
	}
	for start := range c.lines { // a pattern of several lines goes before one of fewer
		for _, m := range c.matchers {
			if len(m.patterns) != len(c.lines)-start {
				continue
			}
			data, ok := m.match(c, start)
			if ok {
				c.lines = nil
				return m, data, true
			}
		}
	}
	return nil, [fields]string{}, false
}

// match matches the last lines.
func (m *Matcher) match(c *Collector, start int) (data [fields]string, ok bool) {
	for i := range m.patterns {
		found, ok := m.patterns[i].match(c.lines[start+i])
		if !ok {
			return data, false
		}
		if i == len(m.patterns)-1 && m.patterns[i].loop {
			c.looping, c.data = m, data
		}
		data = joined(data, found)
	}
	if !m.complete(data) {
		c.looping = nil
		return data, false
	}
	return data, true
}

// joined returns the fields of a problem with those that another line adds: parts of a message are joined, of
// other fields the first one counts.
func joined(data, more [fields]string) [fields]string {
	for f, value := range more {
		switch {
		case value == "":
		case f == message && data[f] != "":
			data[f] += "\n" + value
		case data[f] == "":
			data[f] = value
		}
	}
	return data
}

// complete reports whether the fields are those of a problem.
func (m *Matcher) complete(data [fields]string) bool {
	if data[file] == "" || strings.TrimSpace(data[message]) == "" {
		return false
	}
	if m.patterns[0].wholeFile {
		return true
	}
	for _, n := range strings.Split(data[location], ",") {
		if number(n) == 0 && data[location] != "" {
			return false
		}
	}
	return data[location] != "" || number(data[line]) > 0
}

// number returns a line or a column, 0 for none.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

// problem returns the problem of complete fields.
func (m *Matcher) problem(data [fields]string) diagnostics.Diagnostic {
	s, ok := severityOf(data[severity])
	if !ok {
		s = m.severity
	}
	return diagnostics.Diagnostic{
		Range: m.place(data), Severity: s, Message: strings.TrimSpace(data[message]), Code: strings.TrimSpace(data[code]), Source: m.Source, Owner: m.Owner,
	}
}

// place returns where a problem is. Without a column it is the whole line.
func (m *Matcher) place(data [fields]string) text.Range {
	at := [4]int{number(data[line]), number(data[column]), number(data[endLine]), number(data[endColumn])}
	switch parts := strings.Split(data[location], ","); {
	case m.patterns[0].wholeFile:
		return text.Range{StartLine: 1, StartColumn: 1, EndLine: 1, EndColumn: 1}
	case data[location] == "":
	case len(parts) == 1:
		at = [4]int{number(parts[0])}
	case len(parts) == 2:
		at = [4]int{number(parts[0]), number(parts[1])}
	case len(parts) >= 4:
		at = [4]int{number(parts[0]), number(parts[1]), number(parts[2]), number(parts[3])}
	}
	switch start, col, end, endCol := at[0], at[1], at[2], at[3]; {
	case col > 0 && endCol > 0:
		return text.Range{StartLine: start, StartColumn: col, EndLine: max(start, end), EndColumn: endCol}
	case col > 0:
		return text.Range{StartLine: start, StartColumn: col, EndLine: start, EndColumn: col}
	default:
		return text.Range{StartLine: start, StartColumn: 1, EndLine: start, EndColumn: math.MaxInt32}
	}
}
