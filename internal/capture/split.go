package capture

import (
	"bytes"
	"unicode/utf8"
)

// next finds the first line of b. end is the length of its text and adv how
// many bytes it takes with its line end; adv is 0 when b does not hold a whole
// line yet. seen bytes at the start of b are known to hold no LF.
//
// The result depends on the bytes alone, not on how they were cut into reads:
// a line is split only once max+2 bytes of it are there, because max bytes of
// text may still be followed by a CR and an LF that end the line.
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

// last is next for the end of a stream: what is left is a line.
func last(b []byte, max int) (end, adv int, more bool) {
	if len(b) > max {
		end = cut(b, max)
		return end, end, true
	}
	return len(b), len(b), false
}

// cut returns where to split b, which has more than max bytes: at max, or
// before a character that would be torn there. It looks at no byte past max.
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
