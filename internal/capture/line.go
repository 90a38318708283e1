package capture

import (
	"fmt"
	"time"
)

// MaxLine is the largest number of bytes in the text of a line. Longer lines
// are split.
const MaxLine = 64 << 10

// Stream is the source of a line. Its text form, also in JSON, is stdout, stderr or
// note.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
	Note   Stream = 3 // a remark of the supervisor, not output, see [Log.Note]
)

// String returns "stdout", "stderr" or "note".
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	case Note:
		return "note"
	}
	return fmt.Sprintf("stream(%d)", uint8(s))
}

// MarshalText returns the text form; an unknown stream is an error.
func (s Stream) MarshalText() ([]byte, error) {
	if s < Stdout || s > Note {
		return nil, fmt.Errorf("unknown stream %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads the text form.
func (s *Stream) UnmarshalText(b []byte) error {
	for _, k := range []Stream{Stdout, Stderr, Note} {
		if string(b) == k.String() {
			*s = k
			return nil
		}
	}
	return fmt.Errorf("unknown stream %q", b)
}

// Line is one captured line, without its line end. Lines over [MaxLine] are
// split.
type Line struct {
	// Seq counts the lines of a log from 1 without gaps. It is 0 for a line that
	// [Log.History] read from a file and whose number is unknown, for example of an
	// earlier run of the supervisor.
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"` // when its end was read; UTC, microseconds
	Life   uint64    `json:"life"`
	Stream Stream    `json:"stream"`
	Text   string    `json:"text"`           // as printed: may hold NUL, control bytes and invalid UTF-8
	More   bool      `json:"more,omitempty"` // split: the text continues in the stream's next line
	Lost   uint64    `json:"lost,omitempty"` // followers: lines missed just before this one
}
