package builtin

import (
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/text"
)

// Fold has lines that are folded, counted from 1: Start stays, and End is the last one that is hidden.
type Fold struct{ Start, End int }

// maxFolds is how many folds an editor has at most: those with the least indentation.
const maxFolds = 5000

// region is a part of the text below the line that is looked at.
type region struct {
	indent int // of its first line; ended if the region is what follows a line that ends one
	above  int // its first line, with the empty ones before it in an off-side language
	line   int // its line that is looked at
}

const (
	outermost = -1 // the indentation of the whole text
	ended     = -2
)

// Folds returns what is folded by the indentation of lines, and the regions between lines that begin and
// end one, in the order of their starts: at most 5000, those with the least indentation.
func Folds(t *text.Text, l Language) []Fold {
	lines := t.Lines()
	end := len(lines) + 1
	open := []region{{outermost, end, end}}
	var found []Fold
	var indents []int
	fold := func(start, end, indent int) {
		found, indents = append(found, Fold{start, end}), append(indents, indent)
	}
	for line := len(lines); line > 0; line-- { // an end is met before its start
		content := lines[line-1]
		indent := indentOf(content, l.TabSize)
		last := &open[len(open)-1]
		if indent < 0 {
			if l.OffSide {
				last.above = line
			}
			continue
		}
		if l.FoldStart != nil && l.FoldEnd != nil {
			if l.FoldStart.MatchString(content) {
				if i := lastEnded(open); i > 0 {
					open = open[:i+1]
					fold(line, open[i].line, indent)
					open[i] = region{indent, line, line}
					continue
				}
			} else if l.FoldEnd.MatchString(content) {
				open = append(open, region{ended, line, line})
				continue
			}
		}
		if last.indent > indent {
			for open[len(open)-1].indent > indent {
				open = open[:len(open)-1]
			}
			if last = &open[len(open)-1]; last.above-1 > line {
				fold(line, last.above-1, indent)
			}
		}
		if last.indent == indent {
			last.above = line
		} else {
			open = append(open, region{indent, line, line})
		}
	}
	return least(found, indents)
}

// lastEnded returns the index of the innermost region that is open up to its start; 0 without one.
func lastEnded(open []region) int {
	for i := len(open) - 1; i > 0; i-- {
		if open[i].indent == ended {
			return i
		}
	}
	return 0
}

// least turns folds around, and leaves out those with the most indentation if they are too many.
func least(found []Fold, indents []int) []Fold {
	most := -1
	room := 0 // for folds with the indentation most
	if len(found) > maxFolds {
		sorted := slices.Sorted(slices.Values(indents))
		most = sorted[maxFolds]
		at, _ := slices.BinarySearch(sorted, most)
		room = maxFolds - at
	}
	out := make([]Fold, 0, min(len(found), maxFolds))
	for i, f := range slices.Backward(found) {
		switch {
		case most < 0 || indents[i] < most:
			out = append(out, f)
		case indents[i] == most && room > 0:
			room--
			out = append(out, f)
		}
	}
	return out
}

// indentOf returns how many columns a line is indented, and -1 for one that has only white space.
func indentOf(line string, tab int) int {
	if tab < 1 {
		tab = 4
	}
	n := 0
	for _, c := range []byte(line) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += tab - n%tab
		default:
			return n
		}
	}
	return -1
}

// blank reports whether a line has only white space.
func blank(line string) bool { return strings.TrimSpace(line) == "" }
