package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
)

// Base64Error says where text is not standard base64 with padding.
type Base64Error string

// Error reads "Invalid symbol 33, offset 0.".
func (e Base64Error) Error() string { return string(e) }

// strict refuses leftover bits, but ignores line breaks, which DecodeBase64 has to
// look for.
var strict = base64.StdEncoding.Strict()

// DecodeBase64 decodes standard base64 with padding and nothing else. The error
// is a Base64Error.
func DecodeBase64(in []byte) ([]byte, error) {
	out := make([]byte, strict.DecodedLen(len(in)))
	n, err := strict.Decode(out, in)
	if err == nil && len(in)%4 == 0 {
		// The decoder ignores line breaks; there are none if n is as it must be.
		pad := 0
		for pad < 2 && pad < len(in) && in[len(in)-1-pad] == '=' {
			pad++
		}
		if n == len(in)/4*3-pad {
			return out[:n:n], nil
		}
	}
	return nil, whyNotBase64(in)
}

// whyNotBase64 words the error for text that the decoder has refused.
func whyNotBase64(in []byte) Base64Error {
	isLetter := func(c byte) bool {
		return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
	}
	if last := len(in) - 1; len(in)%4 == 1 && !isLetter(in[last]) && in[last] != '=' { // a line break, most of the time
		return Base64Error(fmt.Sprintf("Invalid symbol %d, offset %d.", in[last], last))
	}
	for i, c := range in {
		if isLetter(c) {
			continue
		}
		if c == '=' {
			rest := len(in) - i
			if len(bytes.Trim(in[i:], "=")) == 0 && i%4 >= 2 && i >= (len(in)-1)/4*4 {
				if rest == 4-i%4 {
					return Base64Error(fmt.Sprintf("Invalid last symbol %d, offset %d.", in[i-1], i-1))
				}
				return "Invalid padding"
			}
		}
		return Base64Error(fmt.Sprintf("Invalid symbol %d, offset %d.", c, i))
	}
	if len(in)%4 == 1 {
		return Base64Error(fmt.Sprintf("Invalid input length: %d", len(in)))
	}
	return "Invalid padding"
}

// AppendBase64 appends data as standard base64 with padding.
func AppendBase64(b, data []byte) []byte {
	n, m := len(b), base64.StdEncoding.EncodedLen(len(data))
	b = slices.Grow(b, m)[:n+m]
	encode64(b[n:], data)
	return b
}
