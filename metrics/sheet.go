package metrics

import (
	"io"
	"math"
	"strconv"
	"strings"
)

// sheet is the text of the families of one scrape. It is written by hand, because there
// are some 40 lines for each host; see the package's comment.
type sheet struct {
	open   bool // the format is OpenMetrics, and not Prometheus's own text
	byName map[string]*column
	order  []*column
}

// column is the text of the metrics of a family.
type column struct {
	*Family
	text []byte
}

func newSheet() *sheet {
	s := &sheet{byName: make(map[string]*column, len(families))}
	for i := range families {
		c := &column{Family: &families[i]}
		s.byName[c.Name] = c
		s.order = append(s.order, c)
	}
	return s
}

// reset makes a sheet one of another scrape, which takes about as much room.
func (s *sheet) reset(open bool) {
	s.open = open
	for _, c := range s.order {
		c.text = c.text[:0]
	}
}

// add adds a metric. name must be that of a family, and labels its labels, as label
// writes them, with commas between them and in alphabetical order.
func (s *sheet) add(name string, value float64, labels string) {
	s.byName[name].add("", value, labels, "")
}

// add adds a line: a metric, or for a histogram one of its parts, which suffix names.
func (c *column) add(suffix string, value float64, labels, more string) {
	b := append(append(c.text, c.Name...), suffix...)
	if labels != "" {
		b = append(append(b, '{'), labels...)
		if more != "" {
			b = append(append(b, ','), more...)
		}
		b = append(b, '}')
	}
	b = append(b, ' ')
	if n := int64(value); float64(n) == value && n < 1<<53 && n > -1<<53 {
		b = strconv.AppendInt(b, n, 10)
	} else {
		b = strconv.AppendFloat(b, value, 'g', -1, 64)
	}
	c.text = append(b, '\n')
}

// writeTo writes the families that have metrics, but not the end of the whole.
func (s *sheet) writeTo(w io.Writer) error {
	for _, c := range s.order {
		if len(c.text) == 0 {
			continue
		}
		name := c.Name
		if s.open && c.Type == counter { // OpenMetrics counts the suffix to the line, not to the name
			name = strings.TrimSuffix(name, "_total")
		}
		head := "# HELP " + name + " " + c.Help + "\n# TYPE " + name + " " + c.Type + "\n"
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		if _, err := w.Write(c.text); err != nil {
			return err
		}
	}
	return nil
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// label writes a label. Those of Prometheus are valid UTF-8.
func label(name, value string) string {
	return name + `="` + escape.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// bound writes the label of a bucket. OpenMetrics wants it to look like a fraction.
func bound(v float64, open bool) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if open && v == math.Trunc(v) {
		text += ".0"
	}
	return `le="` + text + `"`
}
