package builtin

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/workbench/text"
)

// Language is what counts of a language. The zero value is a language without a configuration.
type Language struct {
	Words    *regexp.Regexp // a word; nil: the default of VS Code
	Brackets [][2]string    // pairs
	TabSize  int            // columns of a tab; less than 1: 4
	OffSide  bool           // blocks are what is indented, without an end of their own
	// FoldStart and FoldEnd are lines that begin and end a region. Both are nil for a language without such lines.
	FoldStart, FoldEnd *regexp.Regexp
}

// DefaultWords is the pattern of words of languages without their own.
var DefaultWords = regexp.MustCompile("(-?\\d*\\.\\d\\w*)|([^`~!@#$%^&*()\\-=+\\[{\\]}\\\\|;:'\",.<>/?\\s]+)")

// maxOccurrences bounds what Occurrences returns, as VS Code does.
const maxOccurrences = 999

// word returns the word at a column of a line, which begins or ends there at least, and its range. ok is
// false without one.
func word(t *text.Text, line, column int, l Language) (w string, r text.Range, ok bool) {
	if line < 1 || line > t.Count() {
		return "", r, false
	}
	pattern := l.Words
	if pattern == nil {
		pattern = DefaultWords
	}
	content := t.Line(line)
	for _, m := range pattern.FindAllStringIndex(content, -1) {
		from := text.Units(content[:m[0]]) + 1
		to := from + text.Units(content[m[0]:m[1]])
		if from > column {
			break
		}
		if column <= to {
			return content[m[0]:m[1]], text.Range{StartLine: line, StartColumn: from, EndLine: line, EndColumn: to}, true
		}
	}
	return "", r, false
}

// separators end a word where VS Code searches for whole words.
const separators = "`~!@#$%^&*()-=+[{]}\\|;:'\",.<>/? \t"

// Occurrences returns where the word at a position occurs as a whole word, with the same case: at most 999
// ranges. out is empty if no word is at the position.
func Occurrences(t *text.Text, line, column int, l Language) (out []text.Range) {
	w, _, ok := word(t, line, column, l)
	if !ok {
		return nil
	}
	first, _ := utf8.DecodeRuneInString(w)
	last, _ := utf8.DecodeLastRuneInString(w)
	width := text.Units(w)
	number := 0
	for content := range t.All() {
		number++
		for at := 0; ; {
			i := strings.Index(content[at:], w)
			if i < 0 {
				break
			}
			from, to := at+i, at+i+len(w)
			at = to
			before, _ := utf8.DecodeLastRuneInString(content[:from])
			behind, _ := utf8.DecodeRuneInString(content[to:])
			if !(from == 0 || separates(before) || separates(first)) || !(to == len(content) || separates(behind) || separates(last)) {
				continue
			}
			column := text.Units(content[:from]) + 1
			out = append(out, text.Range{StartLine: number, StartColumn: column, EndLine: number, EndColumn: column + width})
			if len(out) == maxOccurrences {
				return out
			}
		}
	}
	return out
}

func separates(r rune) bool { return strings.ContainsRune(separators, r) }
