package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/hostsup/hostsup/workbench/tests"
)

var testColumns = []column{{title: "HOST"}, {title: "CONTROLLER"}, {title: "PROFILES"}, {title: "LABEL"}}

// TestControllers writes test controllers as a table, one line each.
func (s Screen) TestControllers(w io.Writer, list []tests.Controller) error {
	var rows [][]cell
	for _, c := range list {
		var profiles []string
		for _, p := range c.Profiles {
			profiles = append(profiles, p.Label)
		}
		rows = append(rows, []cell{{text: Clean(c.Host)}, {text: Clean(c.ID)}, {text: orNone(strings.Join(profiles, ", "))}, {text: orNone(c.Label)}})
	}
	return s.table(w, testColumns, rows)
}

// Tests writes tests, one line each; see [tests.Lines].
func (s Screen) Tests(w io.Writer, t tests.TestTree, ids bool) error {
	list := tests.Lines(t.Tests, ids)
	if t.Truncated {
		list = append(list, "…")
	}
	return cleanLines(w, list)
}

// TestRun writes the results of a run, and before them what its tests have written if output is set.
func (s Screen) TestRun(w io.Writer, r tests.Run, output bool) error {
	list := r.Lines()
	if text := strings.TrimRight(r.Output, "\n"); output && text != "" {
		list = append(strings.Split(text, "\n"), list...)
	}
	return cleanLines(w, list)
}

func cleanLines(w io.Writer, list []string) error {
	for _, line := range list {
		if _, err := fmt.Fprintln(w, Clean(line)); err != nil {
			return err
		}
	}
	return nil
}
