package problems

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxExpression bounds an expression, in bytes.
const maxExpression = 10_000

// ErrExpression means that an expression cannot be used here: it is not one of JavaScript, or has look-around or
// a reference to a group.
var ErrExpression = errors.New("a regular expression of JavaScript without look-around and references to groups expected")

// Sets of characters without their brackets: what JavaScript means by \s, and by the opposite of the dot.
const (
	space = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ends  = `\n\r\x{2028}\x{2029}`
)

// compile compiles an expression of JavaScript without flags.
func compile(source string) (*regexp.Regexp, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrExpression, len(source), maxExpression)
	}
	var out strings.Builder
	inClass := false
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		switch c := source[i]; {
		case c == '\\':
			n, err := escape(&out, rest, inClass)
			if err != nil {
				return nil, fmt.Errorf("%w, not %q", err, source)
			}
			i += n - 1
		case inClass:
			if c == '[' {
				out.WriteByte('\\') // no class of POSIX
			}
			out.WriteByte(c)
			inClass = c != ']'
		case strings.HasPrefix(rest, "[^]"):
			out.WriteString("(?s:.)")
			i += 2
		case strings.HasPrefix(rest, "[]"):
			out.WriteString(`[^\x00-\x{10ffff}]`)
			i++
		case c == '[':
			out.WriteByte(c)
			if inClass = true; strings.HasPrefix(rest, "[^") {
				out.WriteByte('^')
				i++
			}
		case c == '.':
			out.WriteString("[^" + ends + "]")
		case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
			return nil, fmt.Errorf("%w, not %q", ErrExpression, source)
		default:
			out.WriteByte(c)
		}
	}
	re, err := regexp.Compile(out.String())
	if err != nil {
		return nil, fmt.Errorf("%w, not %q: %w", ErrExpression, source, err)
	}
	return re, nil
}

// escape translates what begins with a backslash, and returns its length.
func escape(out *strings.Builder, s string, inClass bool) (int, error) {
	if len(s) < 2 {
		return 0, ErrExpression
	}
	set := func(not, chars string) (int, error) {
		if inClass && not == "" {
			out.WriteString(chars)
		} else {
			out.WriteString("[" + not + chars + "]")
		}
		return 2, nil
	}
	code := func(digits string, length int) (int, error) {
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || n > 0x10ffff {
			return 0, ErrExpression
		}
		fmt.Fprintf(out, `\x{%x}`, n)
		return length, nil
	}
	switch c := s[1]; {
	case c == 's':
		return set("", space)
	case c == 'S' && !inClass:
		return set("^", space)
	case c == 'S':
		return 0, fmt.Errorf("%w: \\S within a class cannot be used", ErrExpression)
	case c >= '1' && c <= '9' || c == 'k':
		return 0, ErrExpression
	case c == '0':
		return code("0", 2)
	case c == 'b' && inClass:
		return code("8", 2)
	case c == 'u' && strings.HasPrefix(s[2:], "{") && strings.Contains(s, "}"):
		end := strings.IndexByte(s, '}')
		return code(s[3:end], end+1)
	case c == 'u' && len(s) >= 6:
		return code(s[2:6], 6)
	case c == 'x' && len(s) >= 4:
		return code(s[2:4], 4)
	case c == 'c' && len(s) >= 3:
		return code(strconv.FormatInt(int64(s[2]&31), 16), 3)
	case strings.IndexByte("dDwWbBtnvfr", c) >= 0:
		out.WriteString(s[:2])
		return 2, nil
	}
	out.WriteString(regexp.QuoteMeta(s[1:2])) // other letters are themselves
	return 2, nil
}
