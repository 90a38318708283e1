package documents

import (
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// Indentation is how a document is indented.
type Indentation struct {
	TabSize int  // columns; 4 if it is less than 1
	Tabs    bool // tabs instead of spaces
	Keep    bool // also if the text of the document is indented in another way
}

// firstOptions returns what an editor of a document has at first. The caller must hold mu.
func (s *Service) firstOptions(d *document) editorOptions {
	in := Indentation{}
	if s.opt.Indentation != nil {
		in = s.opt.Indentation(d.uri, d.language)
	}
	if in.TabSize < 1 {
		in.TabSize = 4
	}
	if !in.Keep {
		in = detect(d.model.Text(), in)
	}
	return editorOptions{TabSize: in.TabSize, IndentSize: in.TabSize, OwnIndent: "tabSize", InsertSpaces: !in.Tabs, Cursor: 1, LineNumbers: 1}
}

// TabSize returns the columns of a tab in a document that is open, as its editors begin with; 4 for other
// documents.
func (s *Service) TabSize(uri workbench.URI) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[uri.String()]; d != nil {
		return s.firstOptions(d).TabSize
	}
	return 4
}

const (
	maxDetect = 10_000 // lines that detect looks at, as VS Code
	maxIndent = 8      // spaces of an indentation that it finds
)

// detect returns how a text is indented: by what begins more of its lines, and, with spaces, by the step
// that is most frequent between lines. What the text does not show is as in without.
func detect(t *text.Text, without Indentation) Indentation {
	var tabs, spaces, before int
	var steps [maxIndent + 1]int
	lines := 0
	for line := range t.All() {
		if lines++; lines > maxDetect {
			break
		}
		indent := 0
		for indent < len(line) && line[indent] == ' ' {
			indent++
		}
		switch {
		case indent == len(line): // nothing but spaces
			continue
		case line[indent] == '\t':
			tabs++
			continue
		case indent > 1:
			spaces++
		}
		if step := max(indent-before, before-indent); step <= maxIndent {
			steps[step]++
		}
		before = indent
	}
	out := without
	if tabs != spaces {
		out.Tabs = tabs > spaces
	}
	if out.Tabs || spaces == 0 {
		return out
	}
	most := 0
	for _, step := range []int{2, 4, 6, 8, 3, 5, 7} {
		if steps[step] > most {
			most, out.TabSize = steps[step], step
		}
	}
	return out
}

// indented returns a snippet with the indentation of the line where it is put, of which before is what is
// before the snippet. Indentations of the snippet are written as the editor writes them, with spaces or
// with tabs; with the zero value of o they stay as they are.
func indented(snippet, before string, o editorOptions) (string, error) {
	whole := before[:len(before)-len(strings.TrimLeft(before, " \t"))]
	var out strings.Builder
	for i, line := range strings.Split(strings.ReplaceAll(snippet, "\r\n", "\n"), "\n") {
		rest := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(rest)]
		if i > 0 {
			out.WriteByte('\n')
			indent = whole + indent
		}
		tabs, spaces := o.columns(indent)
		if out.Len()+tabs+spaces+len(rest) > maxSize {
			return "", tooLong()
		}
		if o.IndentSize > 0 {
			indent = strings.Repeat("\t", tabs) + strings.Repeat(" ", spaces)
		}
		out.WriteString(indent)
		out.WriteString(rest)
	}
	return out.String(), nil
}

// columns returns the tabs and the spaces after them with which an editor writes an indentation.
func (o editorOptions) columns(indent string) (tabs, spaces int) {
	if o.IndentSize < 1 {
		return 0, len(indent)
	}
	for i := range len(indent) {
		if indent[i] == '\t' {
			spaces -= spaces % o.IndentSize
			spaces += min(o.IndentSize, maxSize+1) // more are refused
		} else {
			spaces++
		}
		if spaces > maxSize {
			return 0, spaces
		}
	}
	if o.InsertSpaces {
		return 0, spaces
	}
	return spaces / o.IndentSize, spaces % o.IndentSize
}
