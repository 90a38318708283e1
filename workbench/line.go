package workbench

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// OneLine returns a text of an extension in one line: white space is a space, and what is over limit
// bytes is cut off, with a mark.
func OneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + " …"
	}
	return text
}

// controls are the sequences of a terminal that are not text: colours, titles, moves of the cursor.
var controls = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]")
})

// Plain returns a text without the control sequences of a terminal, such as colours.
func Plain(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return controls().ReplaceAllString(text, "")
}

// Text returns a text of an extension that is one, or one in Markdown; "" for anything else.
func Text(raw json.RawMessage) (text string) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var markdown struct{ Value string }
	_ = json.Unmarshal(raw, &markdown) // another form has no text
	return markdown.Value
}
