package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// TopColumns are the titles of the columns of [Screen.Top], in order.
func TopColumns() []string {
	titles := make([]string, len(topColumns))
	for i, c := range topColumns {
		titles[i] = c.title
	}
	return titles
}

var topColumns = []column{
	{title: "NAME"}, {title: "STATE"}, {title: "PID", right: true, spare: 3}, {title: "LIFE", right: true, spare: 8},
	{title: "RESTARTS", right: true, spare: 5}, {title: "CALLS/S", right: true, spare: 4}, {title: "P50", right: true, spare: 9}, {title: "P99", right: true, spare: 6},
	{title: "PENDING", right: true, spare: 7}, {title: "MEM", right: true, spare: 1}, {title: "CPU%", right: true, spare: 1},
	{title: "UPTIME", right: true, spare: 2}, {title: "REASON"},
}

// TopRow is a host, or with Hosts a group, in the table of hostsup top.
type TopRow struct {
	Name     string // as it is shown
	Host     record.HostStatus
	Rate     *float64 // calls in a second; nil: not known yet
	CPU      *float64 // percent of one core; nil: not known yet
	P50, P99 *float64 // seconds that answers took lately; nil: there were none
	Hosts    int      // of a group; 0: it is a host
	Running  int      // hosts of a group that run
	Selected bool
}

// Top returns the table of hostsup top, its titles first; sorted is the title of the column
// that it is sorted by. A selected row is as wide as the screen, and inverted.
func (s Screen) Top(rows []TopRow, sorted string, descending bool) []string {
	columns := append([]column(nil), topColumns...)
	for i, c := range columns {
		if c.title == sorted && descending {
			columns[i].title += "▼"
		} else if c.title == sorted {
			columns[i].title += "▲"
		}
	}
	cells := make([][]cell, len(rows))
	for i, r := range rows {
		cells[i] = s.topRow(r)
		if r.Selected {
			for k := range cells[i] {
				cells[i][k].style = Plain
			}
		}
	}
	var b strings.Builder
	_ = s.table(&b, columns, cells) // a Builder has no errors
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, r := range rows {
		if r.Selected {
			lines[i+1] = s.Paint("7", pad(lines[i+1], s.Width))
		}
	}
	return lines
}

func (s Screen) topRow(r TopRow) []cell {
	h := r.Host
	row := make([]cell, len(topColumns))
	for i := range row {
		row[i].text = none
	}
	row[0].text = Clean(r.Name)
	row[4].text = strconv.FormatUint(h.Restarts, 10)
	if r.Rate != nil {
		row[5].text = rate(*r.Rate)
	}
	row[6].text, row[7].text = response(r.P50), response(r.P99)
	row[8].text = strconv.Itoa(h.Pending)
	if h.RSSBytes != nil {
		row[9].text = Bytes(*h.RSSBytes)
	}
	if r.CPU != nil {
		row[10].text = fmt.Sprintf("%.1f", *r.CPU)
	}
	if r.Hosts > 0 {
		row[0].style = Bold
		row[1] = cell{fmt.Sprintf("%d of %d", r.Running, r.Hosts), Dim}
		if r.Running == r.Hosts {
			row[1].style = Green
		}
		row[12].text = ""
		return row
	}
	row[1] = cell{string(h.State), StateStyle(h.State)}
	if h.PID != nil {
		row[2].text = strconv.Itoa(*h.PID)
	}
	if h.Life > 0 {
		row[3].text = strconv.FormatUint(h.Life, 10)
	}
	if h.Started != nil {
		row[11].text = Span(s.Now.Sub(*h.Started))
	}
	row[12].text = why(h)
	return row
}

func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// response formats how long an answer took, given in seconds.
func response(s *float64) string {
	if s == nil {
		return none
	}
	switch d := seconds(*s); {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0fµs", *s*1e6)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1fms", *s*1e3)
	default:
		return Span(d)
	}
}

// HostHead describes a host in a few lines.
func (s Screen) HostHead(r TopRow) []string {
	h := r.Host
	more := []string{"group " + Clean(h.Group), h.Protocol, fmt.Sprintf("life %d", h.Life)}
	if h.PID != nil {
		more = append(more, fmt.Sprintf("pid %d", *h.PID))
	}
	if h.Started != nil {
		more = append(more, "up "+Span(s.Now.Sub(*h.Started)))
	}
	line := s.Paint(Bold, Clean(h.Name)) + " " + s.Paint(StateStyle(h.State), string(h.State)) + "  " + strings.Join(more, ", ")
	row := s.topRow(r)
	figures := fmt.Sprintf("memory %s, processor %s%%, restarts %s, calls/s %s, pending %s, answers p50 %s, p99 %s, average %s, sandbox %s",
		row[9].text, row[10].text, row[4].text, row[5].text, row[8].text, row[6].text, row[7].text, response(h.AverageResponseSeconds), h.Sandbox.Level)
	lines := []string{line, figures}
	if reason := why(h); reason != "" {
		style := Plain
		if h.State != lifecycle.Running {
			style = StateStyle(h.State)
		}
		lines = append(lines, s.Paint(style, reason))
	}
	return lines
}
