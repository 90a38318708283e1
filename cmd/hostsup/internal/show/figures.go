package show

import (
	"fmt"
	"io"
	"time"

	"github.com/hostsup/hostsup/lifecycle/record"
)

// Figures writes the counts and measurements of each host: how long it took to
// start, its calls, its throttled notifications, and the lines of its log; on a terminal also the complete
// reason of its state. It omits hosts without figures.
func (s Screen) Figures(w io.Writer, hosts []record.HostStatus) error {
	for _, h := range hosts {
		var lines []string
		if reason := why(h); s.Width > 0 && reason != "" {
			lines = append(lines, "reason: "+reason) // the table may have cut it
		}
		if v := h.StartupSeconds; v != nil {
			lines = append(lines, "ready in "+short(*v))
		}
		if v := h.ActivationSeconds; v != nil {
			lines = append(lines, "extensions active in "+short(*v))
		}
		if h.Calls > 0 {
			line := fmt.Sprintf("%d %s", h.Calls, Plural(int(h.Calls), "call", "calls"))
			if v := h.AverageResponseSeconds; v != nil {
				line += fmt.Sprintf(", answered in %s on average", short(*v))
			}
			lines = append(lines, line)
		}
		for _, t := range h.Throttle {
			line := fmt.Sprintf("throttle %s: %d sent, %d left out", Clean(t.Method), t.Sent, t.Coalesced)
			if t.Dropped > 0 {
				line += fmt.Sprintf(", %d dropped", t.Dropped)
			}
			if t.Held > 0 {
				line += fmt.Sprintf(", %d held", t.Held)
			}
			lines = append(lines, line)
		}
		lines = append(lines, s.logFigures(h.Log)...)
		if len(lines) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s:\n", Clean(h.Name)); err != nil {
			return err
		}
		for _, line := range lines {
			if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// logFigures returns what became of the lines that a host printed, if there were any.
func (s Screen) logFigures(l record.LogStatus) []string {
	if l.Written == 0 && l.Lost == 0 {
		return nil
	}
	line := fmt.Sprintf("log: %d %s written, %s", l.Written, Plural(int(l.Written), "line", "lines"), Bytes(int64(l.WrittenBytes)))
	if l.Lost > 0 {
		line += s.Paint(Alarm, fmt.Sprintf("; %d lost, %s", l.Lost, Bytes(int64(l.LostBytes))))
	}
	lines := []string{line}
	if l.Error != nil {
		lines = append(lines, s.Paint(Alarm, "log: cannot be written: "+Clean(*l.Error)))
	}
	return lines
}

// short formats a duration with three digits: 41.2ms, 1.25s, 311µs.
func short(v float64) string {
	d := seconds(v)
	for unit := 100 * time.Second; unit > 1; unit /= 10 {
		if d >= unit {
			return d.Round(max(1, unit/100)).String()
		}
	}
	return d.String()
}
