package text

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// naive is a text as UTF-16 units, for comparison.
type naive []uint16

func naively(s string) naive { return utf16.Encode([]rune(s)) }

func (n naive) String() string { return string(utf16.Decode(n)) }

// at returns where a position is.
func (n naive) at(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		for n[at] != '\n' {
			at++
		}
		at++
	}
	return at + column - 1
}

// edit makes edits from the last to the first, each where the text has it.
func (n naive) edit(list []Edit, eol EOL) naive {
	type spot struct {
		from, to int
		text     naive
	}
	var spots []spot
	for _, e := range list {
		text := strings.NewReplacer("\r\n", string(eol), "\r", string(eol), "\n", string(eol)).Replace(e.Text)
		spots = append(spots, spot{n.at(e.Range.StartLine, e.Range.StartColumn), n.at(e.Range.EndLine, e.Range.EndColumn), naively(text)})
	}
	slices.SortStableFunc(spots, func(a, b spot) int {
		if a.to != b.to {
			return a.to - b.to
		}
		return a.from - b.from
	})
	for _, s := range slices.Backward(spots) {
		n = slices.Concat(n[:s.from], s.text, n[s.to:])
	}
	return n
}

var pieces = []string{"a", "bc", "é", "😀", "\n", "\r\n", "x\ny", "", "𝒳z"}

func sample(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// edits returns edits that do not overlap and do not split characters.
func edits(r *rand.Rand, t *Text) []Edit {
	var marks [][2]int // positions
	for range 2 * (1 + r.IntN(4)) {
		line := 1 + r.IntN(t.Count())
		runes := []rune(t.Line(line))
		marks = append(marks, [2]int{line, 1 + Units(string(runes[:r.IntN(len(runes)+1)]))})
	}
	slices.SortFunc(marks, func(a, b [2]int) int { return compare(a[0], a[1], b[0], b[1]) })
	var out []Edit
	for i := 0; i < len(marks); i += 2 {
		out = append(out, Edit{Range{marks[i][0], marks[i][1], marks[i+1][0], marks[i+1][1]}, sample(r, 4)})
	}
	// Another order of the list does not matter, except among edits at the same position.
	if len(out) > 1 && compare(out[0].Range.EndLine, out[0].Range.EndColumn, out[1].Range.StartLine, out[1].Range.StartColumn) < 0 {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

func TestEditsAsNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := New(sample(r, 12), LF)
		list := edits(r, a)
		b, changes, err := a.Apply(list)
		if err != nil {
			t.Fatalf("%q %v: %v", a, list, err)
		}
		want := naively(a.String()).edit(list, a.EOL())
		if b.String() != want.String() || b.Len() != len(want) {
			t.Fatalf("%q %v: %q, want %q", a, list, b, want)
		}
		if !slices.Equal(New(b.String(), b.eol).units, b.units) {
			t.Fatalf("%q: lengths %v", b, b.units)
		}
		if got := a.Play(changes); got.String() != b.String() {
			t.Fatalf("%q %v: played %q, want %q", a, changes, got, b)
		}
		n := naively(a.String())
		for _, c := range changes { // the offsets say the same as the ranges
			if n.at(c.Range.StartLine, c.Range.StartColumn) != c.Offset {
				t.Fatalf("%q %v: offset", a, c)
			}
			n = slices.Concat(n[:c.Offset], naively(c.Text), n[c.Offset+c.Length:])
		}
		if n.String() != b.String() {
			t.Fatalf("%q %v: by offsets %q, want %q", a, changes, n, b)
		}
		back, _, err := b.Apply(a.inverse(changes))
		if err != nil || back.String() != a.String() {
			t.Fatalf("%q %v: back %q, %v", a, list, back, err)
		}
	}
}

func TestUndoOfManyEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		m := NewModel(New(sample(r, 12), LF))
		mirror := m.Text()
		follow := func(e *Event) {
			if e == nil {
				return
			}
			if mirror = mirror.Play(e.Changes).WithEOL(e.EOL); mirror.String() != m.Text().String() || e.Version != m.Version() {
				t.Fatalf("a host has %q, the model %q", mirror, m.Text())
			}
		}
		type mark struct {
			state int
			text  string
		}
		marks := []mark{{m.State(), m.Text().String()}}
		for range 6 {
			switch r.IntN(6) {
			case 0:
				m.Stop()
			case 1:
				follow(m.SetEOL([]EOL{LF, CRLF}[r.IntN(2)], ""))
			case 2:
				follow(m.Reset(New(sample(r, 12), LF)))
			default:
				e, err := m.Edit(edits(r, m.Text()), "")
				if err != nil {
					t.Fatal(err)
				}
				follow(e)
			}
			marks = append(marks, mark{m.State(), m.Text().String()})
		}
		end := m.Text().String()
		steps := 0
		for e := m.Undo(); e != nil; e = m.Undo() {
			follow(e)
			steps++
			if !slices.Contains(marks, mark{m.State(), m.Text().String()}) {
				t.Fatalf("state %d has never had %q", m.State(), m.Text())
			}
		}
		if m.State() != 0 || m.Text().String() != marks[0].text {
			t.Fatalf("%q after %d steps, want %q", m.Text(), steps, marks[0].text)
		}
		for e := m.Redo(); e != nil; e = m.Redo() {
			follow(e)
		}
		if m.Text().String() != end {
			t.Fatalf("%q, want %q", m.Text(), end)
		}
	}
}

