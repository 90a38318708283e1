package reports

import (
	"strings"
	"time"
)

// The longest name within an id, and the longest id that is accepted, in bytes.
const (
	maxName = 64
	maxID   = 128
)

// NewID returns an id for a report, such as 20261121-120305.042-ts-7: the time to the
// millisecond in UTC, then the name, which should be the host with the number of its
// life. Ids sort by time. They are unique unless a name occurs twice in a millisecond.
// Bytes of name other than A–Z a–z 0–9 . _ - become _, and it is cut to 64 bytes.
// [Store.Get] accepts any unique prefix of an id.
func NewID(name string, now time.Time) string {
	name = strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		name = "host"
	}
	return now.UTC().Format("20060102-150405.000-") + name[:min(len(name), maxName)]
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// valid reports whether an id can be a file name: it must stay in its folder and must
// not be hidden, as unfinished files are.
func valid(id string) bool {
	return id != "" && len(id) <= maxID && id[0] != '.' && strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) < 0
}
