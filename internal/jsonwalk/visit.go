package jsonwalk

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Visitor receives the parts of a text from [Visit]. Names and strings are decoded
// as by [Bytes], and valid until the method returns.
type Visitor interface {
	Open(object bool) // an array or an object begins
	Close()           // the innermost one ends
	Key(name []byte)  // of the member whose value comes next
	Text(text []byte) // a string
	Other()           // any other value
}

// Visit calls v for every part of a value, in one pass and without recursion. It
// calls v for each of several members with the same name.
func Visit(value []byte, v Visitor) {
	var objects []bool // of the open containers
	name := false      // a string is the name of a member
	for i := 0; i < len(value); {
		switch c := value[i]; c {
		case '"':
			end := SkipText(value, i)
			if text := Bytes(value[i:end]); name {
				v.Key(text)
			} else {
				v.Text(text)
			}
			i, name = end, false
			continue
		case '{', '[':
			v.Open(c == '{')
			objects, name = append(objects, c == '{'), c == '{'
		case '}', ']':
			if len(objects) == 0 {
				return // the text was not checked
			}
			v.Close()
			objects, name = objects[:len(objects)-1], false
		case ',':
			name = len(objects) > 0 && objects[len(objects)-1]
		case ':', ' ', '\n', '\t', '\r':
		default:
			v.Other()
			i = max(Skip(value, i), i+1)
			continue
		}
		i++
	}
}

// Bytes decodes a string without replacing anything: bytes that are not UTF-8 stay,
// and a surrogate without a partner becomes the three bytes that UTF-8 would have
// for its number. The result may share memory with value. Bytes returns nil for a
// value of another kind.
func Bytes(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	inner := value[1 : len(value)-1]
	next := bytes.IndexByte(inner, '\\')
	if next < 0 {
		return inner
	}
	out := make([]byte, 0, len(inner))
	for ; next >= 0 && next+1 < len(inner); next = bytes.IndexByte(inner, '\\') {
		out = append(out, inner[:next]...)
		escape := inner[next+1]
		inner = inner[next+2:]
		if escape != 'u' {
			out = append(out, unescaped(escape))
			continue
		}
		unit := utf16At(inner)
		inner = inner[min(4, len(inner)):]
		if utf16.IsSurrogate(unit) && len(inner) >= 6 && inner[0] == '\\' && inner[1] == 'u' {
			if pair := utf16.DecodeRune(unit, utf16At(inner[2:])); pair != utf8.RuneError {
				out, inner = utf8.AppendRune(out, pair), inner[6:]
				continue
			}
		}
		if utf16.IsSurrogate(unit) {
			out = append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
			continue
		}
		out = utf8.AppendRune(out, unit)
	}
	return append(out, inner...)
}

// unescaped returns the character of a one-letter escape.
func unescaped(escape byte) byte {
	switch escape {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return escape
}

// utf16At reads four hexadecimal digits; it returns 0 for anything else.
func utf16At(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:min(4, len(digits))]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
