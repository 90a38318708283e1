package jsonwalk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is what a value is.
type Kind byte

// The kinds of values. None is no value at all.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

// String names the kind for people.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// KindOf tells the kind of a value by its first byte.
func KindOf(value []byte) Kind {
	switch at(value, Space(value, 0)) {
	case 0:
		return None
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return List
	case '{':
		return Map
	}
	return Number
}

// Object calls each with the members of an object in their order, until it
// returns false. The name is decoded, the value is a slice of the text. A
// value that is no object has no members.
func Object(value []byte, each func(name string, value []byte) bool) {
	members(value, func(name, value []byte) bool { return each(Text(name), value) })
}

// members is Object with the names as they are written, in quotes.
func members(value []byte, each func(name, value []byte) bool) {
	if i := Space(value, 0); at(value, i) == '{' {
		object(value, i, each)
	}
}

// object walks over the object that begins at i, and returns where it ends; or
// where it gave up, as each did.
func object(data []byte, i int, each func(name, value []byte) bool) int {
	for i = Space(data, i+1); at(data, i) == '"'; {
		end := SkipText(data, i)
		name := data[i:end]
		i = Space(data, end)
		if at(data, i) != ':' {
			return i
		}
		i = Space(data, i+1)
		end = Skip(data, i)
		if end == i || !each(name, data[i:end]) {
			return i
		}
		if i = Space(data, end); at(data, i) != ',' {
			break
		}
		i = Space(data, i+1)
	}
	return min(i+1, len(data))
}

// Strings calls each with the strings that the objects of a list have as a
// member of that name, one object or a list of them; what is no object or no
// string is left out. Of members of the same name each one counts.
func Strings(list []byte, name string, each func(text string)) {
	pick := func(n, v []byte) bool {
		if at(v, 0) == '"' && is(n, name) {
			each(Text(v))
		}
		return true
	}
	i := Space(list, 0)
	if at(list, i) == '{' {
		object(list, i, pick)
	}
	if at(list, i) != '[' {
		return
	}
	for i = Space(list, i+1); i < len(list) && list[i] != ']'; {
		var end int
		if list[i] == '{' {
			end = object(list, i, pick)
		} else {
			end = Skip(list, i)
		}
		if end == i {
			return
		}
		if i = Space(list, end); at(list, i) != ',' {
			return
		}
		i = Space(list, i+1)
	}
}

// Array calls each with the elements of an array in their order, until it
// returns false. A value that is no array has no elements.
func Array(value []byte, each func(value []byte) bool) {
	i := Space(value, 0)
	if at(value, i) != '[' {
		return
	}
	for i = Space(value, i+1); i < len(value) && value[i] != ']'; {
		end := Skip(value, i)
		if end == i || !each(value[i:end]) {
			return
		}
		if i = Space(value, end); at(value, i) != ',' {
			return
		}
		i = Space(value, i+1)
	}
}

// Text decodes a string; a value of another kind is "". A surrogate that has
// no partner becomes U+FFFD.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		if !utf8.Valid(inner) {
			return string([]rune(string(inner))) // each byte for itself, as encoding/json has it
		}
		return string(inner)
	}
	var out string
	if json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// Member returns the value of a member of an object, the last when there are
// several; nil when there is none.
func Member(value []byte, name string) []byte {
	var found []byte
	members(value, func(n, v []byte) bool {
		if is(n, name) {
			found = v
		}
		return true
	})
	return found
}

// is compares a name as it is written without decoding it, when it can.
func is(written []byte, name string) bool {
	if len(written) == len(name)+2 && string(written[1:len(written)-1]) == name {
		return true
	}
	// An escape can make it longer, and replacing what is no UTF-8, too.
	return (bytes.IndexByte(written, '\\') >= 0 || !utf8.Valid(written)) && Text(written) == name
}

// Find follows a dotted path of names and, in arrays, indexes from 0. It
// returns nil when there is nothing.
func Find(value []byte, path string) []byte {
	for value != nil && path != "" {
		var step string
		step, path, _ = strings.Cut(path, ".")
		if KindOf(value) != List {
			value = Member(value, step)
			continue
		}
		n, err := strconv.Atoi(step)
		if err != nil {
			return nil
		}
		var found []byte
		Array(value, func(v []byte) bool {
			if n == 0 {
				found = v
			}
			n--
			return n >= 0
		})
		value = found
	}
	return value
}

// Skip returns where the value that begins at i ends. It knows strings and
// brackets, which is enough for texts that were checked.
func Skip(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch class[data[i]] {
		case quote:
			i = SkipText(data, i)
			if depth == 0 {
				return i
			}
			continue
		case opens:
			depth++
		case closes:
			if depth == 0 {
				return i
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ends:
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// What a byte outside of strings does to a value.
const (
	quote = iota + 1
	opens
	closes
	ends
)

var class = [256]byte{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes, ',': ends, ':': ends, ' ': ends, '\n': ends, '\t': ends, '\r': ends}

// SkipText returns where the string that begins at i ends.
func SkipText(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}

// AppendText appends a text as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendText(dst []byte, text string) []byte {
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		c := text[i]
		plain = c >= ' ' && c != '"' && c != '\\'
	}
	if plain {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil { // there is no text that cannot be encoded
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}
