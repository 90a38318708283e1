package jsonwalk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind byte

// The kinds of values. None stands for a missing value.
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

// KindOf returns the kind of a value by its first byte.
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

// Object calls each with the members of an object in their order, until each
// returns false. The name is decoded; the value is a slice of the text. A value that
// is not an object has no members.
func Object(value []byte, each func(name string, value []byte) bool) {
	members(value, func(name, value []byte) bool { return each(Text(name), value) })
}

// members is Object with the names as they are written, in quotes.
func members(value []byte, each func(name, value []byte) bool) {
	if i := Space(value, 0); at(value, i) == '{' {
		object(value, i, each)
	}
}

// object walks over the object that begins at i. It returns where the object ends,
// or where each stopped the walk.
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

// Strings calls each with the strings that the objects of a list have as the member
// name. list may be a list of objects or one object; values that are not objects,
// and members that are not strings, are skipped. Duplicate members all count.
func Strings(list []byte, name string, each func(text string)) {
	pick := func(n, v []byte) bool {
		if at(v, 0) == '"' && nameIs(n, name) {
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

// Array calls each with the elements of an array in their order, until each returns
// false. A value that is not an array has no elements.
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

// Text decodes a string; it returns "" for a value of another kind. A surrogate
// without a partner becomes U+FFFD.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		if !utf8.Valid(inner) {
			return string([]rune(string(inner))) // json has it/json has it
		}
		return string(inner)
	}
	var out string
	if json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// Member returns the value of a member of an object: the last of duplicates, or nil
// if there is no such member.
func Member(value []byte, name string) []byte {
	var found []byte
	members(value, func(n, v []byte) bool {
		if nameIs(n, name) {
			found = v
		}
		return true
	})
	return found
}

// nameIs reports whether written, in quotes, decodes to name. It avoids decoding
// where it can.
func nameIs(written []byte, name string) bool {
	if len(written) == len(name)+2 && string(written[1:len(written)-1]) == name {
		return true
	}
	// Escapes make the written form longer, and so may replacing invalid UTF-8.
	return (bytes.IndexByte(written, '\\') >= 0 || !utf8.Valid(written)) && Text(written) == name
}

// Find follows a dotted path of names and, in arrays, indexes from 0. It returns nil
// if the path leads nowhere.
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

// Skip returns the end of the value that begins at i. It knows only strings and
// brackets, which is enough for checked texts.
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

// The effects of a byte outside of strings on a value.
const (
	quote = iota + 1
	opens
	closes
	ends
)

var class = [256]byte{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes, ',': ends, ':': ends, ' ': ends, '\n': ends, '\t': ends, '\r': ends}

// SkipText returns the end of the string that begins at i.
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

// AppendText appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
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
	if err != nil { // every string can be encoded
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}
