package search

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/workbench"
)

// block is a part of a file as an engine found it: whole lines.
type block struct {
	line    int    // number of the first line, from 0
	text    []byte // with the ends of the lines
	matches [][]int
}

// position is one of a range; columns are UTF-16 units.
type position struct {
	StartLine   int `json:"startLineNumber"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLineNumber"`
	EndColumn   int `json:"endColumn"`
}

type located struct {
	Source  position `json:"source"`
	Preview position `json:"preview"`
}

// lineResult is a match with the lines around it that it is shown with, or, without Locations, a
// line of context.
type lineResult struct {
	line, last int
	Text       string
	Locations  []located
}

// MarshalJSON implements [json.Marshaler].
func (r lineResult) MarshalJSON() ([]byte, error) {
	if r.Locations == nil {
		return marshal(map[string]any{"text": strings.TrimRight(r.Text, "\r\n"), "lineNumber": r.line + 1})
	}
	return marshal(map[string]any{"previewText": r.Text, "rangeLocations": r.Locations})
}

// fileResult is what $handleTextSearchResult gets.
type fileResult struct {
	Resource workbench.URI `json:"resource"`
	Results  []lineResult  `json:"results"`
}

// preview bounds the text of a result.
type preview struct {
	Lines int `json:"matchLines"`
	Chars int `json:"charsPerLine"`
}

// results returns the matches of a block, one result for those that share lines.
func (b block) results(show *preview) (out []lineResult) {
	start, line := 0, b.line // of the line that was reached
	var group [][]int
	var first, from, to int // line, bytes of the group
	flush := func() {
		if len(group) > 0 {
			out = append(out, newResult(first, b.text[from:to], from, group, show))
		}
		group = nil
	}
	for _, m := range b.matches {
		m, ok := clamp(b.text, m)
		if !ok {
			continue
		}
		for n := bytes.IndexByte(b.text[start:], '\n'); n >= 0 && start+n < m[0]; n = bytes.IndexByte(b.text[start:], '\n') {
			start += n + 1
			line++
		}
		if len(group) == 0 || start >= to {
			flush()
			first, from, to = line, start, start
		}
		group = append(group, m)
		end := m[1]
		if end > m[0] && b.text[end-1] == '\n' && end > to { // the range ends in the next line, which is not shown
			to = end
		} else if end > to || to == start {
			to = len(b.text)
			if n := bytes.IndexByte(b.text[end:], '\n'); n >= 0 {
				to = end + n + 1
			}
		}
	}
	flush()
	return out
}

// clamp takes the \r of an end of a line out of a match; false if nothing is left.
func clamp(text []byte, m []int) ([]int, bool) {
	start, end := m[0], m[1]
	if end > start && text[end-1] == '\r' && (end == len(text) || text[end] == '\n') {
		end--
		if end == start {
			return nil, false
		}
	} else if end == start && end > 0 && end < len(text) && text[end-1] == '\r' && text[end] == '\n' {
		start, end = start-1, end-1
	}
	return []int{start, end}, true
}

// newResult returns the result for matches in lines, whose text begins at offset in the block.
func newResult(line int, text []byte, offset int, matches [][]int, show *preview) lineResult {
	r := lineResult{line: line, last: line + bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), Text: toText(text)}
	isOneLine := r.last == line
	c := cursor{text: text}
	for _, m := range matches {
		p := position{}
		p.StartLine, p.StartColumn = c.to(m[0] - offset)
		p.EndLine, p.EndColumn = c.to(m[1] - offset)
		isOneLine = isOneLine && p.EndLine == 0
		at := p
		at.StartLine += line
		at.EndLine += line
		r.Locations = append(r.Locations, located{at, p})
	}
	if show != nil && show.Chars > 0 && isOneLine && (show.Lines == 1 || len(text) > show.Chars) {
		r.shorten(show.Chars)
	}
	return r
}

// Texts around the number of characters that are left out of a preview, as in VS Code.
const (
	elidedPrefix = "⟪ "
	elidedSuffix = " characters skipped ⟫"
)

// shorten cuts the text of one line to chars UTF-16 units from each match, and a fifth of it before.
func (r *lineResult) shorten(chars int) {
	units := utf16Of(r.Text)
	leading := chars / 5
	least := utf8.RuneCountInString(elidedPrefix+elidedSuffix) + 5
	var out []uint16
	shift, last := 0, 0
	for i := range r.Locations {
		p := &r.Locations[i].Preview
		from, to := max(p.StartColumn-leading, 0), min(p.StartColumn+chars, len(units))
		if from > last+leading+least {
			elision := utf16Of(elidedPrefix + strconv.Itoa(from-last) + elidedSuffix)
			out = append(append(out, elision...), units[from:max(to, from)]...)
			shift += from - (last + len(elision))
		} else if to > last {
			out = append(out, units[last:to]...)
		}
		last = max(to, last)
		p.StartColumn -= shift
		p.EndColumn -= shift
		p.EndColumn = min(p.EndColumn, len(out))
	}
	r.Text = textOf(out)
}

// cursor counts lines and columns up to offsets that grow: a long line may have a match at each byte.
type cursor struct {
	text          []byte
	at, line, col int
}

// to returns the line and the column of an offset, both from 0.
func (c *cursor) to(offset int) (line, col int) {
	switch {
	case offset == c.at-1 && c.col > 0 && c.text[offset] == '\r': // see clamp
		c.at--
		c.col--
	case offset < c.at:
		*c = cursor{text: c.text}
	}
	for c.at < offset {
		r, size := utf8.DecodeRune(c.text[c.at:offset])
		c.at += size
		c.col++
		switch {
		case r == '\n':
			c.line++
			c.col = 0
		case r > 0xffff:
			c.col++
		}
	}
	return c.line, c.col
}

// count returns how many matches there are.
func count(results []lineResult) (n int) {
	for _, r := range results {
		n += len(r.Locations)
	}
	return n
}

// cut keeps the first n matches.
func cut(results []lineResult, n int) []lineResult {
	for i := range results {
		if results[i].Locations == nil {
			continue
		}
		if n <= 0 {
			return results[:i]
		}
		results[i].Locations = results[i].Locations[:min(n, len(results[i].Locations))]
		n -= len(results[i].Locations)
	}
	return results
}

// withContext adds the lines before and after the matches. text is the whole file.
func withContext(results []lineResult, text []byte, lines int) []lineResult {
	if lines <= 0 || len(results) == 0 {
		return results
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	var out []lineResult
	next := 0 // the first line that was not shown
	for i, r := range results {
		for n := max(next, r.line-lines); n < r.line; n++ {
			out = append(out, lineResult{line: n, Text: toText(all[n])})
		}
		out = append(out, r)
		next = max(next, r.last+1)
		end := min(r.last+1+lines, len(all))
		if i+1 < len(results) {
			end = min(end, results[i+1].line)
		}
		for ; next < end; next++ {
			out = append(out, lineResult{line: next, Text: toText(all[next])})
		}
	}
	return slices.Clip(out)
}
