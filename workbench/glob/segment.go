package glob

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// segment is the pattern of one name.
type segment struct {
	deep  bool   // **
	plain string // with parts nil: the name itself
	parts []part
}

// part matches a part of a name.
type part struct {
	kind kind
	text string
	set  class
}

type kind int

const (
	isText kind = iota
	isStar
	isOne
	isClass
)

type class struct {
	not    bool
	ranges [][2]rune
}

func (c class) has(r rune) bool {
	for _, b := range c.ranges {
		if b[0] <= r && r <= b[1] {
			return !c.not
		}
	}
	return c.not
}

func (s segment) isPlain() bool { return !s.deep && s.parts == nil }

// ending returns the text of the pattern *text.
func (s segment) ending() (string, bool) {
	switch {
	case s.deep || len(s.parts) == 0 || len(s.parts) > 2 || s.parts[0].kind != isStar:
		return "", false
	case len(s.parts) == 1:
		return "", true
	}
	return s.parts[1].text, s.parts[1].kind == isText
}

// parse reads a pattern without braces.
func parse(pattern string) ([]segment, error) {
	if pattern != "/" {
		pattern = strings.TrimSuffix(pattern, "/")
	}
	var out []segment
	for {
		end := 0
		for end < len(pattern) && pattern[end] != '/' {
			if n := classEnd(pattern[end:]); pattern[end] == '[' && n > 0 {
				end += n
			} else {
				end++
			}
		}
		name := pattern[:end]
		s, err := parseName(name)
		if err != nil {
			return nil, err
		}
		if !s.deep || len(out) == 0 || !out[len(out)-1].deep {
			out = append(out, s)
		}
		if end == len(pattern) {
			return out, nil
		}
		pattern = pattern[end+1:]
	}
}

func parseName(name string) (segment, error) {
	if name == "**" {
		return segment{deep: true}, nil
	}
	if !strings.ContainsAny(name, "*?[") {
		return segment{plain: name}, nil
	}
	var s segment
	for len(name) > 0 {
		n := 1
		switch name[0] {
		case '*':
			if len(s.parts) == 0 || s.parts[len(s.parts)-1].kind != isStar {
				s.parts = append(s.parts, part{kind: isStar})
			}
		case '?':
			s.parts = append(s.parts, part{kind: isOne})
		case '[':
			if n = classEnd(name); n < 0 {
				return s, fmt.Errorf("a ] is missing")
			}
			c, err := parseClass(name[1 : n-1])
			if err != nil {
				return s, err
			}
			s.parts = append(s.parts, part{kind: isClass, set: c})
		default:
			if n = strings.IndexAny(name, "*?["); n < 0 {
				n = len(name)
			}
			s.parts = append(s.parts, part{text: name[:n]})
		}
		name = name[n:]
	}
	return s, nil
}

// parseClass reads what is between the brackets.
func parseClass(text string) (c class, err error) {
	if text[0] == '!' || text[0] == '^' {
		c.not, text = true, text[1:]
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		low, high := runes[i], runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			high = runes[i+2]
			i += 2
		}
		if high < low {
			return c, fmt.Errorf("%c-%c is not a range", low, high)
		}
		c.ranges = append(c.ranges, [2]rune{low, high})
	}
	return c, nil
}

// matches reports whether segments match a path. After a mismatch it goes back to the last ** only,
// because an earlier one cannot help.
func matches(segments []segment, path string) bool {
	at, pos := 0, 0 // pos is len(path)+1 after the last name
	star, starPos := -1, 0
	for pos <= len(path) {
		if at < len(segments) && segments[at].deep {
			star, starPos = at, pos
			if at++; at == len(segments) {
				return true
			}
			continue
		}
		if at < len(segments) {
			end := nameEnd(path, pos)
			if segments[at].match(path[pos:end]) {
				at++
				pos = end + 1
				continue
			}
		}
		if star < 0 {
			return false
		}
		starPos = nameEnd(path, starPos) + 1
		at, pos = star+1, starPos
	}
	for at < len(segments) && segments[at].deep {
		at++
	}
	return at == len(segments)
}

func nameEnd(path string, pos int) int {
	if n := strings.IndexByte(path[pos:], '/'); n >= 0 {
		return pos + n
	}
	return len(path)
}

// match reports whether the segment matches a name; like [matches], with the last * only.
func (s segment) match(name string) bool {
	if s.parts == nil {
		return name == s.plain
	}
	at, pos := 0, 0
	star, starPos := -1, 0
	for {
		if at < len(s.parts) && s.parts[at].kind == isStar {
			star, starPos = at, pos
			at++
			continue
		}
		if at == len(s.parts) && pos == len(name) {
			return true
		}
		if at < len(s.parts) {
			if n := s.parts[at].match(name[pos:]); n > 0 {
				at++
				pos += n
				continue
			}
		}
		if star < 0 || starPos == len(name) {
			return false
		}
		if at == len(s.parts) && star == at-1 {
			return true // * at the end
		}
		_, n := utf8.DecodeRuneInString(name[starPos:])
		starPos += n
		at, pos = star+1, starPos
	}
}

// match returns how much of a name the part matches, 0 if it does not.
func (p part) match(name string) int {
	if p.kind == isText {
		if strings.HasPrefix(name, p.text) {
			return len(p.text)
		}
		return 0
	}
	if name == "" {
		return 0
	}
	r, n := utf8.DecodeRuneInString(name)
	if p.kind == isClass && !p.set.has(r) {
		return 0
	}
	return n
}
