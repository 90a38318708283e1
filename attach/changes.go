package attach

import (
	"errors"
	"unicode/utf8"
)

// position is a place in a text, both numbers from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type contentChange struct {
	Range *struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range"`
	Text string `json:"text"`
}

var errRange = errors.New("a change ends before it begins")

// apply returns the text after the change.
func (ch *contentChange) apply(text, encoding string) (string, error) {
	if ch.Range == nil {
		return ch.Text, nil
	}
	from, to := offset(text, ch.Range.Start, encoding), offset(text, ch.Range.End, encoding)
	if to < from {
		return "", errRange
	}
	return text[:from] + ch.Text + text[to:], nil
}

// offset is where a position lies in a text, in bytes. A line that is not there
// is the end of the text, a character that is not there the end of its line.
// Lines end at \n, \r\n or \r, as the protocol says.
func offset(text string, at position, encoding string) int {
	i := 0
	for line := 0; line < at.Line; line++ {
		for i < len(text) && text[i] != '\n' && text[i] != '\r' {
			i++
		}
		if i == len(text) {
			return i
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		i++
	}
	for n := 0; n < at.Character && i < len(text) && text[i] != '\n' && text[i] != '\r'; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch encoding {
		case "utf-8":
			n += size
		case "utf-32":
			n++
		default:
			n++
			if r > 0xffff {
				n++
			}
		}
		if n > at.Character {
			break // within a character: before it
		}
		i += size
	}
	return i
}
