package wire

import (
	"encoding/base64"
	"fmt"
	"slices"
)

// Base64Error says where text is no standard base64 with padding.
type Base64Error string

// Error reads "Invalid symbol 33, offset 0.".
func (e Base64Error) Error() string { return string(e) }

// strict refuses leftover bits, but passes over line breaks, which are looked
// for apart.
var strict = base64.StdEncoding.Strict()

// DecodeBase64 decodes standard base64 with padding and nothing else. The error
// is a Base64Error.
func DecodeBase64(in []byte) ([]byte, error) {
	out := make([]byte, strict.DecodedLen(len(in)))
	n, err := strict.Decode(out, in)
	if err == nil && len(in)%4 == 0 {
		// The decoder passes over line breaks; with n as it must be there are none.
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

func whyNotBase64(in []byte) Base64Error {
	if last := len(in) - 1; len(in)%4 == 1 && value(in[last]) < 0 && in[last] != '=' { // a line break, most of the time
		return Base64Error(fmt.Sprintf("Invalid symbol %d, offset %d.", in[last], last))
	}
	for i, c := range in {
		if value(c) >= 0 {
			continue
		}
		if c == '=' {
			rest := len(in) - i
			onlyPadding := true
			for _, p := range in[i:] {
				onlyPadding = onlyPadding && p == '='
			}
			if onlyPadding && i%4 >= 2 && i >= (len(in)-1)/4*4 {
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

func value(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}

// AppendBase64 appends data as standard base64 with padding.
func AppendBase64(b, data []byte) []byte {
	n, m := len(b), base64.StdEncoding.EncodedLen(len(data))
	b = slices.Grow(b, m)[:n+m]
	encode64(b[n:], data)
	return b
}
