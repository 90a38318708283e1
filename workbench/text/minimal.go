package text

import (
	"slices"
	"strings"
	"time"

	diff "github.com/sergi/go-diff/diffmatchpatch"
)

// The bounds of what [Text.Minimal] compares, those of VS Code.
const (
	minimalUnits = 100_000     // UTF-16 units of an edit; a longer one stays as it is
	minimalTime  = time.Second // for one edit; what is not compared by then stays in one part
)

// Minimal returns edits that do the same and replace no text by itself, as VS Code shows the edits of
// formatters: they are in the order of their ranges, and an edit of a whole line or text is split into
// those of the words that differ. Edits that touch are compared as one. All ranges are those of t, and line
// endings become those of t. Edits that overlap are returned as they are.
func (t *Text) Minimal(edits []Edit) []Edit {
	list := make([]Edit, 0, len(edits))
	for _, e := range edits {
		list = append(list, Edit{t.Clamp(e.Range), unified(strings.ToValidUTF8(e.Text, "\uFFFD"), LF)})
	}
	slices.SortStableFunc(list, func(a, b Edit) int {
		if c := compare(a.Range.StartLine, a.Range.StartColumn, b.Range.StartLine, b.Range.StartColumn); c != 0 {
			return c
		}
		return compare(a.Range.EndLine, a.Range.EndColumn, b.Range.EndLine, b.Range.EndColumn)
	})
	var joined []Edit
	for _, e := range list {
		if n := len(joined) - 1; n >= 0 {
			last := &joined[n]
			switch c := compare(last.Range.EndLine, last.Range.EndColumn, e.Range.StartLine, e.Range.StartColumn); {
			case c > 0:
				return edits
			case c == 0:
				last.Range.EndLine, last.Range.EndColumn, last.Text = e.Range.EndLine, e.Range.EndColumn, last.Text+e.Text
				continue
			}
		}
		joined = append(joined, e)
	}
	out := []Edit{}
	for _, e := range joined {
		out = t.minimal(e, out)
	}
	return out
}

// minimal appends the parts of an edit whose text has LF.
func (t *Text) minimal(e Edit, out []Edit) []Edit {
	old := unified(t.Slice(e.Range), LF)
	if old == e.Text {
		return out
	}
	if max(Units(old), Units(e.Text)) > minimalUnits {
		return append(out, Edit{e.Range, unified(e.Text, t.eol)})
	}
	d := diff.New()
	d.DiffTimeout = minimalTime
	at := Edit{Range: Range{e.Range.StartLine, e.Range.StartColumn, e.Range.StartLine, e.Range.StartColumn}}
	flush := func() {
		if !at.Range.Empty() || at.Text != "" {
			out = append(out, Edit{at.Range, unified(at.Text, t.eol)})
		}
		at.Range.StartLine, at.Range.StartColumn, at.Text = at.Range.EndLine, at.Range.EndColumn, ""
	}
	for _, part := range d.DiffMain(old, e.Text, true) {
		switch part.Type {
		case diff.DiffInsert:
			at.Text += part.Text
		case diff.DiffDelete:
			at.Range.EndLine, at.Range.EndColumn = after(at.Range.EndLine, at.Range.EndColumn, part.Text)
		case diff.DiffEqual:
			flush()
			at.Range.EndLine, at.Range.EndColumn = after(at.Range.EndLine, at.Range.EndColumn, part.Text)
			at.Range.StartLine, at.Range.StartColumn = at.Range.EndLine, at.Range.EndColumn
		}
	}
	flush()
	return out
}

// after returns the position behind a text with LF at a position.
func after(line, column int, s string) (int, int) {
	ends, width := tail(s)
	if ends > 0 {
		column = 1
	}
	return line + ends, column + width
}
