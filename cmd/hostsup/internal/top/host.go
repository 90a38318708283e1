package top

import (
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// hostView is what is shown of one host.
type hostView struct {
	name string
	page page
	gone bool // it was removed
	up   int  // how many lines the page is scrolled up from its end

	lines []capture.Line
	lost  int   // lines left out before lines
	ended bool  // the log is no longer followed
	err   error // why

	crash    string // the id of report
	report   *record.CrashReport
	crashErr error
}

// page is one of the pages of a host.
type page int

const (
	logsPage page = iota
	eventsPage
	crashPage
	pages
)

var pageNames = [pages]string{"logs", "events", "last crash"}

// refresh takes the status of the host. It asks for the last crash report when that is
// another one, and for the log again when that has ended.
func (v *hostView) refresh(h record.HostStatus) (effects []any) {
	if h.CrashID != nil && *h.CrashID != v.crash {
		v.crash = *h.CrashID
		effects = append(effects, askCrash{v.name, v.crash})
	}
	if v.ended {
		v.ended, v.lines, v.lost, v.err = false, nil, 0, nil
		effects = append(effects, follow(v.name))
	}
	return effects
}

// add takes lines of the log. A page that is scrolled up stays where it is.
func (v *hostView) add(msg linesMsg) {
	v.err, v.ended = msg.err, msg.ended
	if msg.lost > 0 {
		v.lines, v.lost = nil, v.lost+msg.lost
	}
	v.lines = append(v.lines, msg.lines...)
	if v.page == logsPage && v.up > 0 {
		v.up += len(msg.lines)
	}
	if over := len(v.lines) - keptLines; over > 0 {
		v.lines = append([]capture.Line(nil), v.lines[over:]...)
	}
}

func (m *model) pressInHost(k string) []any {
	v := m.host
	half := max(1, m.bodyRoom()/2)
	switch k {
	case "q", "esc", "left", "backspace":
		m.host, m.outcome = nil, ""
		return []any{follow("")}
	case "tab", "right":
		v.page, v.up = (v.page+1)%pages, 0
	case "shift+tab":
		v.page, v.up = (v.page+pages-1)%pages, 0
	case "1", "2", "3":
		v.page, v.up = page(k[0]-'1'), 0
	case "up", "k":
		v.up++
	case "down", "j":
		v.up--
	case "pgup", "ctrl+b":
		v.up += half
	case "pgdown", "ctrl+f":
		v.up -= half
	case "home", "g":
		v.up = keptLines
	case "end", "G":
		v.up = 0
	}
	v.up = min(max(v.up, 0), max(0, len(m.body())-m.bodyRoom()))
	return nil
}

// body returns all lines of the page that is shown.
func (m *model) body() []string {
	v, scr := m.host, m.screen
	var out []string
	switch v.page {
	case logsPage:
		if v.err != nil {
			out = append(out, "the log cannot be followed: "+show.Clean(v.err.Error()))
		}
		if v.lost > 0 {
			out = append(out, fmt.Sprintf("%d lines were left out here: they came faster than they are shown", v.lost))
		}
		for _, ln := range v.lines {
			if ln.Lost > 0 {
				out = append(out, fmt.Sprintf("%d lines were missed here", ln.Lost))
			}
			out = append(out, scr.Line(ln))
		}
	case eventsPage:
		for _, ev := range m.events {
			if ev.Host != nil && *ev.Host == v.name {
				out = append(out, scr.Event(ev, len(v.name)))
			}
		}
	case crashPage:
		switch {
		case v.crashErr != nil:
			out = append(out, show.Clean(v.crashErr.Error()))
		case v.report == nil:
			out = append(out, "no crash of this host is on record")
		default:
			var b strings.Builder
			_ = scr.Crash(&b, v.report, "") // a Builder has no errors
			out = strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		}
	}
	return out
}
