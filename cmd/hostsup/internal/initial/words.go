package initial

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var (
	errQuote = errors.New("a quote without its end")
	errUTF8  = errors.New("there is what is not valid UTF-8")
)

// split splits a command into words as a shell does: spaces separate them, quotes
// and backslashes keep them together. It expands nothing.
func split(s string) ([]string, error) {
	var (
		words []string
		word  strings.Builder
		begun bool
		quote rune // ' or " or 0
		plain bool // the next one follows a backslash
	)
	if !utf8.ValidString(s) {
		return nil, errUTF8
	}
	for _, r := range s {
		switch {
		case plain:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			plain = false
		case r == '\\' && quote != '\'':
			plain, begun = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || plain {
		return nil, errQuote
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
