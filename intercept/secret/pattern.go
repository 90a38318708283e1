package secret

import "bytes"

// pattern is a text to be looked for, and what stands in its place.
type pattern struct {
	text  []byte
	label []byte
	next  []int32 // length of the longest border of text[:i+1], as Knuth, Morris and Pratt have it
}

func newPattern(text, label []byte) *pattern {
	p := &pattern{text: text, label: label, next: make([]int32, len(text))}
	for i, k := 1, int32(0); i < len(text); i++ {
		for k > 0 && text[i] != text[k] {
			k = p.next[k-1]
		}
		if text[i] == text[k] {
			k++
		}
		p.next[i] = k
	}
	return p
}

// match is where a pattern was found.
type match struct {
	from, to int
	label    []byte
}

// find appends all places of p in b, overlapping ones too, in time that grows
// with the length of b whatever is in it.
func (p *pattern) find(out []match, b []byte) []match {
	from := bytes.Index(b, p.text)
	if from < 0 {
		return out
	}
	for i, k := from, int32(0); i < len(b); i++ {
		for k > 0 && b[i] != p.text[k] {
			k = p.next[k-1]
		}
		if b[i] == p.text[k] {
			k++
		}
		if int(k) == len(p.text) {
			out = append(out, match{i + 1 - len(p.text), i + 1, p.label})
			k = p.next[k-1]
		}
	}
	return out
}

// begun is how many bytes at the end of b may be the beginning of p.
func (p *pattern) begun(b []byte) int {
	if most := len(p.text) - 1; len(b) > most {
		b = b[len(b)-most:]
	}
	k := int32(0)
	for _, c := range b {
		for k > 0 && c != p.text[k] {
			k = p.next[k-1]
		}
		if c == p.text[k] {
			k++
		}
		// b is shorter than the text, so that k never reaches its end.
	}
	return int(k)
}

func (p *pattern) wipe() {
	Wipe(p.text)
	p.text, p.next = nil, nil
}
