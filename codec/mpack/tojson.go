package mpack

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
)

// ToJSON renders raw as one line of JSON. Maps keep their order and their
// duplicate keys. Integers are exact. A float always shows as one ("1.0");
// those JSON cannot say become "NaN", "Infinity" and "-Infinity". A bin is a
// base64 string, a timestamp an RFC 3339 string, any other extension
// {"$ext": type, "data": base64}. A key that is no string becomes its own JSON
// text as a string; an array, map or extension used as a key inside such a
// key becomes the base64 of its bytes, which keeps the output from growing
// with every level of quoting. Bytes that are not UTF-8 become U+FFFD.
//
// Raw is checked against the default limits first. The result takes at most
// about ten bytes for each of raw's.
func (Encoding) ToJSON(raw codec.Raw) ([]byte, error) {
	if len(raw) == 0 {
		return []byte("null"), nil
	}
	c := NewCursor(raw, codec.Limits{})
	if !c.Skip() || !c.End() {
		return nil, fmt.Errorf("render as JSON: %w", c.Err(""))
	}
	j := jsonWriter{walker: walker{b: raw}, out: make([]byte, 0, len(raw)+len(raw)/4+16)}
	j.value()
	return j.out, nil
}

// jsonWriter renders values whose bytes were checked. It recurses, within the
// depth that was checked.
type jsonWriter struct {
	walker
	out   []byte
	inKey bool
}

func (j *jsonWriter) value() {
	t := j.b[j.pos]
	switch kinds[t] {
	case kindNil:
		j.pos++
		j.out = append(j.out, "null"...)
	case kindBool:
		j.pos++
		j.out = strconv.AppendBool(j.out, t == 0xc3)
	case kindInt:
		if v, neg := j.int(); neg {
			j.out = strconv.AppendInt(j.out, int64(v), 10)
		} else {
			j.out = strconv.AppendUint(j.out, v, 10)
		}
	case kindFloat:
		bits := 64
		if t == 0xca {
			bits = 32
		}
		j.out = appendFloat(j.out, j.float(), bits)
	case kindStr:
		_, payload := j.payload()
		j.out = appendQuoted(j.out, payload)
	case kindBin:
		_, payload := j.payload()
		j.base64(payload)
	case kindArray:
		j.out = append(j.out, '[')
		for i := range j.open() {
			if i > 0 {
				j.out = append(j.out, ',')
			}
			j.value()
		}
		j.out = append(j.out, ']')
	case kindMap:
		j.out = append(j.out, '{')
		for i := range j.open() {
			if i > 0 {
				j.out = append(j.out, ',')
			}
			j.key()
			j.out = append(j.out, ':')
			j.value()
		}
		j.out = append(j.out, '}')
	default:
		j.ext()
	}
}

func (j *jsonWriter) ext() {
	typ, payload := j.payload()
	if typ == timestamp {
		if at, is := parseTime(payload); is {
			j.out = append(j.out, '"')
			j.out = at.AppendFormat(j.out, time.RFC3339Nano)
			j.out = append(j.out, '"')
			return
		}
	}
	j.out = append(j.out, `{"$ext":`...)
	j.out = strconv.AppendInt(j.out, int64(typ), 10)
	j.out = append(j.out, `,"data":`...)
	j.base64(payload)
	j.out = append(j.out, '}')
}

func (j *jsonWriter) base64(p []byte) {
	j.out = append(j.out, '"')
	j.out = base64.StdEncoding.AppendEncode(j.out, p)
	j.out = append(j.out, '"')
}

// key writes the next value as the name of a member.
func (j *jsonWriter) key() {
	switch k := kinds[j.b[j.pos]]; {
	case k == kindStr:
		_, payload := j.payload()
		j.out = appendQuoted(j.out, payload)
		return
	case j.inKey && (k == kindArray || k == kindMap || k == kindExt):
		from := j.pos
		j.skip()
		j.base64(j.b[from:j.pos])
		return
	}
	inner := jsonWriter{walker: j.walker, inKey: true}
	inner.value()
	j.pos = inner.pos
	if inner.out[0] == '"' { // a bin, a timestamp, NaN: quoted, nothing to escape
		j.out = append(j.out, inner.out...)
		return
	}
	j.out = appendQuoted(j.out, inner.out)
}

func appendFloat(out []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(out, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(out, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(out, `"-Infinity"`...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(out, v, 'e', -1, bits)
	}
	from := len(out)
	out = strconv.AppendFloat(out, v, 'f', -1, bits)
	for _, c := range out[from:] {
		if c == '.' {
			return out
		}
	}
	return append(out, ".0"...)
}

// appendQuoted writes s as a JSON string.
func appendQuoted(out, s []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			out = append(out, s[from:i]...)
			switch c {
			case '"', '\\':
				out = append(out, '\\', c)
			case '\n':
				out = append(out, `\n`...)
			case '\r':
				out = append(out, `\r`...)
			case '\t':
				out = append(out, `\t`...)
			default:
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			out = append(out, s[from:i]...)
			out = append(out, "\ufffd"...)
			i++
			from = i
			continue
		}
		i += size
	}
	out = append(out, s[from:]...)
	return append(out, '"')
}
