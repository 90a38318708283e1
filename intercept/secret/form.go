package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// Least lengths of what is looked for besides a value itself: of an encoded
// form, and of a line of a value that has several. Shorter ones would be found
// where they are not.
const (
	minEncoded = 6
	minLine    = 8
)

// forms are the texts in which a value may come: as it is, as JSON, Go and URLs
// write it, and as it looks within base64. Output comes line by line, so a
// value of several lines is looked for that way too. All of it is new memory.
func forms(value []byte) [][]byte {
	var out [][]byte
	add := func(b []byte, least int) {
		if len(b) < least {
			return
		}
		for _, have := range out {
			if bytes.Equal(have, b) {
				return
			}
		}
		out = append(out, bytes.Clone(b))
	}
	add(value, 1)
	if bytes.IndexByte(value, '\n') >= 0 {
		for line := range bytes.Lines(value) {
			add(bytes.TrimRight(line, "\r\n"), minLine)
		}
	}
	text := string(value)
	for _, s := range []string{jsonForm(text, true), jsonForm(text, false), unquoted(strconv.Quote(text)), unquoted(strconv.QuoteToASCII(text))} {
		add([]byte(s), minEncoded)
	}
	for _, s := range []string{
		url.QueryEscape(text), url.PathEscape(text), strings.ReplaceAll(url.QueryEscape(text), "+", "%20"),
		strings.TrimPrefix(url.UserPassword("", text).String(), ":"),
	} {
		add([]byte(s), minEncoded)
		add(lowerHex(s), minEncoded)
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			add(within(enc, value, shift), minEncoded)
		}
	}
	return out
}

// within is what all base64 has in common in which the value stands behind a
// number of bytes that leaves shift when divided by three: the characters that
// depend on nothing but the value.
func within(enc *base64.Encoding, value []byte, shift int) []byte {
	padded := append(make([]byte, shift, shift+len(value)), value...)
	all := enc.AppendEncode(nil, padded)
	Wipe(padded)
	from, to := (shift*8+5)/6, len(padded)*8/6
	return all[from:to]
}

func jsonForm(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return ""
	}
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

func unquoted(s string) string {
	if len(s) < 2 {
		return ""
	}
	return s[1 : len(s)-1]
}

// lowerHex writes the digits of percent-encoding in lower case.
func lowerHex(s string) []byte {
	out := []byte(s)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], bytes.ToLower(out[i+1:i+3]))
		}
	}
	return out
}