func TestOverlap(t *testing.T) {
	a := New("one two", LF)
	for _, c := range []struct {
		list []Edit
		want string // "": they overlap
	}{
		{[]Edit{{Range{1, 1, 1, 4}, "1"}, {Range{1, 4, 1, 8}, "2"}}, "12"},
		{[]Edit{{Range{1, 1, 1, 4}, "1"}, {Range{1, 3, 1, 8}, "2"}}, ""},
		{[]Edit{{At(1, 2), "a"}, {At(1, 2), "b"}}, "oabne two"},
		{[]Edit{{Range{1, 1, 1, 4}, "1"}, {At(1, 2), "b"}}, ""},
		{[]Edit{{Range{1, 1, 1, 4}, ""}, {Range{1, 1, 1, 4}, ""}}, ""},
	} {
		b, _, err := a.Apply(c.list)
		if c.want == "" {
			if !errors.Is(err, ErrOverlap) {
				t.Errorf("%v: %v", c.list, err)
			}
		} else if err != nil || b.String() != c.want {
			t.Errorf("%v: %q, %v", c.list, b, err)
		}
	}
}

func TestClamp(t *testing.T) {
	a := New("a😀b\n", LF)
	for in, want := range map[Range]Range{
		{0, 5, 9, 9}:  {1, 1, 2, 1},
		{1, 99, 1, 1}: {1, 1, 1, 5},
		{1, 3, 1, 3}:  {1, 2, 1, 2}, // an empty range moves
		{1, 3, 1, 5}:  {1, 2, 1, 5},
		{1, 1, 1, 3}:  {1, 1, 1, 4},
		{1, -4, 1, 0}: {1, 1, 1, 1},
	} {
		if got := a.Clamp(in); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
	if s := a.Slice(Range{1, 2, 2, 1}); s != "😀b\n" {
		t.Errorf("%q", s)
	}
}

func TestLineEndings(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"a\nb":           "a\nb",
		"a\r\nb\r\nc\nd": "a\r\nb\r\nc\r\nd",
		"a\nb\nc\r\nd":   "a\nb\nc\nd",
		"a\rb\rc":        "a\r\nb\r\nc",
		"a\n\xffb":       "a\n\uFFFDb",
	} {
		if got := New(in, LF); got.String() != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if New("a", CRLF).EOL() != CRLF {
		t.Error("the fallback is not used")
	}
}

func TestEditsJoinAGroup(t *testing.T) {
	m := NewModel(New("", LF))
	insert := func(s, id string) {
		if _, err := m.Edit([]Edit{{At(1, 1), s}}, id); err != nil {
			t.Fatal(err)
		}
	}
	insert("a", "")
	insert("b", "")
	m.Stop()
	insert("c", "")
	insert("d", "many")
	if id, ok := m.Undoable(); id != "many" || !ok {
		t.Error(id, ok)
	}
	var got []string
	for m.Undo() != nil {
		got = append(got, m.Text().String())
	}
	if strings.Join(got, ",") != "cba,ba," || m.State() != 0 || m.Version() != 8 {
		t.Errorf("%q, version %d", got, m.Version())
	}
	if id, ok := m.Redoable(); id != "" || !ok {
		t.Error(id, ok)
	}
	m.Redo()
	insert("x", "")
	if m.Redo() != nil || m.Text().String() != "xba" {
		t.Errorf("%q", m.Text())
	}
	if e, err := m.Edit([]Edit{{At(1, 1), ""}}, ""); e != nil || err != nil {
		t.Error("an edit without an effect is an event", err)
	}
}

func TestResetChangesLittle(t *testing.T) {
	m := NewModel(New("a\nb\nc\nd", LF))
	e := m.Reset(New("a\nB\nB2\nc\nd", LF))
	if len(e.Changes) != 1 || e.Changes[0].Range != (Range{2, 1, 3, 1}) || e.Changes[0].Text != "B\nB2\n" {
		t.Errorf("%+v", e)
	}
	if m.Reset(New("a\nB\nB2\nc\nd", LF)) != nil {
		t.Error("an equal text is an event")
	}
}
