package capture

import (
	"bytes"
	"unicode/utf8"
)

// next finds the first line of b. end is the length of its text, and adv the number of
// bytes with its line end; adv is 0 if b does not hold a whole line yet. The first
// seen bytes of b are known to hold no LF.
//
// The result depends on the bytes alone, not on how reads split them: a line is split
// only once max+2 bytes of it have arrived, because a CR and an LF that end the line
// may still follow max bytes of text.
func next(b []byte, seen, max int) (end, adv int, more bool) {
	window := b[:min(len(b), max+2)]
	if seen = min(seen, len(window)); seen < 0 {
		seen = 0
	}
	i := bytes.IndexByte(window[seen:], '\n')
	if i < 0 {
		if len(window) < max+2 {
			return 0, 0, false
		}
		end = cut(b, max)
		return end, end, true
	}
	end = seen + i
	adv = end + 1
	if end > 0 && b[end-1] == '\r' {
		end--
	}
	if end > max {
		end = cut(b, max)
		return end, end, true
	}
	return end, adv, false
}

// last is next for the end of a stream: the rest is a line.
func last(b []byte, max int) (end, adv int, more bool) {
	if len(b) > max {
		end = cut(b, max)
		return end, end, true
	}
	return len(b), len(b), false
}

// cut returns where to split b, which has more than max bytes: at max, or before a
// character that max would tear. It examines no byte past max.
func cut(b []byte, max int) int {
	for i := max - 1; i > 0 && i >= max-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:max]) {
				return i
			}
			break
		}
	}
	return max
}
