package show

import (
	"fmt"
	"io"
)

// Verdict is what a Check has found.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // it works, with less than it could
	Fault   Verdict = "fault"   // it does not work
)

// Check is one thing that was looked at, as `doctor --json` shows it.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	Advice  string  `json:"advice"` // what to do; "": nothing
}

// Checks prints checks, and below them what to do.
func (s Screen) Checks(w io.Writer, checks []Check) error {
	styles := map[Verdict]Style{OK: Green, Warning: Yellow, Fault: Red}
	var rows [][]cell
	for _, c := range checks {
		rows = append(rows, []cell{{text: Clean(c.Name)}, {string(c.Verdict), styles[c.Verdict]}, {text: Clean(c.Detail)}})
	}
	if err := s.table(w, []column{{title: "CHECK"}, {title: "IS"}, {title: "DETAIL", spare: 1}}, rows); err != nil {
		return err
	}
	title := "\nwhat to do:\n"
	for _, c := range checks {
		if c.Advice == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s  %s: %s\n", title, Clean(c.Name), Clean(c.Advice)); err != nil {
			return err
		}
		title = ""
	}
	return nil
}
