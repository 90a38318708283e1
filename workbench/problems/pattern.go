package problems

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// maxPatterns bounds the lines that a matcher looks at together.
const maxPatterns = 100

// pattern finds parts of a problem in a line.
type pattern struct {
	expression *regexp.Regexp
	groups     [fields]int // which group of the expression a field is; absent for none
	wholeFile  bool        // the problem has no line
	loop       bool        // it may match several lines
}

// The fields of a problem.
const (
	file = iota
	location
	line
	column
	endLine
	endColumn
	severity
	code
	message
	fields
)

// absent is the group of a field that a pattern does not have.
const absent = -1

// patternJSON is a pattern as manifests and tasks.json have it.
type patternJSON struct {
	Regexp    string
	Kind      string
	File      *int
	Location  *int
	Line      *int
	Column    *int
	EndLine   *int
	EndColumn *int
	Severity  *int
	Code      *int
	Message   *int
	Loop      bool
}

// patterns returns the patterns of an object, or of a list for several lines.
func patterns(raw json.RawMessage) ([]pattern, error) {
	var all []patternJSON
	single := json.Unmarshal(raw, &all) != nil
	if single {
		all = make([]patternJSON, 1)
		if err := json.Unmarshal(raw, &all[0]); err != nil {
			return nil, fmt.Errorf("pattern: an object expected, a list of them, or a name: %w", err)
		}
	}
	if len(all) == 0 || len(all) > maxPatterns {
		return nil, fmt.Errorf("pattern: 1 to %d patterns expected, not %d", maxPatterns, len(all))
	}
	out := make([]pattern, len(all))
	has := [fields]bool{}
	for i, p := range all {
		var err error
		switch {
		case p.Regexp == "":
			return nil, errors.New("pattern: a regexp expected")
		case p.Kind != "" && p.Kind != "file" && p.Kind != "location":
			return nil, fmt.Errorf("pattern: file or location expected as its kind, not %q", p.Kind)
		case p.Kind != "" && i > 0:
			return nil, errors.New("pattern: a kind expected in the first pattern only")
		case p.Loop && i < len(all)-1:
			return nil, errors.New("pattern: loop expected in the last pattern only")
		}
		if out[i].expression, err = compile(p.Regexp); err != nil {
			return nil, fmt.Errorf("pattern: %w", err)
		}
		out[i].loop, out[i].wholeFile = p.Loop, p.Kind == "file"
		groups := [fields]*int{p.File, p.Location, p.Line, p.Column, p.EndLine, p.EndColumn, p.Severity, p.Code, p.Message}
		if single {
			defaults(&groups, p.Kind == "file", out[i].expression.NumSubexp())
		}
		for f, group := range groups {
			out[i].groups[f] = absent
			if group == nil {
				continue
			}
			if *group < 0 || *group > out[i].expression.NumSubexp() {
				return nil, fmt.Errorf("pattern: the number of a group expected, 0 to %d, not %d", out[i].expression.NumSubexp(), *group)
			}
			out[i].groups[f], has[f] = *group, true
		}
	}
	if !has[file] || !has[message] || !has[location] && !has[line] && !out[0].wholeFile {
		return nil, errors.New("pattern: groups for file and message expected, and one for line or location unless the kind is file")
	}
	return out, nil
}

// defaults sets the groups that a single pattern does not name, of those that its expression has.
func defaults(groups *[fields]*int, wholeFile bool, last int) {
	set := func(f, group int) {
		if groups[f] == nil && group <= last {
			groups[f] = &group
		}
	}
	set(file, 1)
	set(message, 0)
	if groups[location] == nil && !wholeFile {
		set(line, 2)
		set(column, 3)
	}
}

// match returns what the groups of the pattern are in a line; false if it does not match.
func (p *pattern) match(text string) (out [fields]string, ok bool) {
	m := p.expression.FindStringSubmatch(text)
	if m == nil {
		return out, false
	}
	for f, group := range p.groups {
		if group != absent {
			out[f] = m[group]
		}
	}
	return out, true
}
