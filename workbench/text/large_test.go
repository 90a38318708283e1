package text

import (
	"runtime"
	"strings"
	"testing"
)

// A million edits in a million lines take a time that grows with their number, not with its square.
func TestManyEdits(t *testing.T) {
	t.Parallel()
	const lines = 1_000_000
	now := New(strings.Repeat("a\n", lines), LF)
	edits := make([]Edit, lines)
	for i := range edits {
		edits[i] = Edit{At(i+1, 2), "b"}
	}
	next, changes, err := now.Apply(edits)
	if err != nil || next.String() != strings.Repeat("ab\n", lines) {
		t.Fatal(err)
	}
	if first, last := changes[lines-1], changes[0]; first.Offset != 1 || last.Offset != 2*lines-1 || last.Length != 0 {
		t.Errorf("%+v, %+v", first, last)
	}
}

func TestUndoIsBounded(t *testing.T) {
	t.Parallel()
	m := NewModel(New(strings.Repeat("\n", 500_000), LF))
	for range 40 {
		m.Stop()
		if _, err := m.Edit([]Edit{{At(1, 1), "x"}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if w := m.Weight() - m.Text().Weight(); w > maxUndoWeight {
		t.Errorf("undo takes %d bytes", w)
	}
	undone := 0
	for m.Undo() != nil {
		undone++
	}
	if undone == 0 || m.Text().Lines()[0] != strings.Repeat("x", 40-undone) {
		t.Errorf("%d steps undone: %q", undone, m.Text().Lines()[0])
	}
	m.Forget()
	if m.Redo() != nil {
		t.Error("redone what was forgotten")
	}
	one := NewModel(New("", LF))
	for range maxJoined + 1 {
		if _, err := one.Edit([]Edit{{At(1, 1), "x"}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if one.Undo(); one.Text().String() != strings.Repeat("x", maxJoined) {
		t.Errorf("%d characters after undo", one.Text().Len())
	}
}

// A text takes no multiple of its bytes, also if it has nothing but line ends, and neither does an
// edit of it.
func TestMemoryOfManyLines(t *testing.T) {
	const size = 50 << 20
	content := strings.Repeat("\n", size)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var now, next *Text
	if n := allocated(func() { now = New(content, LF) }); n > size/2 {
		t.Errorf("a text of %d line ends has allocated %d bytes", size, n)
	}
	if n := allocated(func() { next, _, _ = now.Apply([]Edit{{At(size/2, 1), "x"}}) }); n > 2*size {
		t.Errorf("an edit has allocated %d bytes", n)
	}
	if next.Count() != size+1 || next.Line(size/2) != "x" || next.Len() != size+1 || next.Weight() > 3*size {
		t.Errorf("%d lines, %q, %d units, weight %d", next.Count(), next.Line(size/2), next.Len(), next.Weight())
	}
}
