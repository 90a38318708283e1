package show

import (
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/internal/capture"
)

// Line formats one line of a host's output: on a terminal with its time and stream,
// else unchanged.
func (s Screen) Line(ln capture.Line) string {
	if !s.Terminal {
		return ln.Text
	}
	mark, style := "out", Plain
	switch ln.Stream {
	case capture.Stderr:
		mark, style = "err", Yellow
	case capture.Note:
		mark, style = "---", Dim
	}
	return s.Paint(Dim, s.clock(ln.Time)) + " " + s.Paint(style, mark) + " " + s.harmless(ln.Text)
}

// harmless keeps the colours of a host's output if the screen has colour, and
// removes all other control sequences.
func (s Screen) harmless(text string) string {
	if strings.IndexFunc(text, unfit) < 0 {
		return text
	}
	var b strings.Builder
	colored := false
	for len(text) > 0 {
		if n := sgr(text); n > 0 {
			if s.Color {
				b.WriteString(text[:n])
				colored = true
			}
			text = text[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteString(Clean(text[:n]))
		}
		text = text[n:]
	}
	if colored {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// sgr returns the length of the sequence for colour or weight that text starts with,
// or 0.
func sgr(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
