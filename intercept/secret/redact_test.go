package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func holding(t *testing.T, values ...string) *Redactor {
	t.Helper()
	r := NewRedactor(0)
	t.Cleanup(r.Close)
	for i, v := range values {
		r.Hold(fmt.Sprintf("n%d", i), []byte(v))
	}
	return r
}

func TestRedact(t *testing.T) {
	r := holding(t, "abcabd", "cabdxyz", "aaaa", `q"u\o/t é<`)
	for _, test := range [][2]string{
		{"", ""},
		{"nothing here", "nothing here"},
		{"abcabd", "[redacted: n0]"},
		{"x abcabcabd y abcabd.", "x abc[redacted: n0] y [redacted: n0]."},
		{"abcabdxyz!", "[redacted: n0]!"}, // two that overlap
		{"aaa", "aaa"},
		{"aaaaaaaaaab", "[redacted: n2]b"},
		{`say q"u\o/t é<`, "say [redacted: n3]"},
		{"abcab", "abcab"},
		{"\xff\x00abcabd\xff", "\xff\x00[redacted: n0]\xff"},
	} {
		if got := r.String(test[0]); got != test[1] {
			t.Errorf("%q: %q, want %q", test[0], got, test[1])
		}
		if got := r.Bytes([]byte(test[0])); string(got) != test[1] {
			t.Errorf("%q: bytes %q, want %q", test[0], got, test[1])
		}
	}
	b := []byte("nothing here")
	if got := r.Bytes(b); &got[0] != &b[0] {
		t.Error("what has nothing in it was copied")
	}
	var none *Redactor
	none.Hold("x", []byte("value"))()
	if none.Active() || none.String("value") != "value" {
		t.Error("nobody redacts")
	}
}

// Values are found in the forms in which they are usually passed on.
func TestForms(t *testing.T) {
	for _, value := range []string{"hunter2-hunter2", `p@ss "word" \ <é&ü> 100%/+`, "tok-\U0001F600-en+/=?", "two\nlines of it", "a\ttab and \x01"} {
		r := holding(t, value)
		j, _ := json.Marshal(value)
		var plain bytes.Buffer
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		texts := []string{
			value, string(j), plain.String(), fmt.Sprintf("%q", value), fmt.Sprintf("%+q", value),
			url.QueryEscape(value), url.PathEscape(value), (&url.URL{Scheme: "https", User: url.UserPassword("me", value), Host: "h"}).String(),
			strings.ToLower(url.QueryEscape("/")) + string(lowerHex(url.QueryEscape(value))),
		}
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			for _, before := range []string{"", "a", "ab", "abc", "user:"} {
				for _, behind := range []string{"", "a", "ab", "abc"} {
					texts = append(texts, enc.EncodeToString([]byte(before+value+behind)))
				}
			}
		}
		for _, text := range texts {
			if got := r.String("x" + text + "y"); !strings.Contains(got, "[redacted: n0]") {
				t.Errorf("%q is not found in %q: %q", value, text, got)
			}
		}
	}
	// Of a value with several lines each is looked for.
	r := holding(t, "-----BEGIN KEY-----\r\nMIIEvQIBADANBg\nx\n-----END KEY-----\n")
	if got := r.String("MIIEvQIBADANBg"); got != "[redacted: n0]" {
		t.Error(got)
	}
	if got := r.String("x"); got != "x" {
		t.Error(got)
	}
}

