package workbench

import "strings"

// OneLine returns a text of an extension in one line: white space is a space, and what is over limit
// bytes is cut off, with a mark.
func OneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + " …"
	}
	return text
}
