package language

import (
	"github.com/hostsup/hostsup/workbench/text"
)

// wireEdit is an edit of a formatter as hosts send and expect it.
type wireEdit struct {
	Range text.Range `json:"range"`
	Text  string     `json:"text"`
	EOL   *int       `json:"eol,omitempty"` // the line ending of the whole document, in an edit of its own
}

// minimal returns the edits of a formatter without what they replace by itself. Only extensions get a
// change of the line ending.
func minimal(items []item, t *text.Text, forExtension bool) ([]item, error) {
	if len(items) == 0 {
		return items, nil
	}
	var edits []text.Edit
	var eol *int
	for _, it := range items {
		var e wireEdit
		if err := it.decode(&e); err != nil {
			return nil, err
		}
		if e.EOL != nil {
			eol = e.EOL
		}
		edits = append(edits, text.Edit{Range: e.Range, Text: e.Text})
	}
	out := []item{}
	add := func(e wireEdit) { out = append(out, item{p: items[0].p, rank: items[0].rank, raw: encode(e)}) }
	for _, e := range t.Minimal(edits) {
		add(wireEdit{Range: e.Range, Text: e.Text})
	}
	if eol != nil && forExtension {
		add(wireEdit{EOL: eol})
	}
	return out, nil
}
