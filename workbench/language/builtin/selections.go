package builtin

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/text"
)

// maxScan is how many lines before and behind a position are searched for brackets.
const maxScan = 10_000

// Selections returns what a selection at a position can grow to, in no order: the part of a word, the word,
// an empty line and the whole text. brackets also adds what is in brackets.
func Selections(t *text.Text, line, column int, l Language, brackets bool) (out []text.Range) {
	at := t.Clamp(text.Range{StartLine: line, StartColumn: column, EndLine: line, EndColumn: column})
	line, column = at.StartLine, at.StartColumn
	if w, r, ok := word(t, line, column, l); ok {
		from, to := part(w, column-r.StartColumn)
		if from < to {
			out = append(out, text.Range{StartLine: line, StartColumn: r.StartColumn + from, EndLine: line, EndColumn: r.StartColumn + to})
		}
		out = append(out, r)
	}
	if content := t.Line(line); content != "" && blank(content) {
		out = append(out, text.Range{StartLine: line, StartColumn: 1, EndLine: line, EndColumn: text.Units(content) + 1})
	}
	if brackets {
		out = append(out, enclosing(t, line, column, l.Brackets)...)
	}
	return append(out, t.Whole())
}

// part returns the part of a word such as fooBar or foo_bar at an offset: where it begins and ends, in UTF-16
// units.
func part(word string, offset int) (from, to int) {
	var units []rune // a rune beyond the first plane stands for both of its units, which are no letters here
	for _, r := range word {
		if units = append(units, r); r > 0xFFFF {
			units = append(units, r)
		}
	}
	at := func(i int) rune {
		if i < 0 || i >= len(units) {
			return 0
		}
		return units[i]
	}
	joins := func(r rune) bool { return r == '_' || r == '-' }
	from, to = offset, offset
	for last := rune(0); from >= 0; from-- {
		r := at(from)
		if from != offset && joins(r) || lower(r) && upper(last) {
			break
		}
		last = r
	}
	for last := rune(0); to < len(units); to++ {
		r := at(to)
		if upper(r) && lower(last) || joins(r) {
			break
		}
		last = r
	}
	return from + 1, to
}

func lower(r rune) bool { return r >= 'a' && r <= 'z' }
func upper(r rune) bool { return r >= 'A' && r <= 'Z' }

// bracket is an occurrence of one.
type bracket struct {
	pair  int
	opens bool
	at    text.Range
}

// enclosing returns the insides of the brackets around a position, these with the brackets, and with what
// stands before those that begin a block.
func enclosing(t *text.Text, line, column int, pairs [][2]string) (out []text.Range) {
	closing := make([][]text.Range, len(pairs)) // without an opening one behind the position
	unopened := make([]int, len(pairs))
	all := bracketsOf(t, max(1, line-maxScan), min(t.Count(), line+maxScan), pairs)
	behind := slices.IndexFunc(all, func(b bracket) bool {
		return b.at.StartLine > line || b.at.StartLine == line && b.at.StartColumn >= column
	})
	if behind < 0 {
		return nil
	}
	for _, b := range all[behind:] {
		switch {
		case b.opens:
			unopened[b.pair]++
		case unopened[b.pair] > 0:
			unopened[b.pair]--
		default:
			closing[b.pair] = append(closing[b.pair], b.at)
		}
	}
	clear(unopened)
	for _, b := range slices.Backward(all[:behind]) {
		if b.at.EndLine == line && b.at.EndColumn > column {
			continue // the position is within it
		}
		switch {
		case !b.opens:
			unopened[b.pair]++
		case unopened[b.pair] > 0:
			unopened[b.pair]--
		case len(closing[b.pair]) > 0:
			end := closing[b.pair][0]
			closing[b.pair] = closing[b.pair][1:]
			outer := text.Range{StartLine: b.at.StartLine, StartColumn: b.at.StartColumn, EndLine: end.EndLine, EndColumn: end.EndColumn}
			out = append(out, text.Range{StartLine: b.at.EndLine, StartColumn: b.at.EndColumn, EndLine: end.StartLine, EndColumn: end.StartColumn}, outer)
			out = append(out, leading(t, outer)...)
		}
	}
	return out
}

