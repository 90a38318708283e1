package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// Line returns a list of a sandbox block with one entry: `read = ["/lib64"]`.
func Line(field, entry string) string { return field + " = [" + Quote(entry) + "]" }

// Add returns the words by which every message names what would allow something
// that a policy does not allow: `add to sandbox: read = ["/lib64"]`. Text is what
// to write in the sandbox block, for example by [Line].
func Add(text string) string { return "add to sandbox: " + text }

// LackError says what is not granted, and ends with the line that would grant it.
type LackError struct {
	What string // "the program is not granted for running"
	Line string // as for [Add]
	Err  error  // what it comes to: test with errors.Is against fs.ErrNotExist and fs.ErrPermission
}

func (e *LackError) Error() string { return e.What + "; " + Add(e.Line) }
func (e *LackError) Unwrap() error { return e.Err }

// Quote writes s as a string of the configuration language. What cannot be seen is
// escaped, and bytes that are no UTF-8, which it does not have, are U+FFFD.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r) // twice is once, and no template
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
