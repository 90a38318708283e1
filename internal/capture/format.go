package capture

import (
	"bytes"
	"strconv"
	"time"
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

// appendLine appends a whole line of a file. prefix is appendPrefix's.
func appendLine(b, prefix, text []byte, more bool) []byte {
	if more {
		b = append(b, prefix[:len(prefix)-1]...)
		b = append(b, "+ "...)
	} else {
		b = append(b, prefix...)
	}
	b = append(b, text...)
	return append(b, '\n')
}

// parser reads lines of files. It caches the last time it parsed, because the lines
// of one read share theirs.
type parser struct {
	stamp [len(stampLayout)]byte
	time  time.Time
}

// parse reads one line without its LF. ok is false for a line that is not in the
// format, such as one torn by the end of a supervisor or edited by hand.
func (p *parser) parse(b []byte) (ln Line, ok bool) {
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
