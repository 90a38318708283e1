package text

import "cmp"

// Range is a part of a text, from its start to before its end. Lines and columns begin at 1.
type Range struct {
	StartLine   int `json:"startLineNumber"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLineNumber"`
	EndColumn   int `json:"endColumn"`
}

// At returns the empty range at a position.
func At(line, column int) Range { return Range{line, column, line, column} }

// Empty reports whether the range contains nothing.
func (r Range) Empty() bool { return r.StartLine == r.EndLine && r.StartColumn == r.EndColumn }

// compare compares two positions.
func compare(line, column, line2, column2 int) int {
	return cmp.Or(cmp.Compare(line, line2), cmp.Compare(column, column2))
}

// Clamp returns the range moved into the text, with its start before its end. An end within a
// surrogate pair is moved, as VS Code does: the range grows around the pair, and an empty one moves
// before it.
func (t *Text) Clamp(r Range) Range {
	if compare(r.StartLine, r.StartColumn, r.EndLine, r.EndColumn) > 0 {
		r = Range{r.EndLine, r.EndColumn, r.StartLine, r.StartColumn}
	}
	r.StartLine, r.StartColumn = t.clamp(r.StartLine, r.StartColumn)
	r.EndLine, r.EndColumn = t.clamp(r.EndLine, r.EndColumn)
	start, end := t.splits(r.StartLine, r.StartColumn), t.splits(r.EndLine, r.EndColumn)
	if start {
		r.StartColumn--
	}
	if end && r.StartLine == r.EndLine && r.StartColumn+1 == r.EndColumn && start {
		r.EndColumn-- // it was empty
	} else if end {
		r.EndColumn++
	}
	return r
}

func (t *Text) clamp(line, column int) (int, int) {
	switch {
	case line < 1:
		return 1, 1
	case line > t.count:
		return t.count, t.unitsOf(t.count) + 1
	}
	return line, max(1, min(column, t.unitsOf(line)+1))
}

// splits reports whether a position is within a surrogate pair.
func (t *Text) splits(line, column int) bool {
	if t.units == nil { // ASCII
		return false
	}
	l := t.Line(line)
	return Units(l[:bytesOf(l, column-1)]) != column-1
}
