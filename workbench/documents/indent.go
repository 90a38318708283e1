package documents

import "github.com/hostsup/hostsup/workbench/text"

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
