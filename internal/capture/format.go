package capture

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// stampLayout is the time of a line in a file; its length never changes.
const stampLayout = "2006-01-02T15:04:05.000000Z"

// appendPrefix appends what precedes the text of a line in a file, including the
// space that ends it.
func appendPrefix(b []byte, micro int64, life uint64, s Stream) []byte {
	b = time.UnixMicro(micro).UTC().AppendFormat(b, stampLayout)
	b = append(b, ' ')
	b = strconv.AppendUint(b, life, 10)
	switch s {
	case Stdout:
		return append(b, " out "...)
	case Stderr:
		return append(b, " err "...)
	}
	return append(b, " note "...)
}

// appendJSONPrefix is appendPrefix for lines in JSON.
func appendJSONPrefix(b []byte, micro int64, host string, life uint64, s Stream) []byte {
	b = append(b, `{"time":"`...)
	b = time.UnixMicro(micro).UTC().AppendFormat(b, stampLayout)
	b = append(b, `","host":`...)
	b = appendQuoted(b, []byte(host))
	b = append(b, `,"life":`...)
	b = strconv.AppendUint(b, life, 10)
	b = append(b, `,"stream":"`...)
	b = append(b, s.String()...)
	return append(b, `","text":`...)
}

// Bounds of what a line in JSON takes: of one byte of text, and what follows the text,
// with its quotes.
const (
	maxEscaped = 6
	lineEnd    = len(`"",more":true}` + "\n\n")
)

// appendLine appends a whole line of a file. prefix is that of the format.
func appendLine(b []byte, json bool, prefix, text []byte, more bool) []byte {
	switch {
	case json:
		b = append(b, prefix...)
		b = appendQuoted(b, text)
		if more {
			b = append(b, `,"more":true`...)
		}
		return append(b, "}\n"...)
	case more:
		b = append(b, prefix[:len(prefix)-1]...)
		b = append(b, "+ "...)
	default:
		b = append(b, prefix...)
	}
	b = append(b, text...)
	return append(b, '\n')
}

// appendQuoted appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendQuoted(b, text []byte) []byte {
	b = append(b, '"')
	from := 0 // text up to here is in b
	for i := 0; i < len(text); {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(text[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, text[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if c < 0x20 {
				const hex = "0123456789abcdef"
				b = append(b, `\u00`...)
				b = append(b, hex[c>>4], hex[c&15])
			} else {
				b = append(b, `\ufffd`...)
			}
		}
		i++
		from = i
	}
	b = append(b, text[from:]...)
	return append(b, '"')
}

// parser reads lines of files. It caches the last time it parsed, because the lines
// of one read share theirs.
type parser struct {
	stamp [len(stampLayout)]byte
	time  time.Time
}

// parseJSON is parse for lines in JSON.
func (p *parser) parseJSON(b []byte) (ln Line, ok bool) {
	var in struct {
		Time   string
		Life   uint64
		Stream Stream
		Text   string
		More   bool
	}
	if json.Unmarshal(b, &in) != nil || in.Stream == 0 {
		return ln, false
	}
	t, err := time.Parse(stampLayout, in.Time)
	return Line{Time: t, Life: in.Life, Stream: in.Stream, Text: in.Text, More: in.More}, err == nil
}

// parse reads one line without its LF. ok is false for a line that is not in the
// format, such as one torn by the end of a supervisor or edited by hand.
func (p *parser) parse(b []byte) (ln Line, ok bool) {
	if len(b) > 0 && b[0] == '{' {
		return p.parseJSON(b)
	}
	if len(b) <= len(p.stamp) || b[len(p.stamp)] != ' ' {
		return ln, false
	}
	if stamp := b[:len(p.stamp)]; !bytes.Equal(stamp, p.stamp[:]) {
		t, err := time.Parse(stampLayout, string(stamp))
		if err != nil {
			return ln, false
		}
		copy(p.stamp[:], stamp)
		p.time = t
	}
	ln.Time = p.time
	life, b, ok := bytes.Cut(b[len(p.stamp)+1:], []byte{' '})
	if !ok {
		return ln, false
	}
	var err error
	if ln.Life, err = strconv.ParseUint(string(life), 10, 64); err != nil {
		return ln, false
	}
	tag, text, ok := bytes.Cut(b, []byte{' '})
	if !ok {
		return ln, false
	}
	tag, ln.More = bytes.CutSuffix(tag, []byte{'+'})
	switch string(tag) {
	case "out":
		ln.Stream = Stdout
	case "err":
		ln.Stream = Stderr
	case "note":
		ln.Stream = Note
	default:
		return ln, false
	}
	ln.Text = string(text)
	return ln, true
}
