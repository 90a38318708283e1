package search

import (
	"regexp"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// pattern is what text is looked for: the pattern of a host, for both engines.
type pattern struct {
	fixed     string // if regexp is ""
	ripgrep   string // as ripgrep writes it
	pcre      bool   // ripgrep needs PCRE2; there is no compiled expression
	caseMatch bool
	multiline bool
	compiled  *regexp.Regexp
}

// info is an IPatternInfo of VS Code.
type info struct {
	Pattern         string `json:"pattern"`
	IsRegExp        bool   `json:"isRegExp"`
	IsCaseSensitive bool   `json:"isCaseSensitive"`
	IsWordMatch     bool   `json:"isWordMatch"`
	IsMultiline     bool   `json:"isMultiline"`
}

// newPattern translates a pattern. The error is one for an extension.
func newPattern(in info) (*pattern, error) {
	if in.Pattern == "" {
		return nil, workbench.Invalid("text to search for: the pattern is empty")
	}
	p := &pattern{caseMatch: in.IsCaseSensitive, multiline: in.IsMultiline || strings.Contains(in.Pattern, "\n")}
	source := in.Pattern
	if !in.IsRegExp {
		source = regexp.QuoteMeta(source)
		if !in.IsWordMatch && !p.multiline {
			p.fixed = in.Pattern
		}
	}
	if in.IsWordMatch {
		if isWord(in.Pattern[0]) {
			source = `\b` + source
		}
		if isWord(in.Pattern[len(in.Pattern)-1]) {
			source += `\b`
		}
	}
	t := translation{source: source}
	t.run()
	p.multiline = p.multiline || t.multiline
	if t.pcre {
		p.pcre, p.ripgrep = true, source
		return p, nil
	}
	flags := "(?m)"
	if !p.caseMatch {
		flags = "(?mi)"
	}
	var err error
	if p.compiled, err = regexp.Compile(flags + t.ours.String()); err != nil {
		return nil, workbench.Invalid("text to search for: %q is not a regular expression that this editor has: %v", in.Pattern, err)
	}
	if p.fixed == "" {
		p.ripgrep = t.rg.String()
	}
	return p, nil
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// translation rewrites an expression of JavaScript for ripgrep and for package regexp, so that both
// find the same.
type translation struct {
	source          string
	ours, rg        strings.Builder
	pcre, multiline bool
	inClass         bool
}

func (t *translation) both(s string) {
	t.ours.WriteString(s)
	t.rg.WriteString(s)
}

// Sets of characters without their brackets. space is \s of JavaScript but for U+FEFF.
const (
	digits = "0-9"
	words  = "0-9A-Za-z_"
	space  = `\t\n\x0b\f\r\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
)

func (t *translation) run() {
	s := t.source
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			i += t.escape(s[i:])
		case t.inClass && c == ']':
			t.inClass = false
			t.both("]")
		case t.inClass && strings.IndexByte("[&~", c) >= 0: // operators in ripgrep's sets
			t.both(`\x{` + hex(c) + `}`)
		case !t.inClass && c == '[':
			t.inClass = true
			t.both("[")
			if strings.HasPrefix(s[i+1:], "^") {
				i++
				t.both("^")
			}
		case !t.inClass && c == '.':
			t.both(`[^\r\n]`)
		case !t.inClass && (strings.HasPrefix(s[i:], "(?=") || strings.HasPrefix(s[i:], "(?!") || strings.HasPrefix(s[i:], "(?<=") || strings.HasPrefix(s[i:], "(?<!")):
			t.pcre = true
			return
		case !t.inClass && c == '$': // \r belongs to the end of a line
			t.ours.WriteString(`(?:\r??$)`)
			t.rg.WriteString("$")
		case c == '\n':
			t.multiline = true
			t.both(`\r?\n`)
		default:
			t.both(string([]byte{c}))
		}
	}
}

func hex(c byte) string {
	const figures = "0123456789abcdef"
	return string([]byte{figures[c>>4], figures[c&15]})
}

// escape writes what follows a backslash, and returns how many bytes more than one that is.
func (t *translation) escape(s string) int {
	set := func(chars, not string) {
		if t.inClass && not == "" {
			t.both(chars)
		} else {
			t.both("[" + not + chars + "]")
		}
	}
	switch c := s[0]; {
	case c == 'u' && strings.HasPrefix(s, "u{"):
		if end := strings.IndexByte(s, '}'); end > 0 {
			t.both(`\x` + s[1:end+1])
			return end
		}
		t.both("u")
	case c == 'u' && len(s) >= 5:
		t.both(`\x{` + s[1:5] + `}`)
		return 4
	case (c == 'b' || c == 'B') && !t.inClass:
		t.ours.WriteString(`\` + s[:1])
		t.rg.WriteString(`(?-u:\` + s[:1] + `)`)
	case c == 'd':
		set(digits, "")
	case c == 'w':
		set(words, "")
	case c == 's':
		set(space, "")
	case (c == 'D' || c == 'W' || c == 'S') && t.inClass:
		t.ours.WriteString(`\` + s[:1])
		t.rg.WriteString(map[byte]string{'D': "[^" + digits + "]", 'W': "[^" + words + "]", 'S': `\S`}[c])
		t.multiline = t.multiline || c == 'W'
	case c == 'D':
		set(digits, "^")
	case c == 'W':
		t.multiline = true
		set(words, "^")
	case c == 'S':
		set(space, "^")
	case c == 'n' && !t.inClass:
		t.multiline = true
		t.both(`\r?\n`)
	case c == 'n' || c == 'r':
		t.multiline = true
		t.both(`\` + s[:1])
	case c >= '1' && c <= '9' || c == 'k':
		t.pcre = true
	case c < 0x80 && !isWord(c):
		t.both(`\x{` + hex(c) + `}`)
	case c == '_' || c >= 0x80:
		t.both(s[:1])
	default:
		t.both(`\` + s[:1])
	}
	return 0
}
