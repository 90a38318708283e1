package config

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// source is attached to each diagnostic, so that Print can show the text that was
// read: the file may have changed meanwhile, or the text may not come from a file.
type source struct {
	src   []byte
	body  *hclsyntax.Body // nil when it could not be parsed
	inner any
}

// UnwrapDiagnosticExtra returns what the HCL library attached to the diagnostic.
func (s source) UnwrapDiagnosticExtra() any { return s.inner }

var _ hcl.DiagnosticExtraUnwrapper = source{}

// Print writes diagnostics for people, each with file:line:column, the error, the
// line and the expected value. Width is the number of columns to wrap at; 0 does not
// wrap. The error is the writer's.
func Print(w io.Writer, diags hcl.Diagnostics, color bool, width int) error {
	var b bytes.Buffer
	p := printer{Buffer: &b, width: width}
	if color {
		p.bold, p.red, p.yellow, p.dim, p.plain = "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[2m", "\x1b[0m"
	}
	for i, d := range diags {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.diagnostic(d)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// maxSnippet bounds the shown part of a line if the width is unknown.
const maxSnippet = 160

type printer struct {
	*bytes.Buffer
	width                         int
	bold, red, yellow, dim, plain string
}

func (p *printer) diagnostic(d *hcl.Diagnostic) {
	hue, word := p.red, "error"
	if d.Severity == hcl.DiagWarning {
		hue, word = p.yellow, "warning"
	}
	if d.Subject != nil {
		fmt.Fprintf(p, "%s%s:%d:%d:%s ", p.bold, clean(d.Subject.Filename), d.Subject.Start.Line, d.Subject.Start.Column, p.plain)
	}
	fmt.Fprintf(p, "%s%s:%s %s%s%s\n", hue, word, p.plain, p.bold, clean(lowerFirst(d.Summary)), p.plain)
	if s, ok := d.Extra.(source); ok && d.Subject != nil {
		p.snippet(s, *d.Subject, hue)
	}
	p.wrapped(clean(d.Detail))
}

// snippet shows the line that rng begins on, with the names of the blocks around it
// and marks under the range.
func (p *printer) snippet(s source, rng hcl.Range, hue string) {
	line, start, ok := lineAt(s.src, rng.Start.Byte)
	if !ok || strings.TrimSpace(line) == "" {
		return
	}
	number := fmt.Sprint(rng.Start.Line)
	margin := strings.Repeat(" ", len(number))
	if in := around(s.body, rng.Start.Byte); in != "" {
		fmt.Fprintf(p, "  %s%s in %s%s\n", p.dim, margin, clean(in), p.plain)
	}
	from := min(max(rng.Start.Byte-start, 0), len(line))
	to := len(line)
	if rng.End.Byte-start < to {
		to = max(rng.End.Byte-start, from)
	}
	before, marked, after := clean(line[:from]), clean(line[from:to]), clean(line[to:])
	room := maxSnippet
	if p.width > 0 {
		room = max(p.width-len(number)-6, 20)
	}
	before, marked, after = cut(before, marked, after, room)
	fmt.Fprintf(p, "  %s%s |%s %s%s%s%s%s\n", p.dim, number, p.plain, before, hue, marked, p.plain, after)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, before)
	marks := max(utf8.RuneCountInString(strings.TrimRight(marked, " \t")), 1)
	fmt.Fprintf(p, "  %s%s |%s %s%s%s%s\n", p.dim, margin, p.plain, pad, hue, strings.Repeat("^", marks), p.plain)
}

// lineAt returns the line that contains a byte, without its end, and its offset.
func lineAt(src []byte, at int) (line string, start int, ok bool) {
	if at < 0 || at > len(src) {
		return "", 0, false
	}
	start = bytes.LastIndexByte(src[:at], '\n') + 1
	end := bytes.IndexByte(src[start:], '\n')
	if end < 0 {
		end = len(src) - start
	}
	return strings.TrimRight(string(src[start:start+end]), "\r"), start, true
}

// around returns the names of the blocks that contain a byte, from the outermost:
// `host "db" › restart`.
func around(body *hclsyntax.Body, at int) string {
	var names []string
	for body != nil {
		var inside *hclsyntax.Body
		for _, b := range body.Blocks {
			if b.OpenBraceRange.End.Byte <= at && at <= b.CloseBraceRange.Start.Byte {
				name := b.Type
				for _, l := range b.Labels {
					name += fmt.Sprintf(" %q", l)
				}
				names = append(names, name)
				inside = b.Body
				break
			}
		}
		body = inside
	}
	return strings.Join(names, " › ")
}

// cut shortens a line to room characters, around the marked part.
func cut(before, marked, after string, room int) (string, string, string) {
	b, m, a := []rune(before), []rune(marked), []rune(after)
	if len(b)+len(m)+len(a) <= room {
		return before, marked, after
	}
	if len(m) > room {
		m = append(m[:room-1], '…')
	}
	if rest := room - len(m); len(b) > rest*2/3 {
		keep := max(rest*2/3-1, 0)
		b = append([]rune("…"), b[len(b)-keep:]...)
	}
	if rest := room - len(m) - len(b); len(a) > rest {
		a = append(a[:max(rest-1, 0):max(rest-1, 0)], '…')
	}
	return string(b), string(m), string(a)
}

// wrapped writes text in lines of the width, indented by two.
func (p *printer) wrapped(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		used := 0
		for i, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
				p.WriteString("  ")
				used = 2
			case p.width > 0 && used+1+n > p.width:
				p.WriteString("\n  ")
				used = 2
			default:
				p.WriteByte(' ')
				used++
			}
			p.WriteString(word)
			used += n
		}
		if used > 0 {
			p.WriteByte('\n')
		}
	}
}

// clean replaces characters that a terminal would interpret.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || !unicode.IsControl(r) && r != utf8.RuneError {
			return r
		}
		return '\uFFFD'
	}, s)
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsUpper(next) {
		return s // an abbreviation
	}
	return string(unicode.ToLower(r)) + s[n:]
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
