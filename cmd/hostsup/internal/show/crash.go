package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle/record"
)

var crashColumns = []column{
	{title: "ID"}, {title: "TIME", spare: 3}, {title: "HOST", spare: 4}, {title: "LIFE", right: true, spare: 2}, {title: "UPTIME", right: true, spare: 1},
	{title: "NEXT", spare: 5}, {title: "ALIKE", spare: 6}, {title: "REASON"},
}

// Crashes writes crash reports as a table, one line each, with how many are alike.
func (s Screen) Crashes(w io.Writer, reports []evidence.Summary, groups []evidence.Group) error {
	rows := make([][]cell, len(reports))
	for i, c := range reports {
		rows[i] = []cell{
			{text: Clean(c.ID)}, {s.stamp(c.Time), Dim}, {text: Clean(c.Host)}, {text: strconv.FormatUint(c.Life, 10)},
			{text: Span(seconds(c.Uptime))}, {text: next(c.Next, c.Reason)}, {text: s.Alike(groups, c.Likeness.Key)}, {text: Clean(c.Reason)},
		}
	}
	return s.table(w, crashColumns, rows)
}

// Crash writes one crash report in full. alike says how many are like it.
func (s Screen) Crash(w io.Writer, c *record.CrashReport, alike string) error {
	var b strings.Builder
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %s %s\n", s.Paint(Dim, pad(name, 9)), text)
		}
	}
	fmt.Fprintln(&b, s.Paint(Bold, "crash "+Clean(c.ID)))
	field("host", fmt.Sprintf("%s (group %s), life %d, pid %d", Clean(c.Host), Clean(c.Group), c.Life, c.PID))
	field("when", fmt.Sprintf("%s, while %s, after %s", s.stamp(c.Time), c.State, Span(seconds(c.Uptime))))
	field("reason", s.Paint(Red, Clean(c.Reason)))
	field("exit", exitText(c))
	field("used", fmt.Sprintf("%s user, %s system, %s of memory at most", Span(seconds(c.User)), Span(seconds(c.System)), Bytes(c.MaxRSS)))
	if c.Pending > 0 {
		field("pending", fmt.Sprintf("%d %s answered with this crash", c.Pending, Plural(c.Pending, "request was", "requests were")))
	}
	if c.Crashes > 0 {
		field("window", fmt.Sprintf("%d %s", c.Crashes, Plural(c.Crashes, "crash", "crashes")))
	}
	field("next", next(c.Next, c.Reason))
	field("alike", alike)
	field("command", commandText(c.Command))
	if c.Protocol != "" {
		field("protocol", Clean(c.Protocol))
	}
	if len(c.Noise) > 0 {
		field("bad bytes", fmt.Sprintf("% x  %s", c.Noise, Clean(string(c.Noise))))
	}

	if len(c.Denials) > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.Paint(Bold, fmt.Sprintf("denied by its sandbox, %d", len(c.Denials))))
		for _, d := range c.Denials {
			fmt.Fprintf(&b, "  %s\n", Clean(d.String()))
		}
	}
	s.accused(&b, service.ReportOf(c))
	fmt.Fprintf(&b, "\n%s\n", s.Paint(Bold, fmt.Sprintf("last output, %d %s", len(c.Lines), Plural(len(c.Lines), "line", "lines"))))
	for _, ln := range c.Lines {
		mark, style := "out", Plain
		if ln.Stream == "stderr" {
			mark, style = "err", Yellow
		}
		fmt.Fprintf(&b, "  %s %s %s\n", s.Paint(Dim, s.clock(ln.Time)), s.Paint(style, mark), s.harmless(ln.Text))
	}
	if e, ok := evidence.Of(c); ok && len(e.Timeline) > 0 {
		s.timeline(&b, &e)
	}
	fmt.Fprintf(&b, "\n%s\n", s.Paint(Bold, fmt.Sprintf("last messages, %d", len(c.Messages))))
	for _, m := range c.Messages {
		id := ""
		if m.ID > 0 {
			id = strconv.FormatUint(uint64(m.ID), 10)
		}
		line := fmt.Sprintf("  %s %-8s %-12s %6s %7s  %s", s.Paint(Dim, s.clock(m.Time)), Clean(m.Dir), Clean(m.Kind), id, Bytes(int64(m.Size)), Clean(m.Method))
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// next returns the decision after the crash, without the reason that is shown beside it.
func next(decision, reason string) string {
	return Clean(strings.TrimPrefix(decision, reason+": "))
}

func exitText(c *record.CrashReport) string {
	if c.Exit == nil {
		return ""
	}
	text := Clean(c.Exit.Reason)
	switch {
	case c.Exit.Signal != nil:
		text = "signal " + Clean(*c.Exit.Signal)
	case c.Exit.Code != nil:
		text = fmt.Sprintf("code %d", *c.Exit.Code)
	}
	if c.Core {
		text += ", core dumped"
	}
	return text
}

// commandText quotes what a shell would split.
func commandText(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}()<>|&;#~") || Clean(w) != w {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

// Plural returns one or many, depending on n.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
