package search

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/hostsup/hostsup/workbench"
)

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// toText returns bytes as text: U+FFFD stands for each that is wrong.
func toText(b []byte) string { return string([]rune(string(b))) }

func utf16Of(s string) []uint16 { return utf16.Encode([]rune(s)) }

func textOf(units []uint16) string { return string(utf16.Decode(units)) }

// charset is the encoding of files; the zero value is UTF-8. A byte order mark wins over it.
type charset struct {
	label string // of the WHATWG, which ripgrep knows too
	enc   encoding.Encoding
}

var codePage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(windows|cp|utf|iso8859|koi8)-?([0-9]+)?(.*)$`) })

// newCharset finds an encoding by its name in VS Code, such as utf16le or windows1252.
func newCharset(name string) (charset, error) {
	lower := strings.ToLower(name)
	if lower == "" || lower == "utf8" || lower == "utf8bom" || lower == "utf-8" {
		return charset{}, nil
	}
	label := map[string]string{
		"shiftjis": "shift_jis", "eucjp": "euc-jp", "euckr": "euc-kr", "big5hkscs": "big5", "macroman": "macintosh",
		"koi8r": "koi8-r", "koi8u": "koi8-u", "cp866": "ibm866",
	}[lower]
	if label == "" {
		label = lower
		if m := codePage().FindStringSubmatch(lower); m != nil {
			label = m[1] + "-" + m[2] + m[3]
			label = strings.Replace(label, "iso8859", "iso-8859", 1)
		}
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return charset{}, workbench.NotSupported("the encoding "+name, "it is not one that browsers have")
	}
	return charset{label, enc}, nil
}

// decode returns the text of a file in UTF-8, without its byte order mark; false if it is binary.
func (c charset) decode(content []byte) ([]byte, bool) {
	enc := c.enc
	switch {
	case bytes.HasPrefix(content, []byte("\xef\xbb\xbf")):
		content, enc = content[3:], nil
	case bytes.HasPrefix(content, []byte("\xff\xfe")):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(content, []byte("\xfe\xff")):
		enc = unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	}
	if enc != nil {
		text, err := enc.NewDecoder().Bytes(content)
		if err != nil {
			return nil, false
		}
		content = text
	}
	return content, bytes.IndexByte(content, 0) < 0
}
