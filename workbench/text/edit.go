package text

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrOverlap means that two edits of a list change the same part of a text.
var ErrOverlap = errors.New("overlapping ranges are not allowed")

// Edit replaces a range.
type Edit struct {
	Range Range  `json:"range"`
	Text  string `json:"text"`
}

// Change is an edit as it was made, in the form of the method $acceptModelChanged of extension hosts.
// A list of changes is applied one after the other.
type Change struct {
	Range  Range  `json:"range"`
	Offset int    `json:"rangeOffset"` // in UTF-16 units
	Length int    `json:"rangeLength"` // in UTF-16 units
	Text   string `json:"text"`
}

// Apply makes edits. All ranges are those of t, so that no edit moves another, and edits at the same
// position stay in their order. Line endings in the edits become those of the text. The changes are in
// the order of VS Code: from the end of the text to its start. An edit that does nothing has none. The
// error is [ErrOverlap].
func (t *Text) Apply(edits []Edit) (*Text, []Change, error) {
	list := make([]Edit, len(edits))
	for i, e := range edits {
		list[i] = Edit{t.Clamp(e.Range), unified(strings.ToValidUTF8(e.Text, "\uFFFD"), t.eol)}
	}
	slices.SortStableFunc(list, func(a, b Edit) int {
		if c := compare(a.Range.EndLine, a.Range.EndColumn, b.Range.EndLine, b.Range.EndColumn); c != 0 {
			return c
		}
		return compare(a.Range.StartLine, a.Range.StartColumn, b.Range.StartLine, b.Range.StartColumn)
	})
	for i := 1; i < len(list); i++ {
		before, r := list[i-1].Range, list[i].Range
		if compare(r.StartLine, r.StartColumn, before.EndLine, before.EndColumn) < 0 {
			return nil, nil, fmt.Errorf("%w: line %d, column %d is in two of them", ErrOverlap, r.StartLine, r.StartColumn)
		}
	}
	list = slices.DeleteFunc(list, func(e Edit) bool { return e.Range.Empty() && e.Text == "" })
	changes := make([]Change, len(list))
	for i, e := range list {
		from := t.offset(e.Range.StartLine, e.Range.StartColumn)
		changes[len(list)-1-i] = Change{e.Range, from, t.offset(e.Range.EndLine, e.Range.EndColumn) - from, e.Text}
	}
	return t.rebuilt(list), changes, nil
}

// rebuilt returns the text with edits that are in their order and do not overlap.
func (t *Text) rebuilt(list []Edit) *Text {
	if len(list) == 0 {
		return t
	}
	var b strings.Builder
	at := 0 // the bytes of t that are used
	for _, e := range list {
		b.WriteString(t.s[at:t.place(e.Range.StartLine, e.Range.StartColumn)])
		b.WriteString(unified(e.Text, LF))
		at = t.place(e.Range.EndLine, e.Range.EndColumn)
	}
	b.WriteString(t.s[at:])
	return indexed(b.String(), t.eol)
}

// Play applies changes one after the other, which is what a host does with them.
func (t *Text) Play(changes []Change) *Text {
	for _, c := range changes {
		t = t.rebuilt([]Edit{{t.Clamp(c.Range), c.Text}})
	}
	return t
}

// inverse returns the edits that undo the changes of an Apply, for the text that it returned.
func (t *Text) inverse(changes []Change) []Edit {
	var out []Edit
	line, column := 0, 0 // how far positions after the last change have moved
	last := 0            // the line of t to which column applies
	for _, c := range slices.Backward(changes) {
		start := c.Range.StartColumn
		if c.Range.StartLine == last {
			start += column
		}
		ends, units := tail(c.Text)
		end := units + 1
		if ends == 0 {
			end += start - 1
		}
		from := c.Range.StartLine + line
		// Undo must not keep the whole text for a part of it.
		out = append(out, Edit{Range{from, start, from + ends, end}, strings.Clone(t.Slice(c.Range))})
		line += ends - (c.Range.EndLine - c.Range.StartLine)
		last, column = c.Range.EndLine, end-c.Range.EndColumn
	}
	return out
}

// Shift returns where a position is after the change. A position within the range goes to the end of
// what is there now.
func (c Change) Shift(line, column int) (int, int) { return c.Shifter()(line, column) }

// Shifter returns [Change.Shift] for many positions: the text of the change is looked at once.
func (c Change) Shifter() func(line, column int) (int, int) {
	ends, units := tail(c.Text)
	endLine, endColumn := c.Range.StartLine+ends, units+1
	if ends == 0 {
		endColumn += c.Range.StartColumn - 1
	}
	return func(line, column int) (int, int) {
		switch {
		case compare(line, column, c.Range.StartLine, c.Range.StartColumn) < 0:
			return line, column
		case compare(line, column, c.Range.EndLine, c.Range.EndColumn) <= 0:
			return endLine, endColumn
		case line == c.Range.EndLine:
			return endLine, endColumn + column - c.Range.EndColumn
		}
		return line + endLine - c.Range.EndLine, column
	}
}
