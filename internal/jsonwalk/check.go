package jsonwalk

import (
	"errors"
	"fmt"
	"math"
)

// MaxDepth is how deep arrays and objects may lie in each other.
const MaxDepth = 500

// ErrDepth is the cause when a text is deeper than [MaxDepth].
var ErrDepth = errors.New("nested too deep")

// SyntaxError says where a text is not JSON.
type SyntaxError struct {
	Offset int    // of the byte that does not fit, from 0
	Want   string // what was expected there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("offset %d: %s expected", e.Offset, e.Want)
}

// Check says whether data is one JSON value with nothing but white space
// around it. The error is a *[SyntaxError], or wraps [ErrDepth].
// Every string that is a value, and no name, is handed to each with its
// quotes; each may be nil.
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

// Space returns where the white space ends that may be at i.
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
