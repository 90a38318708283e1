package codec

import "testing"

func TestPrinted(t *testing.T) {
	for _, row := range []struct{ bytes, text string }{
		{"listening on port 8080\n", "listening on port 8080"},
		{"loading… done\n\x00\x00\x00\x05\x93", "loading… done"},
		{"half a line \x00\x00", "half a line"},
		{"abcd", ""}, // may well be the length of a frame
		{"\x00\x00\x00\x01", ""},
		{"", ""},
	} {
		text, ok := Printed([]byte(row.bytes))
		if ok != (row.text != "") || ok && text != row.text {
			t.Errorf("%q: %q, %v", row.bytes, text, ok)
		}
	}
}
