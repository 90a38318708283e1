package capture

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 42000, time.UTC)
	prefix := appendPrefix(nil, at.UnixMicro(), 7, Stderr)
	for want, more := range map[string]bool{
		"2026-11-21T12:00:00.000042Z 7 err it broke\n":  false,
		"2026-11-21T12:00:00.000042Z 7 err+ it broke\n": true,
	} {
		if got := string(appendLine(nil, false, prefix, []byte("it broke"), more)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("2026-11-21T12:00:00.000000Z 7 out text"))
	f.Add([]byte("2026-11-21T12:00:00.000000Z 18446744073709551615 note+ a  b\xff\x00"))
	f.Add([]byte("2026-11-21T12:00:00.0000"))
	f.Add([]byte(`{"time":"2026-11-21T12:00:00.000000Z","life":7,"stream":"stderr","text":"a\\nb","more":true}`))
	f.Add([]byte("2026-11-21T12:00:00.000000Z 7 out"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p parser
		ln, ok := p.parse(b)
		if !ok {
			return
		}
		// A parsed line, written and parsed again, must stay the same.
		prefix, inJSON := appendPrefix(nil, ln.Time.UnixMicro(), ln.Life, ln.Stream), b[0] == '{'
		if inJSON {
			prefix = appendJSONPrefix(nil, ln.Time.UnixMicro(), "x", ln.Life, ln.Stream)
		}
		stored := appendLine(nil, inJSON, prefix, []byte(ln.Text), ln.More)
		again, ok := p.parse(stored[:len(stored)-1])
		if d := cmp.Diff(ln, again); !ok || d != "" {
			t.Fatalf("%q, then %q (-first +second)\n%s", b, stored, d)
		}
	})
}

// What is written as JSON is what encoding/json reads, and never longer than is counted on.
func FuzzQuoted(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c/d", "\x00\x1f\t\r\n", "\xff\xfe a\xc3", "é\u2028\U0001f600\ufffd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := appendQuoted(nil, b)
		var text string
		if err := json.Unmarshal(got, &text); err != nil || text != strings.ToValidUTF8(string(b), "\ufffd") && !strings.Contains(text, "\ufffd\ufffd") {
			t.Errorf("%q became %s and %q: %v", b, got, text, err)
		}
		if len(got) > maxEscaped*len(b)+2 {
			t.Errorf("%d bytes became %d", len(b), len(got))
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "x", "2026-11-21T12:00:00.000000Z", "2026-11-21T12:00:00.000000Z ", "2026-11-21T12:00:00.000000Z 7",
		"2026-11-21T12:00:00.000000Z 7 ", "2026-11-21T12:00:00.000000Z 7 out", "2026-11-21T12:00:00.000000Z x out t",
		"2026-11-21T12:00:00.000000Z 7 in t", "{}", `{"time":"x","stream":"note","text":""}`, `{"time":"2026-11-21T12:00:00.000000Z","text":""}`, "2026-13-21T12:00:00.000000Z 7 out t", strings.Repeat("a ", 40),
	} {
		var p parser
		if ln, ok := p.parse([]byte(s)); ok {
			t.Errorf("%q was read as %+v", s, ln)
		}
	}
}

func TestStreamText(t *testing.T) {
	for _, s := range []Stream{Stdout, Stderr, Note} {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again Stream
		if err := json.Unmarshal(b, &again); err != nil || again != s {
			t.Errorf("%v became %v by %s: %v", s, again, b, err)
		}
	}
	if b, err := json.Marshal(Stream(9)); err == nil {
		t.Errorf("an unknown stream became %s", b)
	}
	var s Stream
	if err := json.Unmarshal([]byte(`"stdin"`), &s); err == nil {
		t.Error("stdin is not a captured stream")
	}
}
