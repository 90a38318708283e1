package documents

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/hostsup/hostsup/workbench"
)

// Names of encodings, as VS Code has them.
const (
	utf8Name   = "utf8"
	utf8Marked = "utf8bom"
	utf16Low   = "utf16le"
	utf16High  = "utf16be"
	latin1     = "iso88591"
)

var utf8Mark = []byte("\xEF\xBB\xBF")

// decode returns the text of a file. name is an encoding or "", which means that a byte order mark
// decides, and UTF-8 without one. The encoding is the one in which the text must be saved.
func decode(data []byte, name string) (content, encoding string, err error) {
	low, high := bytes.HasPrefix(data, []byte("\xFF\xFE")), bytes.HasPrefix(data, []byte("\xFE\xFF"))
	if name == "" {
		switch {
		case low:
			name = utf16Low
		case high:
			name = utf16High
		default:
			name = utf8Name
		}
	}
	if name != utf16Low && name != utf16High && bytes.IndexByte(data[:min(512, len(data))], 0) >= 0 {
		return "", "", ErrBinary
	}
	switch name {
	case utf8Name, utf8Marked:
		if rest, marked := bytes.CutPrefix(data, utf8Mark); marked {
			return string(rest), utf8Marked, nil
		}
		return string(data), utf8Name, nil
	case utf16Low, utf16High:
		var order binary.ByteOrder = binary.LittleEndian
		if name == utf16High {
			order = binary.BigEndian
		}
		if low || high {
			data = data[2:]
		}
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = order.Uint16(data[2*i:])
		}
		return string(utf16.Decode(units)), name, nil
	case latin1:
		var b strings.Builder
		for _, c := range data {
			b.WriteRune(rune(c))
		}
		return b.String(), name, nil
	}
	return "", "", unknownEncoding(name)
}

func unknownEncoding(name string) error {
	return workbench.NotSupported("the encoding "+name, "utf8, utf8bom, utf16le, utf16be and iso88591 are")
}

// encode returns the bytes of a text.
func encode(content, name string) ([]byte, error) {
	switch name {
	case utf8Name:
		return []byte(content), nil
	case utf8Marked:
		return append(bytes.Clone(utf8Mark), content...), nil
	case utf16Low, utf16High:
		var order binary.AppendByteOrder = binary.LittleEndian
		if name == utf16High {
			order = binary.BigEndian
		}
		out := order.AppendUint16(nil, 0xFEFF)
		for _, u := range utf16.Encode([]rune(content)) {
			out = order.AppendUint16(out, u)
		}
		return out, nil
	case latin1:
		out := make([]byte, 0, len(content))
		for _, r := range content {
			if r > 0xFF {
				return nil, workbench.Invalid("%q is not in the encoding %s", r, name)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return nil, unknownEncoding(name)
}

// encodingMethods are what workspace.encode and workspace.decode ask: the host itself converts.
func encodingMethods() map[string]workbench.Method {
	type options struct{ Encoding string }
	named := func(c *workbench.Call, at int) (string, error) {
		var opt options
		out := make([]any, at+1)
		out[at] = &opt
		err := c.Args(out...)
		if opt.Encoding == "" {
			opt.Encoding = utf8Name
		}
		return opt.Encoding, err
	}
	return map[string]workbench.Method{
		"MainThreadWorkspace.$resolveEncoding": {Do: func(_ context.Context, c *workbench.Call) (any, error) {
			name, err := named(c, 1)
			marked := name == utf8Marked || name == utf16Low || name == utf16High
			return map[string]any{"encoding": name, "addBOM": marked}, err
		}},
		"MainThreadWorkspace.$resolveDecoding": {Do: func(_ context.Context, c *workbench.Call) (any, error) {
			name, err := named(c, 1)
			return map[string]any{"preferredEncoding": name, "guessEncoding": false, "candidateGuessEncodings": []string{}}, err
		}},
		"MainThreadWorkspace.$validateDetectedEncoding": {Do: func(_ context.Context, c *workbench.Call) (any, error) {
			var detected string
			if err := c.Args(nil, &detected); err != nil {
				return nil, err
			}
			// A byte order mark wins over what was asked for, as in VS Code.
			return detected, nil
		}},
	}
}
