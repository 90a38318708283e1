package text

import (
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
type Text struct {
	lines []string
	units []int // the length of each line in UTF-16 units
	eol   EOL
}

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
	t := &Text{eol: LF}
	switch {
	case lf+cr == 0:
		t.eol = fallback
	case cr > (lf+cr)/2:
		t.eol = CRLF
	}
	t.set(split(strings.ToValidUTF8(s, "\uFFFD")))
	return t
}

func (t *Text) set(lines []string) {
	t.lines = lines
	t.units = make([]int, len(lines))
	for i, l := range lines {
		t.units[i] = Units(l)
	}
}

// split splits at each of the three line endings: it returns at least one line.
func split(s string) (lines []string) {
	for {
		i := strings.IndexAny(s, "\r\n")
		if i < 0 {
			return append(lines, s)
		}
		lines = append(lines, s[:i])
		if strings.HasPrefix(s[i:], "\r\n") {
			i++
		}
		s = s[i+1:]
	}
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
func (t *Text) String() string { return strings.Join(t.lines, string(t.eol)) }

// Lines returns the lines without their ends. It must not be changed.
func (t *Text) Lines() []string { return t.lines }

// EOL returns the line ending.
func (t *Text) EOL() EOL { return t.eol }

// Len returns the length in UTF-16 units.
func (t *Text) Len() int { return t.offset(len(t.lines), t.units[len(t.units)-1]+1) }

// Weight returns about how many bytes more a text takes into which s is put.
func Weight(s string) int {
	return len(s) + perLine*(strings.Count(s, "\n")+strings.Count(s, "\r"))
}

// Weight returns about how many bytes the text takes.
func (t *Text) Weight() int {
	n := perLine * len(t.lines)
	for _, l := range t.lines {
		n += len(l)
	}
	return n
}

// Whole returns the range of the whole text.
func (t *Text) Whole() Range {
	return Range{1, 1, len(t.lines), t.units[len(t.units)-1] + 1}
}

// WithEOL returns the text with another line ending.
func (t *Text) WithEOL(eol EOL) *Text { return &Text{t.lines, t.units, eol} }

// offset returns how many UTF-16 units are before a position of the text.
func (t *Text) offset(line, column int) int {
	n := column - 1 + (line-1)*len(t.eol)
	for _, u := range t.units[:line-1] {
		n += u
	}
	return n
}

// Slice returns the text of a range.
func (t *Text) Slice(r Range) string {
	r = t.Clamp(r)
	from, to := t.place(r.StartLine, r.StartColumn), t.place(r.EndLine, r.EndColumn)
	if r.StartLine == r.EndLine {
		return t.lines[r.StartLine-1][from:to]
	}
	var b strings.Builder
	b.WriteString(t.lines[r.StartLine-1][from:])
	for _, l := range t.lines[r.StartLine : r.EndLine-1] {
		b.WriteString(string(t.eol) + l)
	}
	b.WriteString(string(t.eol) + t.lines[r.EndLine-1][:to])
	return b.String()
}

// place returns the bytes before a position in its line.
func (t *Text) place(line, column int) int { return bytesOf(t.lines[line-1], column-1) }
