package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMinimalEdits(t *testing.T) {
	all := func(s string) []Edit { return []Edit{{Range{1, 1, 99, 1}, s}} }
	for _, c := range []struct {
		name, text string
		edits      []Edit
		want       string
	}{
		{"nothing", "a\nb\n", all("a\nb\n"), ""},
		{"a document with one line indented", "a {\nb\n}\n", all("a {\n  b\n}\n"), `2:1-2:1 "  "`},
		{"two places", "x=1\ny\nz=2\n", all("x = 1\ny\nz = 2\n"), `1:2-1:2 " " 1:3-1:3 " " 3:2-3:2 " " 3:3-3:3 " "`},
		{"a line less", "a\nb\nc", all("a\nc"), `2:1-3:1 ""`},
		{"UTF-16 units", "𝄞 a\n", all("𝄞 b\n"), `1:4-1:5 "b"`},
		{"edits that touch", "ab\n", []Edit{{Range{1, 2, 1, 3}, "c"}, {Range{1, 1, 1, 2}, "a"}}, `1:2-1:3 "c"`},
		{"edits that overlap", "abc\n", []Edit{{Range{1, 1, 1, 3}, "x"}, {Range{1, 2, 1, 3}, "y"}}, `1:1-1:3 "x" 1:2-1:3 "y"`},
		{"line ends", "a\r\nb\r\n", all("a\n\nb\n"), `2:1-2:1 "\r\n"`},
		{"what is too long to compare", "a", all(strings.Repeat("b", minimalUnits+1)), fmt.Sprintf("1:1-1:2 %q", strings.Repeat("b", minimalUnits+1))},
	} {
		var got []string
		for _, e := range New(c.text, LF).Minimal(c.edits) {
			got = append(got, fmt.Sprintf("%d:%d-%d:%d %q", e.Range.StartLine, e.Range.StartColumn, e.Range.EndLine, e.Range.EndColumn, e.Text))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %.200s, want %.200s", c.name, text, c.want)
		}
	}
}

// Minimal edits make the same text, and replace nothing by itself.
func TestMinimalEditsDoTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString([]string{"a", "b", " ", "\n", "\r\n", "ä", "𝄞"}[r.IntN(7)])
		}
		return b.String()
	}
	for range 2000 {
		text := New(random(40), []EOL{LF, CRLF}[r.IntN(2)])
		var edits []Edit
		at := Range{1, 1, 1, 1}
		for range r.IntN(5) {
			at.StartLine, at.StartColumn = at.EndLine+r.IntN(2), 1+r.IntN(5)
			at.EndLine, at.EndColumn = at.StartLine+r.IntN(3), 1+r.IntN(5)
			edits = append(edits, Edit{at, random(20)})
		}
		want, _, err := text.Apply(edits)
		if err != nil {
			continue // they overlap
		}
		minimal := text.Minimal(edits)
		got, changes, err := text.Apply(minimal)
		if err != nil || got.String() != want.String() {
			t.Fatalf("%q with %v: %q by %v, want %q (%v)", text, edits, got, minimal, want, err)
		}
		for i, e := range minimal {
			if old := text.Slice(e.Range); old == e.Text || old != "" && e.Text != "" && old[0] == e.Text[0] && old[0] < 0x80 && old[0] != '\r' {
				t.Fatalf("%q with %v: edit %d of %v replaces a part by itself", text, edits, i, minimal)
			}
		}
		if len(changes) != len(minimal) {
			t.Fatalf("%d of %v", len(changes), minimal)
		}
	}
}
