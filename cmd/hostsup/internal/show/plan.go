package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
)

// Plan writes what a configuration changes, a line for each host that it touches.
func (s Screen) Plan(w io.Writer, a *control.Applied) error {
	p := a.Plan
	width := 0
	for _, c := range p.Hosts {
		if c.Action == supervisor.ActionRestart || c.Action == supervisor.ActionUpdate || c.Action == supervisor.ActionMove {
			width = max(width, len(Clean(c.Host)))
		}
	}
	var out []string
	for _, c := range p.Hosts {
		name, fields := Clean(c.Host), strings.Join(c.Fields, ", ")
		switch c.Action {
		case supervisor.ActionAdd:
			out = append(out, s.Paint(Green, "+")+" "+name)
		case supervisor.ActionRemove:
			out = append(out, s.Paint(Red, "-")+" "+name)
		case supervisor.ActionRestart:
			out = append(out, s.Paint(Yellow, "~")+" "+pad(name, width)+gap+fields+" changed → restart")
		case supervisor.ActionUpdate:
			how := "no restart"
			if c.Live() {
				how = "live"
			}
			out = append(out, s.Paint(Yellow, "~")+" "+pad(name, width)+gap+fields+" changed → "+how)
		case supervisor.ActionMove:
			out = append(out, s.Paint(Yellow, ">")+" "+pad(name, width)+gap+fmt.Sprintf("group %s → %s, restart", Clean(c.From), Clean(c.Group)))
		}
	}
	for _, g := range p.Groups {
		out = append(out, fmt.Sprintf("* group %s: strategy %s → %s", Clean(g.Group), g.From, g.To))
	}
	for _, name := range p.Settings {
		out = append(out, "* "+name+" changed")
	}
	if n := p.Count(supervisor.ActionNone); n > 0 {
		line := fmt.Sprintf("= %d unchanged", n)
		if kept := unchanged(a); len(kept) > 0 {
			line += ", of which added by hand: " + Clean(strings.Join(kept, ", "))
		}
		out = append(out, s.Paint(Dim, line))
	}
	for _, name := range p.NeedsStart {
		out = append(out, s.Paint(Red, "!")+" "+Clean(name)+" changed → needs a new start")
	}
	for _, line := range out {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns the hosts that were added by hand and that the plan leaves alone.
func unchanged(a *control.Applied) []string {
	var out []string
	for _, c := range a.Plan.Hosts {
		if c.Action == supervisor.ActionNone && slices.Contains(a.Added, c.Host) {
			out = append(out, c.Host)
		}
	}
	return out
}
