package documents

import (
	"path"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// expanded is a snippet without its marks.
type expanded struct {
	text string
	// first and end are where the first and the final tab stop are in text, in bytes; first is -1 if
	// there are no others besides the final one.
	first, firstEnd, end int
}

// snippet reads a snippet in the syntax of TextMate, as VS Code has it: tab stops, placeholders,
// choices and variables. values has the variables; one that is unknown is its own name, as in VS Code.
// Transformations are an error.
func snippet(s string, values map[string]string) (expanded, error) {
	r := &snippetReader{in: s, values: values, texts: map[string]string{}, stops: map[string][2]int{}}
	if err := r.until(false); err != nil {
		return expanded{}, err
	}
	if r.out.Len() > maxSize {
		return expanded{}, tooLong()
	}
	out := expanded{text: r.out.String(), first: -1, end: r.out.Len()}
	if at, ok := r.stops["0"]; ok {
		out.end = at[0]
	}
	lowest := ""
	for number := range r.stops {
		if number != "0" && (lowest == "" || len(number) < len(lowest) || len(number) == len(lowest) && number < lowest) {
			lowest = number
		}
	}
	if lowest != "" {
		out.first, out.firstEnd = r.stops[lowest][0], r.stops[lowest][1]
	}
	return out, nil
}

type snippetReader struct {
	in     string
	at     int
	out    strings.Builder
	values map[string]string
	texts  map[string]string // of placeholders, for stops of the same number
	stops  map[string][2]int
	deep   int
}

// until copies to the end, or to the closing brace of a placeholder.
func (r *snippetReader) until(nested bool) error {
	if r.deep++; r.deep > 50 {
		return workbench.Invalid("a snippet is nested more than 50 times")
	}
	defer func() { r.deep-- }()
	for r.at < len(r.in) {
		if r.out.Len() > maxSize {
			return tooLong()
		}
		switch c := r.in[r.at]; {
		case c == '\\' && r.at+1 < len(r.in) && strings.IndexByte(`$}\`, r.in[r.at+1]) >= 0:
			r.out.WriteByte(r.in[r.at+1])
			r.at += 2
		case c == '}' && nested:
			r.at++
			return nil
		case c == '$':
			if err := r.mark(); err != nil {
				return err
			}
		default:
			r.out.WriteByte(c)
			r.at++
		}
	}
	if nested {
		return workbench.Invalid("a snippet has a placeholder without an end")
	}
	return nil
}

// tooLong is the error for a snippet of a few bytes that stands for more than a document can have: each
// placeholder may repeat those before it.
func tooLong() error { return refused("cannot insert a snippet: %w", ErrTooLarge) }

// write writes a value, or as much of it that it is seen to be too long.
func (r *snippetReader) write(value string) {
	r.out.WriteString(value[:min(len(value), max(0, maxSize+1-r.out.Len()))])
}

// name reads digits or an identifier; "" if there is neither.
func (r *snippetReader) name() string {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	letter := func(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
	from := r.at
	if from < len(r.in) && digit(r.in[from]) {
		for r.at < len(r.in) && digit(r.in[r.at]) {
			r.at++
		}
	} else if from < len(r.in) && letter(r.in[from]) {
		for r.at < len(r.in) && (letter(r.in[r.at]) || digit(r.in[r.at])) {
			r.at++
		}
	}
	return r.in[from:r.at]
}

// mark reads what begins with a dollar.
func (r *snippetReader) mark() error {
	from := r.at
	r.at++
	braced := strings.HasPrefix(r.in[r.at:], "{")
	if braced {
		r.at++
	}
	name := r.name()
	if name == "" {
		r.out.WriteByte('$')
		r.at = from + 1
		return nil
	}
	if !braced {
		r.value(name)
		return nil
	}
	rest := r.in[r.at:]
	switch {
	case strings.HasPrefix(rest, "}"):
		r.at++
		r.value(name)
		return nil
	case strings.HasPrefix(rest, ":"):
		r.at++
		return r.placeholder(name)
	case strings.HasPrefix(rest, "|"):
		i := strings.Index(rest, "|}")
		if i < 1 {
			return workbench.Invalid("a snippet has a choice without an end")
		}
		r.at += i + 2
		choice, _, _ := strings.Cut(strings.ReplaceAll(rest[1:i], `\,`, "\x00"), ",")
		start := r.out.Len()
		r.out.WriteString(strings.ReplaceAll(choice, "\x00", ","))
		r.stop(name, start)
		return nil
	}
	return workbench.NotSupported("SnippetString", "transformations are not")
}

// stop records a tab stop that begins at start and ends here.
func (r *snippetReader) stop(name string, start int) {
	if _, twice := r.stops[name]; !twice && name[0] <= '9' {
		r.stops[name] = [2]int{start, r.out.Len()}
		r.texts[name] = r.out.String()[start:]
	}
}

func (r *snippetReader) value(name string) {
	start := r.out.Len()
	if name[0] <= '9' {
		r.write(r.texts[name])
		r.stop(name, start)
		return
	}
	if v, known := r.values[name]; known {
		name = v
	}
	r.write(name)
}

// placeholder reads the text after the colon, which is left out for a variable that has a value.
func (r *snippetReader) placeholder(name string) error {
	start, before := r.out.Len(), r.out.String()
	err := r.until(true)
	if name[0] <= '9' {
		r.stop(name, start)
		return err
	}
	if v := r.values[name]; v != "" {
		r.out.Reset()
		r.write(before)
		r.write(v)
	}
	return err
}

// inserting are the options of a snippet.
type inserting struct {
	stops
	KeepWhitespace bool
}

func (s *Service) trySnippet(c *workbench.Call) (any, error) {
	var version int
	var template string
	var ranges []text.Range
	var opt inserting
	return s.onEditor(c, func(t *tab) (any, error) {
		if current, err := mayEdit(c, t.doc, version); err != nil || !current || len(ranges) == 0 {
			return false, err
		}
		return true, s.insert(t, template, ranges, opt)
	}, &version, &template, &ranges, &opt)
}

// insert puts a snippet at ranges of a document. The caller must hold mu.
func (s *Service) insert(t *tab, template string, ranges []text.Range, opt inserting) error {
	d := t.doc
	now := d.model.Text()
	var edits []text.Edit
	var all []expanded
	size := 0
	clipboard := ""
	if s.opt.Clipboard != nil {
		clipboard = s.opt.Clipboard()
	}
	for _, r := range ranges {
		r = now.Clamp(r)
		given := template
		if !opt.KeepWhitespace {
			var err error
			before := now.Slice(text.Range{StartLine: r.StartLine, StartColumn: 1, EndLine: r.StartLine, EndColumn: r.StartColumn})
			given, err = indented(template, before, t.editor.options)
			if err != nil {
				return err
			}
		}
		x, err := snippet(given, map[string]string{
			"TM_SELECTED_TEXT": now.Slice(r), "TM_CURRENT_LINE": now.Line(r.StartLine), "TM_FILENAME": d.name(), "TM_FILEPATH": d.uri.Path,
			"TM_FILENAME_BASE": strings.TrimSuffix(d.name(), path.Ext(d.name())), "TM_DIRECTORY": path.Dir(d.uri.Path),
			"TM_LINE_INDEX": strconv.Itoa(r.StartLine - 1), "TM_LINE_NUMBER": strconv.Itoa(r.StartLine), "CLIPBOARD": clipboard,
		})
		if err != nil {
			return err
		}
		if size += len(x.text); size > maxSize {
			return tooLong()
		}
		edits, all = append(edits, text.Edit{Range: r, Text: x.text}), append(all, x)
	}
	t.editor.placed = len(edits) == 1
	err := s.editWithin(d, edits, opt.stops)
	t.editor.placed = false
	if err == nil && len(edits) == 1 { // with several, the cursors are behind them
		s.selects(t.editor, []Selection{all[0].selection(edits[0].Range)})
	}
	return err
}

// selection returns where the cursor is after the snippet was put at a range.
func (x expanded) selection(at text.Range) Selection {
	place := func(n int) (line, column int) {
		before := text.New(x.text[:n], text.LF).Whole()
		if before.EndLine == 1 {
			return at.StartLine, at.StartColumn + before.EndColumn - 1
		}
		return at.StartLine + before.EndLine - 1, before.EndColumn
	}
	from, to := x.end, x.end
	if x.first >= 0 {
		from, to = x.first, x.firstEnd
	}
	var out Selection
	out.AnchorLine, out.AnchorColumn = place(from)
	out.ActiveLine, out.ActiveColumn = place(to)
	return out
}
