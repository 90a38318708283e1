package jsonwalk

import (
	"errors"
	"fmt"
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
	c := checker{data: data, each: each}
	i, err := c.value(Space(data, 0), 0)
	if err != nil {
		return err
	}
	if i = Space(data, i); i != len(data) {
		return &SyntaxError{i, "end of text"}
	}
	return nil
}

type checker struct {
	data []byte
	each func(start, end int)
}

func (c *checker) value(i, depth int) (int, error) {
	if i >= len(c.data) {
		return i, &SyntaxError{i, "a value"}
	}
	switch b := c.data[i]; {
	case b == '"':
		end, err := c.text(i)
		if err == nil && c.each != nil {
			c.each(i, end)
		}
		return end, err
	case b == '{':
		return c.object(i, depth+1)
	case b == '[':
		return c.array(i, depth+1)
	case b == '-' || b >= '0' && b <= '9':
		return c.number(i)
	case b == 't':
		return c.word(i, "true")
	case b == 'f':
		return c.word(i, "false")
	case b == 'n':
		return c.word(i, "null")
	}
	return i, &SyntaxError{i, "a value"}
}

func (c *checker) object(i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, fmt.Errorf("offset %d: %w", i, ErrDepth)
	}
	i = Space(c.data, i+1)
	if at(c.data, i) == '}' {
		return i + 1, nil
	}
	for {
		if at(c.data, i) != '"' {
			return i, &SyntaxError{i, "a name in quotes"}
		}
		end, err := c.text(i)
		if err != nil {
			return end, err
		}
		i = Space(c.data, end)
		if at(c.data, i) != ':' {
			return i, &SyntaxError{i, "':'"}
		}
		if i, err = c.value(Space(c.data, i+1), depth); err != nil {
			return i, err
		}
		i = Space(c.data, i)
		switch at(c.data, i) {
		case ',':
			i = Space(c.data, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, &SyntaxError{i, "',' or '}'"}
		}
	}
}

func (c *checker) array(i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, fmt.Errorf("offset %d: %w", i, ErrDepth)
	}
	i = Space(c.data, i+1)
	if at(c.data, i) == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = c.value(i, depth); err != nil {
			return i, err
		}
		i = Space(c.data, i)
		switch at(c.data, i) {
		case ',':
			i = Space(c.data, i+1)
		case ']':
			return i + 1, nil
		default:
			return i, &SyntaxError{i, "',' or ']'"}
		}
	}
}

// text checks a string, from its quote on, and returns where it ends.
func (c *checker) text(i int) (int, error) {
	for j := i + 1; j < len(c.data); j++ {
		switch b := c.data[j]; {
		case b == '"':
			return j + 1, nil
		case b < 0x20:
			return j, &SyntaxError{j, "an escape for a control character"}
		case b == '\\':
			j++
			switch at(c.data, j) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					j++
					if !hex(at(c.data, j)) {
						return j, &SyntaxError{j, "a hexadecimal digit"}
					}
				}
			default:
				return j, &SyntaxError{j, "an escape"}
			}
		}
	}
	return len(c.data), &SyntaxError{len(c.data), "the end of a string"}
}

func (c *checker) number(i int) (int, error) {
	if c.data[i] == '-' {
		i++
	}
	switch b := at(c.data, i); {
	case b == '0':
		i++
	case b >= '1' && b <= '9':
		i = digits(c.data, i)
	default:
		return i, &SyntaxError{i, "a digit"}
	}
	if at(c.data, i) == '.' {
		if j := digits(c.data, i+1); j > i+1 {
			i = j
		} else {
			return j, &SyntaxError{j, "a digit"}
		}
	}
	if b := at(c.data, i); b == 'e' || b == 'E' {
		i++
		if b := at(c.data, i); b == '+' || b == '-' {
			i++
		}
		j := digits(c.data, i)
		if j == i {
			return j, &SyntaxError{j, "a digit"}
		}
		i = j
	}
	return i, nil
}

func (c *checker) word(i int, word string) (int, error) {
	if len(c.data)-i < len(word) || string(c.data[i:i+len(word)]) != word {
		return i, &SyntaxError{i, word}
	}
	return i + len(word), nil
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i] >= '0' && data[i] <= '9' {
		i++
	}
	return i
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

func hex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}
