// Package hcltext writes text in the configuration language, formatted as
// hclwrite.Format formats it. It replaces that package, which imports a library for
// tests whose initialisation every start of the program would pay for.
package hcltext

import (
	"strings"
	"text/tabwriter"
)

// Writer collects lines. The zero value is empty. Values and heads of blocks are
// written unchanged: the caller must quote strings in them.
type Writer struct {
	text  strings.Builder
	depth int
}

// Line writes a line unchanged, for example a comment; "" separates blocks.
func (w *Writer) Line(text string) {
	if text != "" {
		w.text.WriteString(strings.Repeat("  ", w.depth) + text)
	}
	w.text.WriteByte('\n')
}

// Open begins a block or, if head ends with " =", a map.
func (w *Writer) Open(head string) {
	w.Line(head + " {")
	w.depth++
}

// Close ends the innermost open block.
func (w *Writer) Close() {
	w.depth--
	w.Line("}")
}

// Set writes a setting, followed by a comment unless that is empty.
func (w *Writer) Set(name, value, comment string) {
	line := name + "\t= " + value // aligned with its neighbours
	if comment != "" {
		line += "\t# " + comment
	}
	w.Line(line)
}

// List writes a setting that is a list, with one entry per line if a single line
// would be long.
func (w *Writer) List(name string, entries []string) {
	const wide = 100
	width := len(name)
	for _, e := range entries {
		width += len(e) + 2
	}
	if width < wide {
		w.Set(name, "["+strings.Join(entries, ", ")+"]", "")
		return
	}
	w.Line(name + " = [")
	w.depth++
	for _, e := range entries {
		w.Line(e + ",")
	}
	w.depth--
	w.Line("]")
}

// String returns the text, with the values of neighbouring settings in one column and
// their comments in another.
func (w *Writer) String() string {
	var out strings.Builder
	columns := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	_, _ = columns.Write([]byte(w.text.String())) // a Builder does not fail
	_ = columns.Flush()
	return out.String()
}
