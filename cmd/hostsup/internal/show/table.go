package show

import (
	"io"
	"strings"
	"unicode/utf8"
)

// column is one column of a table. The last column is cut if the screen is too
// narrow; if that is not enough, columns are omitted.
type column struct {
	title string
	right bool // aligned
	spare int  // higher values are omitted first; 0 never
}

// cell is one field of a table.
type cell struct {
	text  string
	style Style
}

// leastLast is the smallest width of the last column before another column is omitted.
const leastLast = 16

const gap = "  "

// table writes rows under the titles of their columns.
func (s Screen) table(w io.Writer, columns []column, rows [][]cell) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	shown := s.fit(columns, widths)

	var out strings.Builder
	line := func(row func(i int) cell) {
		var b strings.Builder
		for n, i := range shown {
			c := row(i)
			text := cut(c.text, widths[i])
			fill := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			text = s.Paint(c.style, text)
			switch {
			case columns[i].right:
				text = fill + text
			case n < len(shown)-1:
				text += fill
			}
			if n > 0 {
				b.WriteString(gap)
			}
			b.WriteString(text)
		}
		out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	line(func(i int) cell { return cell{columns[i].title, Bold} })
	for _, row := range rows {
		line(func(i int) cell { return row[i] })
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// fit returns the columns to show and narrows their widths to the screen.
func (s Screen) fit(columns []column, widths []int) []int {
	shown := make([]int, len(columns))
	for i := range columns {
		shown[i] = i
	}
	if s.Width <= 0 {
		return shown
	}
	for {
		last := shown[len(shown)-1]
		fixed := len(gap) * (len(shown) - 1)
		for _, i := range shown[:len(shown)-1] {
			fixed += widths[i]
		}
		rest := s.Width - fixed
		if rest >= min(widths[last], leastLast) {
			widths[last] = min(widths[last], rest)
			return shown
		}
		out := -1
		for n, i := range shown {
			if columns[i].spare > 0 && (out < 0 || columns[i].spare > columns[shown[out]].spare) {
				out = n
			}
		}
		if out >= 0 {
			shown = append(shown[:out:out], shown[out+1:]...)
			continue
		}
		// Columns that cannot be omitted share the available width.
		widths[last] = max(1, min(widths[last], rest))
		if over := fixed + widths[last] - s.Width; over > 0 {
			widths[shown[0]] = max(4, widths[shown[0]]-over)
		}
		return shown
	}
}
