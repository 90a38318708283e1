package glob

import (
	"fmt"
	"strings"
)

// Limits on what the braces of one pattern may amount to.
const (
	maxDepth        = 100
	maxAlternatives = 10_000
	maxBytes        = 1 << 20
)

// maxTogether limits what the patterns of one Glob may amount to.
const maxTogether = 100_000

// expand returns the patterns without braces that a pattern stands for.
func expand(pattern string) ([]string, error) {
	e := expansion{pattern: pattern}
	out, err := e.sequence(0)
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrPattern, pattern, err)
	}
	return out, nil
}

type expansion struct {
	pattern string
	at      int
}

// sequence reads up to the comma or brace that ends an alternative, or to the end.
func (e *expansion) sequence(depth int) ([]string, error) {
	out := []string{""}
	for e.at < len(e.pattern) {
		start := e.at
		switch c := e.pattern[e.at]; {
		case depth > 0 && (c == ',' || c == '}'):
			return out, nil
		case c == '{':
			more, err := e.alternatives(depth + 1)
			if err != nil {
				return nil, err
			}
			if out, err = product(out, more); err != nil {
				return nil, err
			}
			continue
		case c == '[':
			end := classEnd(e.pattern[e.at:])
			if end < 0 {
				return nil, fmt.Errorf("a ] is missing")
			}
			e.at += end
		default:
			e.at++
			for e.at < len(e.pattern) && strings.IndexByte("{},[", e.pattern[e.at]) < 0 {
				e.at++
			}
		}
		var err error
		if out, err = product(out, []string{e.pattern[start:e.at]}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// alternatives reads from a brace to the one that closes it. As in VS Code, {a,} is {a}.
func (e *expansion) alternatives(depth int) ([]string, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("braces are nested more than %d deep", maxDepth)
	}
	e.at++
	var out []string
	for {
		start := e.at
		more, err := e.sequence(depth)
		if err != nil {
			return nil, err
		}
		if e.at == len(e.pattern) {
			return nil, fmt.Errorf("a } is missing")
		}
		last := e.pattern[e.at] == '}'
		if e.at > start || !last || out == nil {
			out = append(out, more...)
		}
		e.at++
		if len(out) > maxAlternatives {
			return nil, fmt.Errorf("more than %d alternatives", maxAlternatives)
		}
		if last {
			return out, nil
		}
	}
}

// product returns each of the first texts followed by each of the second ones.
func product(first, second []string) ([]string, error) {
	bytes := 0
	for _, s := range first {
		bytes += len(s) * len(second)
	}
	for _, s := range second {
		bytes += len(s) * len(first)
	}
	if n := len(first) * len(second); n > maxAlternatives || bytes > maxBytes {
		return nil, fmt.Errorf("%d alternatives of %d bytes, at most %d of %d expected", n, bytes, maxAlternatives, maxBytes)
	}
	out := make([]string, 0, len(first)*len(second))
	for _, f := range first {
		for _, s := range second {
			out = append(out, f+s)
		}
	}
	return out, nil
}

// classEnd returns the length of the set of characters that a pattern begins with, -1 if it does
// not end. A ] that comes first belongs to the set.
func classEnd(pattern string) int {
	at := 1
	if at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^') {
		at++
	}
	at++ // one character at least
	if at >= len(pattern) {
		return -1
	}
	end := strings.IndexByte(pattern[at:], ']')
	if end < 0 {
		return -1
	}
	return at + end + 1
}
