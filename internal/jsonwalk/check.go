package jsonwalk

import (
	"errors"
	"fmt"
	"math"
)

// MaxDepth bounds the nesting of arrays and objects.
const MaxDepth = 500

// ErrDepth means that a text is nested deeper than [MaxDepth].
var ErrDepth = errors.New("nested too deep")

// SyntaxError reports where a text is not JSON.
type SyntaxError struct {
	Offset int    // of the unexpected byte, from 0
	Want   string // what was expected at Offset
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("offset %d: %s expected", e.Offset, e.Want)
}

// Check reports whether data is one JSON value, surrounded by nothing but white
// space. The error is a *[SyntaxError], or wraps [ErrDepth]. Check calls each,
// unless it is nil, for every string that is a value, but not for names; start and
// end include the quotes.
func Check(data []byte, each func(start, end int)) error {
	s := Scanner{B: data, Left: math.MaxInt, Depth: MaxDepth, String: len(data), lax: true, each: each}
	s.Space()
	switch s.Value(0) {
	case OK:
	case TooDeep:
		return fmt.Errorf("offset %d: %w", s.Pos, ErrDepth)
	default:
		return &SyntaxError{s.where, s.want}
	}
	if s.Space(); s.Pos != len(data) {
		return &SyntaxError{s.Pos, "end of text"}
	}
	return nil
}

// Space returns the index of the first byte at or after i that is not white space.
func Space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

func at(data []byte, i int) byte {
	if i < len(data) {
		return data[i]
	}
	return 0
}
