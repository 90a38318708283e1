package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// Line returns a line of a sandbox block, a list with one entry: `read = ["/lib64"]`.
func Line(field, entry string) string { return field + " = [" + Quote(entry) + "]" }

// Add returns the advice that messages end with: `add to sandbox: read = ["/lib64"]`.
// text is the line to add to the sandbox block, for example from [Line].
func Add(text string) string { return "add to sandbox: " + text }

// LackError reports a missing grant; its text ends with the line that grants it.
type LackError struct {
	What string // "the program is not granted for running"
	Line string // the argument of [Add]
	Err  error  // matches fs.ErrNotExist or fs.ErrPermission
}

func (e *LackError) Error() string { return e.What + "; " + Add(e.Line) }
func (e *LackError) Unwrap() error { return e.Err }

// Quote writes s as a string of the configuration language. It escapes characters
// that are not printable. The language has UTF-8 only: other bytes become U+FFFD.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r) // doubled: the character itself, not a template
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
