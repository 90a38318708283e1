package denial

import (
	"strings"
)

// maxQuery is how many bytes of a message are checked for a DNS query.
const maxQuery = 512

// question returns the name whose addresses a DNS query asks for; false for any
// other message. It is strict, because b may be arbitrary bytes that a program
// sends anywhere.
func question(b []byte) (name string, ok bool) {
	const (
		head     = 12
		standard = 0x01 // recursion desired, and nothing else but checking and authentic data below
		typeA    = 1
		typeAAAA = 28
		internet = 1
	)
	if len(b) < head+6 || b[2] != standard || b[3]&^0x30 != 0 || // flags
		b[4] != 0 || b[5] != 1 || b[6] != 0 || b[7] != 0 || b[8] != 0 || b[9] != 0 || b[10] != 0 || b[11] > 1 { // counts
		return "", false
	}
	var labels []string
	rest := b[head:]
	for {
		if len(rest) == 0 {
			return "", false
		}
		n := int(rest[0])
		if n == 0 {
			rest = rest[1:]
			break
		}
		if n > 63 || len(rest) < 1+n {
			return "", false
		}
		label := string(rest[1 : 1+n])
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return "", false
		}
		labels = append(labels, label)
		rest = rest[1+n:]
	}
	if len(labels) == 0 || len(rest) < 4 || rest[0] != 0 || rest[1] != typeA && rest[1] != typeAAAA || rest[2] != 0 || rest[3] != internet {
		return "", false
	}
	if b[11] == 0 && len(rest) != 4 {
		return "", false
	}
	name = strings.ToLower(strings.Join(labels, "."))
	return name, len(name) <= 253
}