func TestRedactJSON(t *testing.T) {
	r := holding(t, "hunter2", "123456")
	for _, test := range [][2]string{
		{`{"a":1.50,"b":[true,null,"x"]}`, `{"a":1.50,"b":[true,null,"x"]}`},
		{`{"a":"say hunter2!"}`, `{"a":"say [redacted: n0]!"}`},
		{`{"a":"say \u0068unter2!"}`, `{"a":"say [redacted: n0]!"}`},
		{`{"hunter2":1,"b":[123456,"<"]}`, `{"[redacted: n0]":1,"b":["[redacted: n1]","<"]}`},
		{`not JSON`, `not JSON`},
		{`not JSON: hunter2`, `"not JSON: [redacted: n0]"`},
	} {
		got := r.JSON([]byte(test[0]))
		if string(got) != test[1] && !sameJSON(got, []byte(test[1])) {
			t.Errorf("%s: %s, want %s", test[0], got, test[1])
		}
	}
	for _, test := range [][2]any{
		{"hunter2", "[redacted: n0]"}, {errors.New("it is hunter2"), "it is [redacted: n0]"}, {[]string{"a", "hunter2"}, "a [redacted: n0]"},
		{[]byte("hunter2"), "[redacted: n0]"}, {7, 7}, {time.Second, time.Second}, {url.UserPassword("a", "hunter2"), "a:[redacted: n0]"}, {nil, nil},
	} {
		if got := r.Value(test[0]); fmt.Sprint(got) != fmt.Sprint(test[1]) {
			t.Errorf("%v: %v", test[0], got)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// A value is held as often as it was given to somebody, and for a while longer,
// then wiped.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRedactor(time.Minute)
		first, second := r.Hold("n", []byte("hunter2")), r.Hold("n", []byte("hunter2"))
		texts := []([]byte){}
		for _, p := range r.patterns {
			texts = append(texts, p.text)
		}
		first()
		first()
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if r.String("hunter2") != "[redacted: n]" {
			t.Error("it is let go with the first")
		}
		second()
		time.Sleep(59 * time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if r.String("hunter2") != "[redacted: n]" {
			t.Error("it is let go at once")
		}
		again := r.Hold("n", []byte("hunter2"))
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if !r.Active() {
			t.Error("a value that was given again is let go")
		}
		again()
		time.Sleep(time.Minute + time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if r.Active() || r.String("hunter2") != "hunter2" {
			t.Error("it is still held")
		}
		for _, text := range texts {
			if !bytes.Equal(text, make([]byte, len(text))) {
				t.Errorf("%q is still in memory", text)
			}
		}
		r.Hold("n", []byte("hunter2"))()
		r.Close()
		r.Close()
		r.Hold("n", []byte("hunter2"))
		if r.Active() {
			t.Error("closed, and holding")
		}
	})
}

func TestRedactConcurrent(t *testing.T) {
	r := NewRedactor(0)
	r.Hold("all", []byte("always held"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			own := fmt.Sprintf("value of %d", i)
			for range 200 {
				release := r.Hold("own", []byte(own))
				if got := r.String(own + " always held"); got != "[redacted: own] [redacted: all]" {
					t.Error(got)
				}
				release()
			}
		})
	}
	all.Wait()
	r.Close()
}

// However a text is cut into pieces, no value that is in it comes out, and
// nothing else is lost.
func FuzzStream(f *testing.F) {
	f.Add("hunter2", "hunter2hunter2", "xhunterhunter2hunter2y\nhunt", uint8(3))
	f.Add("abcabd", "cabdabcabd", "abcabcabdabcabd\r\n", uint8(1))
	f.Add("aaaa", "aaab", "aaaaaaaaab", uint8(2))
	f.Fuzz(func(t *testing.T, one, two, text string, cut uint8) {
		if CheckValue([]byte(one)) != nil || CheckValue([]byte(two)) != nil || strings.Contains(one+two, "\n") || len(text) > 1<<12 {
			return
		}
		if strings.ContainsAny(one+two, "[]") || strings.Contains("redacted: ", one) || strings.Contains("redacted: ", two) {
			return // it would be found in what stands in its place
		}
		r := NewRedactor(0)
		defer r.Close()
		r.Hold("", []byte(one))
		r.Hold("", []byte(two))
		size := int(cut)%9 + 1
		var out, held []byte
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			piece := append(bytes.Clone(held), rest[:n]...)
			got, left := r.Stream(piece)
			out = append(out, got...)
			held, rest = bytes.Clone(piece[len(piece)-left:]), rest[n:]
		}
		out = append(out, r.Bytes(held)...)
		clean := strings.ReplaceAll(string(out), Label(""), "\n")
		for _, v := range []string{one, two} {
			if strings.Contains(clean, v) {
				t.Fatalf("%q comes out of %q in pieces of %d: %q", v, text, size, out)
			}
		}
		if !strings.Contains(string(out), Label("")) && string(out) != text {
			t.Fatalf("%q became %q", text, out)
		}
		if strings.Contains(text, one) != bytes.Contains(r.Bytes([]byte(text)), []byte(Label(""))) && !strings.Contains(string(out), Label("")) {
			t.Fatalf("%q: %q is not found in one piece", text, one)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	text := bytes.Repeat([]byte("a line of a log that a language server may well print, 0123456789\n"), 1000)
	for _, n := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := NewRedactor(0)
			defer r.Close()
			for i := range n {
				r.Hold("n", fmt.Appendf(nil, "ghp_16C7e42F292c6912E7710c838347Ae178B4%d", i))
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Stream(text)
			}
		})
	}
}

// The one pass finds what a search for each pattern finds.
func FuzzMatcher(f *testing.F) {
	f.Add("hunter2|hunter22|unter2hunter2", "xhunter2hunter22unter2")
	f.Add("aaaa|aaab|bbbbbbbb", "aaabbbbbbbbaaaa")
	f.Fuzz(func(t *testing.T, list, text string) {
		var patterns []*pattern
		for p := range strings.SplitSeq(list, "|") {
			if len(p) >= MinValue && len(p) < 1<<10 {
				patterns = append(patterns, newPattern([]byte(p), nil))
			}
		}
		m := newMatcher(patterns)
		if m == nil {
			return
		}
		found := m.in([]byte(text))
		for _, p := range patterns {
			if want, got := strings.Contains(text, string(p.text)), slices.Contains(found, p); want != got {
				t.Fatalf("%q in %q: %v, %v", p.text, text, got, want)
			}
		}
	})
}

// A host cannot make a search for its secret slow by what it prints.
func TestSlowText(t *testing.T) {
	value := strings.Repeat("a", MaxValue-1) + "b"
	r := holding(t, value)
	text := bytes.Repeat([]byte("a"), 1<<18)
	if got, left := r.Stream(text); len(got)+left != len(text) || left != MaxValue-1 {
		t.Errorf("%d and %d of %d bytes", len(got), left, len(text))
	}
	if got := r.matcher.in(text); len(got) != len(r.patterns) {
		t.Errorf("%d patterns of %d are left to be looked for", len(got), len(r.patterns))
	}
	text = append(text, 'b')
	if got := r.Bytes(text); len(got) != len(text)-len(value)+len(Label("n0")) {
		t.Errorf("%d bytes", len(got))
	}
}
