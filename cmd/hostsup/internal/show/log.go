package show

import (
	"hash/fnv"
	"io"
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

// hostColors are what names of hosts are painted with. Red is for what is wrong.
var hostColors = []Style{Cyan, Yellow, Green, "35", "34", "96", "93", "92", "95", "94"}

// HostStyle returns the colour of a host's name, which is always the same.
func HostStyle(host string) Style {
	h := fnv.New32a()
	_, _ = io.WriteString(h, host) // a hash has no errors
	return hostColors[h.Sum32()%uint32(len(hostColors))]
}

// HostLine formats one line of the output of several hosts: the name of its host in front,
// names is the width of those. On a terminal it has its time, too. The sign after the name
// is | for standard output, ! for standard error and - for a remark.
func (s Screen) HostLine(host string, ln capture.Line, names int) string {
	sign, style := " | ", HostStyle(host)
	switch ln.Stream {
	case capture.Stderr:
		sign = " ! "
	case capture.Note:
		sign = " - "
	}
	head := s.Paint(style, pad(Clean(host), names)+sign)
	if !s.Terminal {
		return head + ln.Text
	}
	return s.Paint(Dim, s.clock(ln.Time)) + " " + head + s.harmless(ln.Text)
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
