package conformance

import (
	"fmt"
	"strings"
)

// Page returns the rules as docs/protocol.md lists them, in Markdown.
func Page() string {
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "\n**%s**\n\n| rule | what holds | by the sentence | takes |\n|---|---|---|---|\n", s.title)
		for _, r := range s.rules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.What, r.Sentence, r.takes())
		}
	}
	return b.String()
}

// takes lists what a rule takes, in Markdown.
func (r *Rule) takes() string {
	var list []string
	if r.Level == Advised {
		list = append(list, "advised")
	}
	if r.Only != "" {
		list = append(list, "transport `"+r.Only+"`")
	}
	if r.Needs != "" {
		list = append(list, "capability `"+r.Needs+"`")
	}
	if r.Method != "" {
		list = append(list, "`"+r.Method+"`")
	}
	return strings.Join(list, ", ")
}
