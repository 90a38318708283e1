package selftest

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// verdicts in the order in which they are counted out to people.
var verdicts = []Verdict{Held, Refused, Gap, Escaped, Broken, Vacuous, NotTried}

func (c Column) String() string { return c.User + ", " + string(c.Level) }

// WriteText writes the report for a terminal: a line for each attempt, then
// what is worth a closer look, then the counts.
func (r *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := []string{"class", "attempt"}
	for _, c := range r.Columns {
		head = append(head, c.String())
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range r.all() {
		line := []string{string(row.Class), row.Name}
		for _, c := range row.Cells {
			line = append(line, string(c.Verdict))
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, col := range r.Columns {
		for _, row := range r.all() {
			c := row.Cells[i]
			switch c.Verdict {
			case Escaped, Gap, Broken:
				fmt.Fprintf(out, "%s: %s (%s: %s): %s\n", c.Verdict, row.Name, col, row.Class, c.Evidence)
				if c.Verdict == Broken && c.Control != "" {
					fmt.Fprintf(out, "    without a sandbox: %s\n", c.Control)
				}
			}
		}
	}
	for i, col := range r.Columns {
		fmt.Fprintf(out, "%s: %s\n", col, r.summary(i))
		for _, m := range col.Missing {
			fmt.Fprintf(out, "    missing: %s\n", m)
		}
	}
	_, err := fmt.Fprintf(out, "%d attempts, %.0f s, Linux %s\n", len(r.Rows), r.Seconds, r.Kernel)
	return err
}

func (r *Report) all() []Row { return append(append([]Row(nil), r.Rows...), r.Work...) }

func (r *Report) summary(column int) string {
	n := r.Counts(column)
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 || v == Held || v == Escaped {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], strings.ToLower(string(v))))
		}
	}
	return strings.Join(parts, ", ")
}

// WriteMarkdown writes the report as tables for docs/security.md: the counts
// by class, then every attempt with what is tried and its verdicts, then the
// gaps with their reasons. It has no times in it, so that it changes only when
// a verdict does.
func (r *Report) WriteMarkdown(out io.Writer) error {
	var b strings.Builder
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	heads := func(first ...string) {
		for _, c := range r.Columns {
			first = append(first, c.String())
		}
		n := len(first)
		row(first...)
		row(strings.Split(strings.Repeat("---\n", n-1)+"---", "\n")...)
	}
	heads("class", "attempts")
	for _, class := range Classes() {
		var n int
		counts := make([]map[Verdict]int, len(r.Columns))
		for i := range counts {
			counts[i] = map[Verdict]int{}
		}
		for _, rw := range r.Rows {
			if rw.Class == class {
				n++
				for i, c := range rw.Cells {
					counts[i][c.Verdict]++
				}
			}
		}
		cells := []string{string(class), fmt.Sprint(n)}
		for _, c := range counts {
			cells = append(cells, tally(c))
		}
		row(cells...)
	}
	cells := []string{"all", fmt.Sprint(len(r.Rows))}
	for i := range r.Columns {
		cells = append(cells, tally(r.Counts(i)))
	}
	row(cells...)
	b.WriteString("\n")
	heads("class", "attempt", "what is tried")
	for _, rw := range r.Rows {
		cells := []string{string(rw.Class), rw.Name, rw.About}
		for _, c := range rw.Cells {
			cells = append(cells, string(c.Verdict))
		}
		row(cells...)
	}
	if notes := r.notes(); len(notes) > 0 {
		b.WriteString("\nWhat the levels do not promise, and what got out:\n\n")
		for _, n := range notes {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// tally is the counts of one cell: only those that are there.
func tally(n map[Verdict]int) string {
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ")
}

// notes explain the cells that are not what a reader hopes for: a line for each
// reason, with the attempts that it is the reason of.
func (r *Report) notes() []string {
	var notes []string
	names := map[string][]string{}
	for i, col := range r.Columns {
		for _, rw := range r.Rows {
			c := rw.Cells[i]
			if c.Verdict != Gap && c.Verdict != Escaped {
				continue
			}
			why := "no reason is known"
			if c.Verdict == Gap {
				why, _, _ = strings.Cut(c.Evidence, evidenceMark)
			}
			head := fmt.Sprintf("%s, %s, %s", c.Verdict, col, why)
			if names[head] == nil {
				notes = append(notes, head)
			}
			names[head] = append(names[head], fmt.Sprintf("%s/%s", rw.Class, rw.Name))
		}
	}
	for i, head := range notes {
		notes[i] = head + ": *" + strings.Join(names[head], ", ") + "*"
	}
	return notes
}

// evidenceMark parts the reason of a gap from what was seen.
const evidenceMark = "; seen: "
