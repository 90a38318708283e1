package documents

import (
	"testing"

	"github.com/hostsup/hostsup/workbench/text"
)

func TestIndentationOfText(t *testing.T) {
	without := Indentation{TabSize: 4}
	for content, want := range map[string]Indentation{
		"":                              without,
		"a\nb\n":                        without,
		"a\n\tb\n":                      {TabSize: 4, Tabs: true},
		"a\n  b\n    c\n  d\n":          {TabSize: 2},
		"a\n   b\n      c\n   d\n":      {TabSize: 3},
		"a\n        b\n":                {TabSize: 8},
		"a\n\tb\n  c\n":                 {TabSize: 2}, // as many lines with tabs as with spaces
		"a\n\tb\n\tb\n  c\n":            {TabSize: 4, Tabs: true},
		"/*\n * x\n */\n":               without,      // no line with more than one space
		"a\n          b\n":              without,      // a step that is too large
		"a\n    \n        \n  b\n  c\n": {TabSize: 2}, // lines of spaces do not count
	} {
		if got := detect(text.New(content, text.LF), without); got != want {
			t.Errorf("%q: %+v, want %+v", content, got, want)
		}
	}
	if got := detect(text.New("a\n    b\n", text.LF), Indentation{TabSize: 2, Tabs: true}); got != (Indentation{TabSize: 4}) {
		t.Errorf("%+v", got)
	}
}

func TestIndentationOfSnippets(t *testing.T) {
	spaces, tabs := editorOptions{IndentSize: 4, InsertSpaces: true}, editorOptions{IndentSize: 4}
	for _, c := range []struct {
		snippet, before, want string
		o                     editorOptions
	}{
		{"a\n\tb\n  c", "x", "a\n    b\n  c", spaces},
		{"a\n\tb", "\t x", "a\n        b", spaces}, // a tab ends at the next stop
		{"a\r\n      b", "  ", "a\n\t\tb", tabs},
		{"\ta\n", "    x", "\ta\n\t", tabs},
		{"\ta\n  \tb", "\tx", "\ta\n\t  \tb", editorOptions{}},
	} {
		if got, err := indented(c.snippet, c.before, c.o); got != c.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", c.snippet, got, err, c.want)
		}
	}
}
