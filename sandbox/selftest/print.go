package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// verdicts in the order in which they are counted out to people.
var verdicts = []Verdict{Held, Refused, Gap, Escaped, Broken, Vacuous, NotTried}

// evidenceMark parts the reason of a gap from what was seen.
const evidenceMark = "; seen: "

func (c Column) String() string { return c.User + ", " + string(c.Level) }

// line is a row of a table: some cells, and one for each column.
func line[T any](columns []T, show func(i int, c T) string, first ...string) []string {
	for i, c := range columns {
		first = append(first, show(i, c))
	}
	return first
}

func (r *Report) heads(first ...string) []string {
	return line(r.Columns, func(_ int, c Column) string { return c.String() }, first...)
}

func (r *Row) verdicts(first ...string) []string {
	return line(r.Cells, func(_ int, c Cell) string { return string(c.Verdict) }, first...)
}

// tally is the counts of one cell: only those that are there, and those that always are to be.
func tally(n map[Verdict]int, always ...Verdict) []string {
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 || slices.Contains(always, v) {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return parts
}

// WriteText writes the report for a terminal: a line for each attempt, then what is worth a closer look, then the counts.
func (r *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(r.heads("class", "attempt"), "\t"))
	for _, row := range r.all() {
		fmt.Fprintln(w, strings.Join(row.verdicts(string(row.Class), row.Name), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, col := range r.Columns {
		for _, row := range r.all() {
			c := row.Cells[i]
			if !slices.Contains([]Verdict{Escaped, Gap, Broken}, c.Verdict) {
				continue
			}
			fmt.Fprintf(out, "%s: %s (%s: %s): %s\n", c.Verdict, row.Name, col, row.Class, c.Evidence)
			if c.Verdict == Broken && c.Control != "" {
				fmt.Fprintf(out, "    without a sandbox: %s\n", c.Control)
			}
		}
	}
	for i, col := range r.Columns {
		fmt.Fprintf(out, "%s: %s\n", col, strings.ToLower(strings.Join(tally(r.Counts(i), Held, Escaped), ", ")))
		for _, m := range col.Missing {
			fmt.Fprintf(out, "    missing: %s\n", m)
		}
	}
	_, err := fmt.Fprintf(out, "%d attempts, %.0f s, Linux %s\n", len(r.Rows), r.Seconds, r.Kernel)
	return err
}

// WriteMarkdown writes the report as tables for docs/security.md: the counts by class, then every attempt with what is
// tried and its verdicts, then the gaps with their reasons. It has no times in it, so that it changes only when a verdict
// does.
func (r *Report) WriteMarkdown(out io.Writer) error {
	var b strings.Builder
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	heads := func(first ...string) {
		first = r.heads(first...)
		row(first...)
		row(slices.Repeat([]string{"---"}, len(first))...)
	}
	tallies := func(name string, rows []Row) {
		row(line(r.Columns, func(i int, _ Column) string { return strings.Join(tally(counts(rows, i)), ", ") },
			name, fmt.Sprint(len(rows)))...)
	}
	heads("class", "attempts")
	for _, class := range Classes() {
		tallies(string(class), slices.DeleteFunc(slices.Clone(r.Rows), func(rw Row) bool { return rw.Class != class }))
	}
	tallies("all", r.Rows)
	b.WriteString("\n")
	heads("class", "attempt", "what is tried")
	for _, rw := range r.Rows {
		row(rw.verdicts(string(rw.Class), rw.Name, rw.About)...)
	}
	if notes := r.notes(); len(notes) > 0 {
		fmt.Fprintf(&b, "\nWhat the levels do not promise, and what got out:\n\n- %s\n", strings.Join(notes, "\n- "))
	}
	_, err := io.WriteString(out, b.String())
	return err
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
