package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

var statusColumns = []column{
	{title: "NAME"}, {title: "GROUP", spare: 3}, {title: "STATE"}, {title: "PID", right: true, spare: 1},
	{title: "LIFE", right: true, spare: 4}, {title: "RESTARTS", right: true, spare: 5}, {title: "UPTIME", right: true, spare: 2},
	{title: "MEM", right: true, spare: 6}, {title: "CPU", right: true, spare: 7}, {title: "REASON"},
}

// Status writes the supervisor in a few lines and its hosts and exec servers as tables.
func (s Screen) Status(w io.Writer, st *supervisor.Status) error {
	servers, err := part.Statuses(st)
	if err == nil {
		err = s.head(w, st.Supervisor)
	}
	if err != nil {
		return err
	}
	if len(st.Hosts) == 0 && len(servers) == 0 {
		_, err := fmt.Fprintln(w, "\nno hosts are configured")
		return err
	}
	if len(st.Hosts) > 0 {
		rows := make([][]cell, len(st.Hosts))
		for i, h := range st.Hosts {
			rows[i] = s.hostRow(h)
		}
		if err := s.apart(w, statusColumns, rows); err != nil {
			return err
		}
	}
	if len(servers) > 0 {
		return s.execServers(w, servers)
	}
	return nil
}

// apart writes a table after an empty line.
func (s Screen) apart(w io.Writer, columns []column, rows [][]cell) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return s.table(w, columns, rows)
}

func (s Screen) head(w io.Writer, in supervisor.Info) error {
	line := fmt.Sprintf("hostsup %s, pid %d, up %s, process trees ended by %s", Clean(in.Version), in.PID, Span(s.Now.Sub(in.Started)), Clean(in.Kill))
	_, err := fmt.Fprintln(w, cut(line, s.Width))
	for _, m := range in.Missing {
		if err == nil {
			_, err = fmt.Fprintln(w, s.Paint(Dim, cut("  "+Clean(m), s.Width)))
		}
	}
	for _, v := range in.Serves {
		if err == nil {
			_, err = fmt.Fprintln(w, cut(fmt.Sprintf("  %s at %s: %s", Clean(v.Name), Clean(v.URL), Clean(strings.Join(v.Hosts, ", "))), s.Width))
		}
	}
	if c := in.Configuration; c != nil && err == nil {
		if len(c.Added) > 0 {
			_, err = fmt.Fprintln(w, s.Paint(Dim, "  added by hand: "+Clean(strings.Join(c.Added, ", "))))
		}
		if c.Refused != nil && err == nil {
			first, _, _ := strings.Cut(c.Refused.Reason, "\n")
			_, err = fmt.Fprintln(w, s.Paint(Alarm, fmt.Sprintf("  the configuration was refused %s ago: %s", Span(s.Now.Sub(c.Refused.At)), Clean(first))))
		}
	}
	return err
}

const none = "-"

func (s Screen) hostRow(h record.HostStatus) []cell {
	pid, life, uptime, mem, cpu := none, none, none, none, none
	if h.Life > 0 {
		life = strconv.FormatUint(h.Life, 10)
	}
	if h.PID != nil {
		pid = strconv.Itoa(*h.PID)
	}
	if h.Started != nil {
		uptime = Span(s.Now.Sub(*h.Started))
	}
	if h.RSSBytes != nil {
		mem = Bytes(*h.RSSBytes)
	}
	if h.CPUSeconds != nil {
		cpu = Span(seconds(*h.CPUSeconds))
	}
	return []cell{
		{text: Clean(h.Name)}, {text: Clean(h.Group)}, {string(h.State), StateStyle(h.State)}, {text: pid},
		{text: life}, {text: strconv.FormatUint(h.Restarts, 10)}, {text: uptime}, {text: mem}, {text: cpu}, {text: why(h)},
	}
}

// why returns the reason of a state with other important facts.
func why(h record.HostStatus) string {
	var parts []string
	if h.Key != nil {
		parts = append(parts, "for key "+strconv.Quote(*h.Key))
	}
	if h.Reason != nil && *h.Reason != "" {
		parts = append(parts, Clean(*h.Reason))
	}
	if h.Slow {
		parts = append(parts, "the start is slow")
	}
	if h.RetryInSeconds != nil {
		parts = append(parts, "next start in "+Span(seconds(*h.RetryInSeconds)))
	}
	if h.CrashesInWindow > 0 && h.State != lifecycle.Failed {
		parts = append(parts, fmt.Sprintf("crash %d of %d", h.CrashesInWindow, h.MaxCrashes))
	}
	if h.NextRun != nil {
		parts = append(parts, "next run "+h.NextRun.Format("2006-01-02 15:04:05 -07:00"))
	}
	if weaker := h.Sandbox.Weaker; len(weaker) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not held as asked", Plural(len(weaker), "limit", "limits"), strings.Join(weaker, ", ")))
	}
	if n := len(h.Sandbox.Denials); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s denied", n, Plural(n, "thing", "things")))
	}
	if h.State == lifecycle.Failed {
		parts = append(parts, "next: "+Advice(h.Name, orEmpty(h.CrashID)))
	}
	if h.URL != nil && (len(parts) == 0 || h.State == lifecycle.Running) {
		parts = append(parts, "at "+Clean(*h.URL))
	}
	return strings.Join(parts, "; ")
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Advice returns what a user can do about a host that has failed. crashID is "" if
// it failed without a crash.
func Advice(host, crashID string) string {
	start := "hostsup start " + Clean(host)
	if crashID == "" {
		return start
	}
	return "hostsup crashes show " + Clean(crashID) + ", " + start
}

// Unwell returns what is wrong with a host, or "" if it is well: a host that starts
// by itself must be running unless a person stopped it or it is a job that is done, one that starts at the
// first call must not have failed, and the last run of one with a schedule must not have failed.
func Unwell(h record.HostStatus) string {
	switch {
	case h.State == lifecycle.Running, h.StoppedByPerson, h.Done:
		return ""
	case h.NextRun != nil && h.State == lifecycle.Stopped && h.Life > 0: // its last run was no success
	case !h.Eager && (h.State == lifecycle.Stopped || h.State == lifecycle.Starting || h.State == lifecycle.Stopping):
		return ""
	}
	line := fmt.Sprintf("host %q is %s", h.Name, h.State)
	if reason := why(h); reason != "" {
		line += ": " + reason
	}
	if h.State == lifecycle.Stopped {
		line += "; next: " + Advice(h.Name, "")
	}
	return line
}

// UnwellServer is Unwell for an exec server, which must listen.
func UnwellServer(e part.Status) string {
	if e.State == lifecycle.Running {
		return ""
	}
	line := fmt.Sprintf("exec server %q is %s", e.Name, e.State)
	if e.Reason != nil {
		line += ": " + Clean(*e.Reason)
	}
	return line
}

// Host formats one host as a line: `math: running (life 2, pid 4711)`.
func (s Screen) Host(h record.HostStatus) string {
	var more []string
	if h.Life > 0 {
		more = append(more, fmt.Sprintf("life %d", h.Life))
	}
	if h.PID != nil {
		more = append(more, fmt.Sprintf("pid %d", *h.PID))
	}
	text := Clean(h.Name) + ": " + s.Paint(StateStyle(h.State), string(h.State))
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}