// bracketsOf returns the brackets in lines, in their order.
func bracketsOf(t *text.Text, from, to int, pairs [][2]string) (out []bracket) {
	type kind struct {
		pair  int
		opens bool
	}
	kinds := map[string]kind{}
	var names []string
	for i, p := range pairs {
		for side, name := range p {
			if _, known := kinds[name]; !known && name != "" && p[0] != p[1] {
				kinds[name] = kind{i, side == 0}
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for i, name := range names {
		quoted := regexp.QuoteMeta(name)
		if regexp.MustCompile(`^\w+$`).MatchString(name) {
			quoted = `\b` + quoted + `\b`
		}
		names[i] = quoted
	}
	pattern := regexp.MustCompile(strings.Join(names, "|"))
	for line := from; line <= to; line++ {
		content := t.Line(line)
		for _, m := range pattern.FindAllStringIndex(content, -1) {
			k := kinds[content[m[0]:m[1]]]
			column := text.Units(content[:m[0]]) + 1
			out = append(out, bracket{k.pair, k.opens, text.Range{StartLine: line, StartColumn: column, EndLine: line, EndColumn: column + text.Units(content[m[0]:m[1]])}})
		}
	}
	return out
}

// leading returns brackets of several lines with what stands before them on their line, or on the line
// above, from its first character and from its start.
func leading(t *text.Text, outer text.Range) (out []text.Range) {
	if outer.StartLine == outer.EndLine {
		return nil
	}
	with := func(line, column int) {
		for _, c := range []int{column, 1} {
			out = append(out, text.Range{StartLine: line, StartColumn: c, EndLine: outer.EndLine, EndColumn: outer.EndColumn})
		}
	}
	if first, _ := edges(t, outer.StartLine); first != 0 && first != outer.StartColumn {
		with(outer.StartLine, first)
	}
	if above := outer.StartLine - 1; above > 0 {
		if first, last := edges(t, above); first == outer.StartColumn && first != last {
			with(above, first)
		}
	}
	return out
}

// edges returns the columns of the first character of a line that is no white space, and behind the last
// one. Both are 0 in a line of white space.
func edges(t *text.Text, line int) (first, last int) {
	content := t.Line(line)
	if blank(content) {
		return 0, 0
	}
	head := len(content) - len(strings.TrimLeft(content, " \t"))
	return text.Units(content[:head]) + 1, text.Units(strings.TrimRight(content, " \t")) + 1
}

// Lines adds the lines between two selections of which the second is larger, without white space at their
// ends and with it, if they are between the two.
func Lines(t *text.Text, inner, outer text.Range) (out []text.Range) {
	if inner.StartLine == outer.StartLine && inner.EndLine == outer.EndLine {
		return nil
	}
	first, _ := edges(t, inner.StartLine)
	_, last := edges(t, inner.EndLine)
	trimmed := text.Range{StartLine: inner.StartLine, StartColumn: max(first, 1), EndLine: inner.EndLine, EndColumn: max(last, 1)}
	whole := text.Range{StartLine: inner.StartLine, StartColumn: 1, EndLine: inner.EndLine, EndColumn: text.Units(t.Line(inner.EndLine)) + 1}
	if contains(trimmed, inner) && trimmed != inner && contains(outer, trimmed) && outer != trimmed {
		out = append(out, trimmed)
	}
	if contains(whole, inner) && whole != inner && whole != trimmed && contains(outer, whole) && outer != whole {
		out = append(out, whole)
	}
	return out
}

// contains reports whether all of b is in a.
func contains(a, b text.Range) bool {
	return (a.StartLine < b.StartLine || a.StartLine == b.StartLine && a.StartColumn <= b.StartColumn) &&
		(a.EndLine > b.EndLine || a.EndLine == b.EndLine && a.EndColumn >= b.EndColumn)
}
