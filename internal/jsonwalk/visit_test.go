package jsonwalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// recorder records the calls of Visit.
type recorder struct{ strings.Builder }

func (t *recorder) Open(object bool) { fmt.Fprintf(t, "open(%t) ", object) }
func (t *recorder) Close()           { t.WriteString("close ") }
func (t *recorder) Key(name []byte)  { fmt.Fprintf(t, "key(%q) ", name) }
func (t *recorder) Text(text []byte) { fmt.Fprintf(t, "text(%q) ", text) }
func (t *recorder) Other()           { t.WriteString("other ") }

func TestVisit(t *testing.T) {
	for text, want := range map[string]string{
		` "a" `:                      `text("a") `,
		`-1.5e3`:                     `other `,
		`[]`:                         `open(false) close `,
		`{"a":1,"a":{"b":["c",{}]}}`: `open(true) key("a") other key("a") open(true) key("b") open(false) text("c") open(true) close close close close `,
		` { "a\n" : [ null , true ] , "\u0062" : "" } `:                         `open(true) key("a\n") open(false) other other close key("b") text("") close `,
		`["\ud83d\ude00","\ud800","\udc80x","` + "\xff" + `","\/\\\"\b\f\r\t"]`: `open(false) text("😀") text("\xed\xa0\x80") text("\xed\xb2\x80x") text("\xff") text("/\\\"\b\f\r\t") close `,
		`["a"`: `open(false) text("a") `, `]`: ``, `"\`: `text("") `, `"\u12`: `text("\x01") `,
	} {
		var got recorder
		if Visit([]byte(text), &got); got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, &got, want)
		}
	}
	for _, text := range []string{"", "a", "é", "\"\\\n\x00", "<&>", "\u2028", "😀"} {
		written, err := json.Marshal(text)
		if got := Bytes(written); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
