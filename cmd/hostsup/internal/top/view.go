package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

// view returns the screen, as many lines as it has or fewer, none of them wider.
func (m *model) view() string {
	var lines []string
	switch {
	case m.screen.Width < 20 || m.height < 5:
		lines = []string{"hostsup top needs a larger window"}
	case m.help:
		lines = m.helpLines()
	case m.host != nil:
		lines = m.hostLines()
	default:
		lines = m.tableLines()
	}
	lines = lines[:min(len(lines), max(m.height, 1))]
	for i, line := range lines {
		lines[i] = ansi.Truncate(strings.ReplaceAll(line, "\t", "    "), m.screen.Width, "…")
	}
	return strings.Join(lines, "\n")
}

// headLines describe the supervisor.
func (m *model) headLines() []string {
	var head string
	if m.status == nil {
		head = "hostsup top"
	} else {
		in := m.status.Supervisor
		counts := map[string]int{}
		var states []string
		for _, h := range m.status.Hosts {
			st := string(h.State)
			if counts[st]++; counts[st] == 1 {
				states = append(states, st)
			}
		}
		slices.Sort(states)
		for i, st := range states {
			states[i] = fmt.Sprintf("%d %s", counts[st], st)
		}
		head = fmt.Sprintf("hostsup %s, pid %d, up %s: %d %s", show.Clean(in.Version), in.PID, show.Span(m.screen.Now.Sub(in.Started)),
			len(m.status.Hosts), show.Plural(len(m.status.Hosts), "host", "hosts"))
		if len(states) > 0 {
			head += " (" + strings.Join(states, ", ") + ")"
		}
	}
	lines := []string{m.screen.Paint(show.Bold, head)}
	if m.err != nil {
		lines = append(lines, m.screen.Paint(show.Alarm, "not connected: "+show.Clean(m.err.Error())+"; trying again"))
	} else if m.status == nil {
		lines = append(lines, m.screen.Paint(show.Dim, "asking for the status"))
	}
	return lines
}

// footLine is the last line: a question, the filter, an outcome, or the keys.
func (m *model) footLine(keys string) string {
	switch {
	case m.question != nil:
		return m.screen.Paint(show.Alarm, show.Clean(m.question.text))
	case m.filtering:
		return "filter: " + show.Clean(m.filter) + "▏"
	case m.doing > 0:
		return m.screen.Paint(show.Yellow, fmt.Sprintf("%d under way", m.doing))
	case m.outcome != "":
		return m.screen.Paint(show.Yellow, show.Clean(m.outcome))
	case m.filter != "" && m.host == nil:
		return fmt.Sprintf("only %q, esc shows all", m.filter)
	}
	if m.mayAct() {
		keys += "  s start  x stop  r restart  e reset"
	}
	return m.screen.Paint(show.Dim, "? help  q back  "+keys)
}

// room is how many rows of the table fit.
func (m *model) room() int { return max(1, m.height-len(m.headLines())-2) }

func (m *model) tableLines() []string {
	rows := m.rows()
	at := max(0, slices.IndexFunc(rows, func(r row) bool { return r.id() == m.at0 }))
	room := m.room()
	m.first = min(max(m.first, at-room+1), at, max(0, len(rows)-room))
	list := make([]show.TopRow, len(rows))
	for i, r := range rows {
		r.Selected = i == at
		list[i] = r.TopRow
	}
	table := m.screen.Top(list, m.column, m.descending)
	lines := append(m.headLines(), table[0])
	body := table[1:][m.first:min(m.first+room, len(rows))]
	if len(rows) == 0 && m.status != nil {
		body = []string{m.screen.Paint(show.Dim, "no host is shown")}
	}
	lines = append(lines, body...)
	return append(m.fill(lines), m.footLine("enter look at  space fold  / filter  < > sort"))
}

// fill appends empty lines so that one is left for the foot.
func (m *model) fill(lines []string) []string {
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return lines[:max(m.height-1, 0)]
}

// hostHead describes the host that is shown.
func (m *model) hostHead() []string {
	var lines []string
	if m.err != nil {
		lines = m.headLines()[1:]
	}
	shown := false
	for _, h := range m.status.Hosts {
		if h.Name == m.host.name {
			s := m.samples[h.Name]
			lines, shown = append(lines, m.screen.HostHead(show.TopRow{Host: h, Rate: s.rate, CPU: s.percent, P50: s.p50, P99: s.p99})...), true
		}
	}
	if !shown {
		lines = append(lines, m.screen.Paint(show.Bold, show.Clean(m.host.name))+" was removed")
	}
	var tabs []string
	for i, name := range pageNames {
		name = fmt.Sprintf(" %d %s ", i+1, name)
		if page(i) == m.host.page && m.screen.Color {
			name = m.screen.Paint("7", name)
		} else if page(i) == m.host.page {
			name = "[" + strings.TrimSpace(name) + "]"
		}
		tabs = append(tabs, name)
	}
	return append(lines, strings.Join(tabs, " "))
}

func (m *model) bodyRoom() int { return max(1, m.height-len(m.hostHead())-1) }

func (m *model) hostLines() []string {
	lines := m.hostHead()
	body, room := m.body(), m.bodyRoom()
	end := max(len(body)-m.host.up, min(room, len(body)))
	lines = append(lines, body[max(0, end-room):end]...)
	keys := "tab page  ↑ ↓ scroll"
	if m.host.up > 0 {
		keys += fmt.Sprintf("  end follow (%d below)", m.host.up)
	}
	return append(m.fill(lines), m.footLine(keys))
}

func (m *model) helpLines() []string {
	text := `hostsup top: any key goes back

  ↑ ↓ k j, pgup pgdn, home end    move
  enter, →                        look at a host: logs, events, last crash
  space, ← →                      fold and unfold a group
  /                               show only hosts with some text in name, group, state or reason
  < >                             sort by another column     o  the other way round
  N T P R S L W M C U             sort by name, state, pid, restarts, calls/s, p99, pending,
                                  memory, processor, uptime
  tab, 1 2 3                      pages of a host            end  follow its log again
  q, esc                          back, and out              ctrl+c  out`
	if m.mayAct() {
		text += `

  s x r e                         start, stop, restart or reset the host, or all of a group;
                                  each asks first`
	} else {
		text += "\n\nThe role of this token only lets you look."
	}
	text += `

RESTARTS counts what rules have restarted. P50 and P99 are how long the answers of the last
five seconds with answers took, within a minute. MEM and CPU% are those of all processes of a
host, CPU% of one core.`
	return strings.Split(text, "\n")
}
