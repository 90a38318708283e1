package show

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostsup/hostsup/lifecycle"
)

// Screen describes the output that text is formatted for. The zero value is a pipe:
// full lines, without colour.
type Screen struct {
	Terminal bool
	Color    bool
	Width    int // columns; 0: unlimited
	Now      time.Time
	Zone     *time.Location // nil: local
}

// Style is a colour or a weight, as the parameters of its escape sequence.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
	Alarm  Style = "1;31"
)

// Paint applies a style to text if the screen has colour.
func (s Screen) Paint(style Style, text string) string {
	if !s.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// StateStyle returns the style of a host's state.
func StateStyle(st lifecycle.State) Style {
	switch st {
	case lifecycle.Running:
		return Green
	case lifecycle.Starting, lifecycle.Restarting, lifecycle.Stopping:
		return Cyan
	case lifecycle.Unresponsive:
		return Yellow
	case lifecycle.Crashed:
		return Red
	case lifecycle.Failed:
		return Alarm
	}
	return Dim
}

// stamp formats a time of day with its date, for columns.
func (s Screen) stamp(t time.Time) string { return s.local(t).Format("2006-01-02 15:04:05.000") }

// clock formats a time of day.
func (s Screen) clock(t time.Time) string { return s.local(t).Format("15:04:05.000") }

func (s Screen) local(t time.Time) time.Time {
	if s.Zone == nil {
		return t.Local()
	}
	return t.In(s.Zone)
}

// Clean makes untrusted text fit for one line: control characters and invalid UTF-8
// are shown as escapes.
func Clean(text string) string {
	if strings.IndexFunc(text, unfit) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unfit(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unfit(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// unfit also reports characters that change the direction of text.
func unfit(r rune) bool {
	return unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// cut shortens text to a number of columns and marks the cut in the last one. It
// counts every character as one column.
func cut(text string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	n := 0
	for i := range text {
		if n == columns-1 {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// pad fills text up to a number of columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-utf8.RuneCountInString(text)))
}

// Span formats a duration in at most two units.
func Span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// seconds converts a duration from JSON.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Bytes formats an amount of memory.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	f, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, next
	}
	if f < 10 {
		return fmt.Sprintf("%.1f%s", f, unit)
	}
	return fmt.Sprintf("%.0f%s", f, unit)
}
