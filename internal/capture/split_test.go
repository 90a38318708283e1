package capture

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type piece struct {
	Text string
	More bool
}

// splitInReads splits data that arrives in reads of the given sizes (each at
// least 1; what is left is the last read).
func splitInReads(data []byte, sizes []byte, max int) (out []piece) {
	var rest []byte
	for len(data) > 0 {
		n := len(data)
		if len(sizes) > 0 {
			n = min(n, int(sizes[0])+1)
			sizes = sizes[1:]
		}
		seen := len(rest)
		b := append(bytes.Clone(rest), data[:n]...)
		data = data[n:]
		at := 0
		for at < len(b) {
			end, adv, more := next(b[at:], seen-at, max)
			if adv == 0 {
				break
			}
			out = append(out, piece{string(b[at : at+end]), more})
			at += adv
		}
		rest = b[at:]
	}
	for len(rest) > 0 {
		end, adv, more := last(rest, max)
		out = append(out, piece{string(rest[:end]), more})
		rest = rest[adv:]
	}
	return out
}

func TestSplit(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []piece
	}{
		"nothing":                 {"", nil},
		"a line":                  {"ab\n", []piece{{"ab", false}}},
		"empty lines":             {"\n\n", []piece{{"", false}, {"", false}}},
		"no line end":             {"ab\ncd", []piece{{"ab", false}, {"cd", false}}},
		"CR LF":                   {"ab\r\ncd\r\n", []piece{{"ab", false}, {"cd", false}}},
		"only one CR":             {"ab\r\r\n", []piece{{"ab\r", false}}},
		"CR within":               {"10%\r20%\n", []piece{{"10%\r20%", false}}},
		"CR at the end of all":    {"ab\r", []piece{{"ab\r", false}}},
		"lone CR LF":              {"\r\n", []piece{{"", false}}},
		"NUL":                     {"a\x00b\n", []piece{{"a\x00b", false}}},
		"full":                    {"12345678\n", []piece{{"12345678", false}}},
		"full with CR":            {"12345678\r\n", []piece{{"12345678", false}}},
		"full, no line end":       {"12345678", []piece{{"12345678", false}}},
		"one over":                {"123456789\n", []piece{{"12345678", true}, {"9", false}}},
		"one over, no line end":   {"123456789", []piece{{"12345678", true}, {"9", false}}},
		"twice full":              {"1234567812345678\n", []piece{{"12345678", true}, {"12345678", false}}},
		"full and two CR":         {"12345678\r\r\n", []piece{{"12345678", true}, {"\r", false}}},
		"a character at the cut":  {"1234567é9\n", []piece{{"1234567", true}, {"é9", false}}},
		"a character to the cut":  {"123456é9\n", []piece{{"123456é", true}, {"9", false}}},
		"four bytes at the cut":   {"12345😀\n", []piece{{"12345", true}, {"😀", false}}},
		"no characters at all":    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\n", []piece{{"\x80\x80\x80\x80\x80\x80\x80\x80", true}, {"\x80", false}}},
		"never a whole character": {"1234567\xf0\xf0\n", []piece{{"1234567", true}, {"\xf0\xf0", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sizes := range [][]byte{nil, make([]byte, 64), {1, 0, 2, 0, 1, 1, 1}} {
				if d := cmp.Diff(c.want, splitInReads([]byte(c.in), sizes, 8)); d != "" {
					t.Errorf("reads %v (-want +got)\n%s", sizes, d)
				}
			}
		})
	}
}

// checkSplit checks what must hold for any bytes in any reads.
func checkSplit(t *testing.T, data, sizes []byte, max int) {
	t.Helper()
	got := splitInReads(data, sizes, max)
	if d := cmp.Diff(splitInReads(data, nil, max), got); d != "" {
		t.Fatalf("the lines of %q depend on how it is read (-at once +in %v)\n%s", data, sizes, d)
	}
	var lines []string // put together again
	open := false
	for _, p := range got {
		if len(p.Text) > max {
			t.Fatalf("a piece of %d bytes, %d are allowed", len(p.Text), max)
		}
		if p.More && len(p.Text) < max-utf8.UTFMax+1 {
			t.Fatalf("split after %d bytes, %d are allowed", len(p.Text), max)
		}
		if open {
			if p.Text == "" {
				t.Fatal("an empty piece")
			}
			lines[len(lines)-1] += p.Text
		} else {
			lines = append(lines, p.Text)
		}
		open = p.More
	}
	if open {
		t.Fatal("the last piece has More set")
	}
	var want []string
	for s := string(data); s != ""; {
		line, rest, ended := strings.Cut(s, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		want = append(want, line)
		s = rest
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Fatalf("%q (-want +got)\n%s", data, d)
	}
	if utf8.Valid(data) {
		for _, p := range got {
			if !utf8.ValidString(p.Text) {
				t.Fatalf("a character torn in %q", p.Text)
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("ab\r\ncd\n\nef"), []byte{0, 1, 2}, byte(0))
	f.Add([]byte("12345678\r\n123456789"), []byte{8, 0, 0}, byte(4))
	f.Add([]byte("é😀é😀\r\r\n\x80\x80\x80\x80\x80\xff"), []byte{}, byte(1))
	f.Fuzz(func(t *testing.T, data, sizes []byte, max byte) {
		checkSplit(t, data, sizes, utf8.UTFMax+int(max%32))
	})
}

func TestSplitProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"\n", "\r", "\r\n", "a", "bc", "é", "😀", "\x00", "\xff", "\xe2\x82", "0123456"}
	for range 5000 {
		var data []byte
		for range rnd.IntN(30) {
			data = append(data, alphabet[rnd.IntN(len(alphabet))]...)
		}
		sizes := make([]byte, rnd.IntN(30))
		for i := range sizes {
			sizes[i] = byte(rnd.IntN(6))
		}
		checkSplit(t, data, sizes, utf8.UTFMax+rnd.IntN(12))
	}
}
