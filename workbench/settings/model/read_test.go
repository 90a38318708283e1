package model

import (
	"encoding/json"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// What is taken out changes neither what is JSON already nor the places of the
// rest.
func FuzzWithoutComments(f *testing.F) {
	for _, s := range []string{`{"a":[1,2]}`, `{"a": "\\\"//", /* x`, "[1,//x\n]", `"`, `/`, `{"a":1,,}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := WithoutComments(text)
		if len(out) != len(text) {
			t.Fatalf("%d bytes of %d", len(out), len(text))
		}
		for i, b := range out {
			if b != text[i] && b != ' ' {
				t.Fatalf("%q at %d", b, i)
			}
			if text[i] == '\n' && b != '\n' {
				t.Fatalf("a line ends no longer at %d", i)
			}
		}
		if json.Valid(text) && string(out) != string(text) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
