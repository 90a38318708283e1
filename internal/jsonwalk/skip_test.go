package jsonwalk

import (
	"encoding/json"
	"testing"
)

// Skip must end where a decoder ends, whatever follows the value.
func TestSkipEndsWhereADecoderEnds(t *testing.T) {
	for _, value := range []string{
		`""`, `"a"`, `"\""`, `"\\"`, `"]}"`, `1`, `-1.5e+3`, `true`, `null`, `[]`, `{}`, `[[],{}]`, `{"a":["]",{"b\"}":"}"}],"c":1}`, `[1 , 2 ]`,
	} {
		for _, behind := range []string{"", " ", ",1", "]", "}", "\n]"} {
			text := []byte(` ` + value + behind)
			at := Space(text, 0)
			if end := Skip(text, at); string(text[at:end]) != value {
				t.Errorf("%s: %q", text, text[at:end])
			}
			if value[0] == '"' && SkipText(text, at) != at+len(value) {
				t.Errorf("%s: the string ends at %d", text, SkipText(text, at))
			}
		}
	}
	if n := Space([]byte(" \t\r\n"), 0); n != 4 {
		t.Errorf("%d", n)
	}
}

func TestAppendText(t *testing.T) {
	for _, text := range []string{"", "a", "é", "\"\\\n\x00", "<&>", "\u2028", "\xff"} {
		var back string
		out := AppendText([]byte("x"), text)
		if err := json.Unmarshal(out[1:], &back); err != nil || out[0] != 'x' {
			t.Errorf("%q: %s, %v", text, out, err)
		}
		if want := string([]rune(text)); back != want {
			t.Errorf("%q: %q", text, back)
		}
	}
}
