package documents

import (
	"errors"
	"testing"
)

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ name, bytes, text, as string }{
		{"", "a é", "a é", utf8Name},
		{"", "\xEF\xBB\xBFa", "a", utf8Marked},
		{"", "\xFF\xFEa\x00\x3D\xD8\x00\xDE", "a😀", utf16Low},
		{"", "\xFE\xFF\x00a\xD8\x3D\xDE\x00", "a😀", utf16High},
		{latin1, "caf\xE9", "café", latin1},
	} {
		content, as, err := decode([]byte(c.bytes), c.name)
		if err != nil || content != c.text || as != c.as {
			t.Errorf("%q: %q in %s, %v", c.bytes, content, as, err)
		}
		if back, err := encode(content, as); err != nil || string(back) != c.bytes {
			t.Errorf("%q: back %q, %v", c.bytes, back, err)
		}
	}
	if _, _, err := decode([]byte("a\x00b"), ""); !errors.Is(err, ErrBinary) {
		t.Error(err)
	}
	if _, _, err := decode([]byte("a"), "shiftjis"); err == nil {
		t.Error("an encoding that is not there was used")
	}
	if _, err := encode("€", latin1); err == nil {
		t.Error("a character was lost")
	}
}

func TestSnippets(t *testing.T) {
	values := map[string]string{"TM_FILENAME": "a.go", "TM_SELECTED_TEXT": ""}
	for in, want := range map[string]expanded{
		"plain":                               {"plain", -1, 0, 5},
		"f($1, ${2:x})$0;":                    {"f(, x);", 2, 2, 6},
		"${1:a ${2:b} c} $1":                  {"a b c a b c", 0, 5, 11},
		"${1|one,two|}":                       {"one", 0, 3, 3},
		`${1|a\,b,c|}`:                        {"a,b", 0, 3, 3},
		`\$1 \} \\ $ {}`:                      {`$1 } \ $ {}`, -1, 0, 11},
		"$TM_FILENAME ${TM_FILENAME:no}":      {"a.go a.go", -1, 0, 9},
		"${TM_SELECTED_TEXT:else} ${UNKNOWN}": {"else UNKNOWN", -1, 0, 12},
		"${10:ten} ${9:nine}":                 {"ten nine", 4, 8, 8},
	} {
		got, err := snippet(in, values)
		if got.first < 0 {
			got.firstEnd = 0
		}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"${1:open", "${1|a", "${1/a/b/}"} {
		if out, err := snippet(in, nil); err == nil {
			t.Errorf("%s: %+v", in, out)
		}
	}
}
