package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hostsup/hostsup/control/evidence"
)

var groupColumns = []column{
	{title: "LATEST"}, {title: "LAST", spare: 2}, {title: "HOSTS", spare: 1}, {title: "PROGRAM", spare: 4}, {title: "VERSION", spare: 3}, {title: "ALIKE"}, {title: "WHAT"},
}

// CrashGroups writes a line for each kind of crash.
func (s Screen) CrashGroups(w io.Writer, groups []evidence.Group) error {
	rows := make([][]cell, len(groups))
	for i, g := range groups {
		rows[i] = []cell{
			{text: Clean(g.Latest)}, {s.stamp(g.Last), Dim}, {text: Clean(strings.Join(g.Hosts, " "))}, {text: Clean(strings.Join(g.Programs, ", "))},
			{text: Clean(strings.Join(g.Versions, " "))}, {text: s.Alike(groups, g.Key)}, {text: Clean(what(g.Likeness))},
		}
	}
	return s.table(w, groupColumns, rows)
}

// what returns what the crashes of a likeness have in common.
func what(l evidence.Likeness) string {
	if len(l.Frames) > 0 {
		return l.Title + " in " + l.Frames[0]
	}
	return l.Title
}

// Alike says how many crashes are of a likeness and since when, such as "17 times since Tuesday".
func (s Screen) Alike(groups []evidence.Group, key string) string {
	for _, g := range groups {
		switch {
		case g.Key != key:
		case g.Count == 1:
			return "once"
		default:
			return fmt.Sprintf("%d times since %s", g.Count, s.since(g.First))
		}
	}
	return ""
}

// since names a day of the last week, or the time of the present day.
func (s Screen) since(t time.Time) string {
	then, today := s.local(t), s.local(s.Now)
	days := func(d time.Time) int64 {
		y, m, n := d.Date()
		return time.Date(y, m, n, 0, 0, 0, 0, time.UTC).Unix() / int64((24 * time.Hour).Seconds())
	}
	switch age := days(today) - days(then); {
	case age == 0:
		return then.Format("15:04")
	case age > 0 && age < 7:
		return then.Weekday().String()
	}
	return then.Format("2006-01-02")
}

// paramsShown is how many bytes of the parameters of a message are shown.
const paramsShown = 160

// timeline writes what happened before a crash.
func (s Screen) timeline(b *strings.Builder, e *evidence.Evidence) {
	fmt.Fprintf(b, "\n%s\n", s.Paint(Bold, fmt.Sprintf("the %s before, %d %s", Span(seconds(e.Window)), len(e.Timeline), Plural(len(e.Timeline), "entry", "entries"))))
	for _, m := range e.Timeline {
		fmt.Fprintf(b, "  %s %-8s %s\n", s.Paint(Dim, s.clock(m.Time)), Clean(m.Kind), strings.TrimRight(moment(&m), " "))
	}
	if e.LeftOut > 0 {
		fmt.Fprintf(b, "  %d earlier %s left out\n", e.LeftOut, Plural(e.LeftOut, "message was", "messages were"))
	}
}

// moment returns the text of an entry, which stands behind its time and kind.
func moment(m *evidence.Moment) string {
	switch m.Kind {
	case evidence.KindEvent:
		text := Clean(m.Event)
		if m.To != "" {
			text = Clean(m.From + " → " + m.To)
		}
		return text + "  " + Clean(m.Reason)
	case evidence.KindSample:
		var parts []string
		if m.Memory != nil {
			parts = append(parts, Bytes(*m.Memory)+" of memory")
		}
		if m.CPU != nil {
			parts = append(parts, fmt.Sprintf("%.2f processors", *m.CPU))
		}
		if m.Pending != nil {
			parts = append(parts, fmt.Sprintf("%d pending", *m.Pending))
		}
		return strings.Join(parts, ", ")
	}
	text := fmt.Sprintf("%-12s", Clean(m.Type))
	if m.ID > 0 {
		text += fmt.Sprintf(" %d", m.ID)
	}
	text += "  " + Clean(m.Method)
	switch {
	case m.Cut:
		text += fmt.Sprintf("  (%s, not kept)", Bytes(int64(m.Size)))
	case len(m.Params) > 0:
		text += "  " + cut(Clean(string(m.Params)), paramsShown)
	}
	return text
}
