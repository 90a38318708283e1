package codec

import (
	"bytes"
	"strings"
	"unicode"
)

// Printed returns the text that somebody printed where frames belong, if that is
// what broke the protocol; b is that of a [FrameError]. Frames may follow the text.
func Printed(b []byte) (string, bool) {
	end := bytes.IndexFunc(b, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
	if end >= 0 {
		b = b[:end]
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 && end >= 0 {
		b = b[:i]
	}
	// Four printable bytes may well be the length of a frame.
	text := strings.TrimSpace(string(b))
	return text, len(text) > 4
}
