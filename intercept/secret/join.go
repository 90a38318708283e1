package secret

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Join makes one name of several parts, which may be any texts: with slashes
// between them, and in place of each byte that a name cannot have, of a slash and
// of a colon, a colon and two digits. [Split] is the way back. The name may be too
// long, and the first part has to begin with a letter or digit; see [CheckName].
func Join(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('/')
		}
		for _, c := range []byte(part) {
			switch {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, ":%02x", c)
			}
		}
	}
	return b.String()
}

// Split returns the parts of which [Join] has made a name; false if it has not.
func Split(name string) (parts []string, ok bool) {
	for part := range strings.SplitSeq(name, "/") {
		var b strings.Builder
		for {
			plain, rest, coded := strings.Cut(part, ":")
			b.WriteString(plain)
			if !coded {
				break
			}
			if len(rest) < 2 {
				return nil, false
			}
			c, err := hex.DecodeString(rest[:2])
			if err != nil {
				return nil, false
			}
			b.Write(c)
			part = rest[2:]
		}
		parts = append(parts, b.String())
	}
	return parts, Join(parts...) == name
}
