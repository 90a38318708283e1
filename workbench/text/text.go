package text

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// EOL is a line ending: "\n" or "\r\n".
type EOL string

// The line endings that a text can have.
const (
	LF   EOL = "\n"
	CRLF EOL = "\r\n"
)

// Text is a text as lines with one line ending. The zero value has no line: use [New].
//
// It takes the bytes of the text and one byte a line at most: where a line begins is kept for some of
// the lines only.
type Text struct {
	s     string // with LF as line ending
	eol   EOL
	count int   // of the lines
	at    []int // the byte at which each line begins whose index is a multiple of perEntry
	units []int // UTF-16 units in the lines before each of these; nil if all of the text is ASCII
	total int   // UTF-16 units in all lines
}

// perEntry is how many lines have an entry in the index together.
const perEntry = 32

// New returns a text. Of different line endings it takes the one that VS Code takes: CRLF if more
// than half of them have a carriage return, and fallback if there are no line ends. Bytes that are not UTF-8
// become U+FFFD.
func New(s string, fallback EOL) *Text {
	var lf, cr int
	for i := range len(s) {
		switch {
		case s[i] == '\r':
			cr++
		case s[i] == '\n' && (i == 0 || s[i-1] != '\r'):
			lf++
		}
	}
	eol := LF
	switch {
	case lf+cr == 0:
		eol = fallback
	case cr > (lf+cr)/2:
		eol = CRLF
	}
	return indexed(unified(strings.ToValidUTF8(s, "\uFFFD"), LF), eol)
}

// indexed returns the text of s, which must have LF as line ending.
func indexed(s string, eol EOL) *Text {
	t := &Text{s: s, eol: eol, count: strings.Count(s, "\n") + 1}
	entries := (t.count + perEntry - 1) / perEntry
	t.at = make([]int, 0, entries)
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if ascii {
		t.total = len(s) - t.count + 1
	} else {
		t.units = make([]int, 0, entries)
	}
	for at, line := 0, 0; line < t.count; line++ {
		if line%perEntry == 0 {
			t.at = append(t.at, at)
			if !ascii {
				t.units = append(t.units, t.total)
			}
		}
		next := at + lineLen(s[at:])
		if !ascii {
			t.total += Units(s[at:next])
		}
		at = next + 1
	}
	return t
}

// lineLen returns how many bytes the first line of s has.
func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// unified returns s with one line ending in the place of all three.
func unified(s string, eol EOL) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	if eol == CRLF {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	return s
}

// tail returns how many line ends s has, and the UTF-16 units after the last one.
func tail(s string) (ends, units int) {
	s = unified(s, LF)
	return strings.Count(s, "\n"), Units(s[strings.LastIndexByte(s, '\n')+1:])
}

// Units returns the length of s in UTF-16 units.
func Units(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// bytesOf returns how many bytes the first UTF-16 units of s have. Within a surrogate pair it returns
// the place before it.
func bytesOf(s string, units int) int {
	at := 0
	for units > 0 && at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		units--
		if r > 0xFFFF {
			units--
		}
		if units < 0 {
			break
		}
		at += size
	}
	return at
}

// String returns the whole text.
func (t *Text) String() string { return unified(t.s, t.eol) }

// Lines returns the lines without their ends. They take 16 bytes each besides the text: see also
// [Text.Line] and [Text.All].
func (t *Text) Lines() []string { return slices.AppendSeq(make([]string, 0, t.count), t.All()) }

// All returns the lines without their ends.
func (t *Text) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest, n := t.s, t.count; n > 0; n-- {
			end := lineLen(rest)
			if !yield(rest[:end]) {
				return
			}
			rest = rest[min(end+1, len(rest)):]
		}
	}
}

// Count returns the number of lines, which is at least 1.
func (t *Text) Count() int { return t.count }

// Line returns a line without its end, by its number, which must be at least 1 and at most
// [Text.Count].
func (t *Text) Line(line int) string {
	rest := t.s[t.start(line):]
	return rest[:lineLen(rest)]
}

// start returns the byte at which a line begins.
func (t *Text) start(line int) int {
	at := t.at[(line-1)/perEntry]
	for range (line - 1) % perEntry {
		at += lineLen(t.s[at:]) + 1
	}
	return at
}

// unitsOf returns the length of a line in UTF-16 units.
func (t *Text) unitsOf(line int) int {
	if t.units == nil {
		return len(t.Line(line))
	}
	return Units(t.Line(line))
}

// EOL returns the line ending.
func (t *Text) EOL() EOL { return t.eol }

// Len returns the length in UTF-16 units.
func (t *Text) Len() int { return t.total + (t.count-1)*len(t.eol) }

// Weight returns about how many bytes more a text takes into which s is put.
func Weight(s string) int { return len(s) + perLine*(strings.Count(s, "\n")+strings.Count(s, "\r")) }

// Weight returns about how many bytes the text takes.
func (t *Text) Weight() int { return len(t.s) + perLine*t.count }

// Whole returns the range of the whole text.
func (t *Text) Whole() Range { return Range{1, 1, t.count, t.unitsOf(t.count) + 1} }

// WithEOL returns the text with another line ending.
func (t *Text) WithEOL(eol EOL) *Text {
	out := *t
	out.eol = eol
	return &out
}

// offset returns how many UTF-16 units are before a position of the text.
func (t *Text) offset(line, column int) int {
	n := column - 1 + (line-1)*len(t.eol)
	if t.units == nil {
		return n + t.start(line) - (line - 1)
	}
	entry := (line - 1) / perEntry
	before := t.s[t.at[entry]:t.start(line)]
	return n + t.units[entry] + Units(before) - strings.Count(before, "\n")
}

// Slice returns the text of a range.
func (t *Text) Slice(r Range) string {
	r = t.Clamp(r)
	return unified(t.s[t.place(r.StartLine, r.StartColumn):t.place(r.EndLine, r.EndColumn)], t.eol)
}

// place returns the bytes before a position.
func (t *Text) place(line, column int) int {
	at := t.start(line)
	if t.units == nil {
		return at + column - 1
	}
	return at + bytesOf(t.s[at:at+lineLen(t.s[at:])], column-1)
}
