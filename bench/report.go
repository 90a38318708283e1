package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what one section found: a table for people and the targets that
// its figures are held against.
type report struct {
	title   string
	notes   []string
	head    []string
	rows    [][]string
	targets []target
}

func (r *report) row(cells ...string) { r.rows = append(r.rows, cells) }

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n", r.title)
	table(w, r.head, r.rows)
	for _, n := range r.notes {
		fmt.Fprintf(w, "\n- %s", n)
	}
	fmt.Fprintln(w)
}

// target is one figure that was promised.
type target struct {
	what   string
	ours   string
	peer   string // what it is compared with, with its figure; "" for an absolute one
	figure float64
	limit  float64
	least  bool // the figure must be at least the limit; else at most
	unit   string
}

// met says whether the promise holds. A figure that could not be had is none
// that holds.
func (t target) met() bool {
	if math.IsNaN(t.figure) {
		return false
	}
	if t.least {
		return t.figure >= t.limit
	}
	return t.figure <= t.limit
}

func printTargets(w io.Writer, ts []target) {
	if len(ts) == 0 {
		return
	}
	fmt.Fprint(w, "## Against what is promised\n\n")
	var rows [][]string
	for _, t := range ts {
		sign, verdict := "≤", "FAIL"
		if t.least {
			sign = "≥"
		}
		if t.met() {
			verdict = "PASS"
		}
		rows = append(rows, []string{
			t.what, t.ours, t.peer,
			fmt.Sprintf("%.2f%s", t.figure, t.unit),
			fmt.Sprintf("%s %g%s", sign, t.limit, t.unit), verdict,
		})
	}
	table(w, []string{"what", "hostsup", "compared with", "figure", "promised", ""}, rows)
	fmt.Fprintln(w)
}

// table prints Markdown that also reads well in a terminal.
func table(w io.Writer, head []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.Debug)
	line := func(cells []string) { fmt.Fprintf(tw, "| %s\t\n", strings.Join(cells, "\t ")) }
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		line(r)
	}
	tw.Flush() //nolint:errcheck // nobody to tell when the terminal is gone
}

// machine says where the figures come from.
func machine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		fmt.Fprintf(&b, ", Linux %s", strings.TrimSpace(string(text)))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(&b, ", load at the start %s", strings.Join(strings.Fields(string(text))[:3], " "))
	}
	fmt.Fprintf(&b, ", %s\n", time.Now().UTC().Format(time.DateOnly))
	return b.String()
}

// micros renders nanoseconds.
func micros(ns float64) string { return unless(ns, "%.1f µs", ns/1e3) }

func millis(ns float64) string { return unless(ns, "%.2f ms", ns/1e6) }

func kib(bytes float64) string { return unless(bytes, "%.2f KiB", bytes/1024) }

func perSecond(n float64) string { return unless(n, "%.0f /s", n) }

func times(ratio float64) string { return unless(ratio, "%.2f ×", ratio) }

// unless renders what there is, and a dash for what there is not.
func unless(x float64, format string, arg float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, arg)
}
