package text

import (
	"slices"
	"strings"
)

// Event is a change of a model. With its method and URI it is what $acceptModelChanged has.
type Event struct {
	Changes []Change `json:"changes"`
	EOL     EOL      `json:"eol"`
	Version int      `json:"versionId"`
	Undoing bool     `json:"isUndoing"`
	Redoing bool     `json:"isRedoing"`
}

// maxGroups is how many steps can be undone: older ones are forgotten.
const maxGroups = 1000

// Bounds of what undo keeps of one model: bytes, and edits that are one step.
const (
	maxUndoWeight = 64 << 20
	maxJoined     = 10_000
)

// perLine is about how many bytes a line takes besides its text, and perEdit an edit.
const (
	perLine = 1
	perEdit = 64
)

// Model is a text with a version and what can be undone. It must be made with [NewModel] and guarded
// by its user.
type Model struct {
	text    *Text
	version int // 1 at first, one more with each event
	state   int // equal for equal places in the stack: what "saved" is compared with
	states  int
	undo    []group
	redo    []group
	open    bool // the next edit joins the last group
}

// group is one step of undo.
type group struct {
	id     string
	before int // the state
	after  int
	old    *Text    // nil if there are edits
	new    *Text    // nil if there are edits
	back   [][]Edit // by edit, to be made in reverse order
	forth  [][]Edit
	edits  int // bytes of back and forth
}

// weight returns about how many bytes a group takes.
func (g *group) weight() int {
	n := g.edits + perEdit
	if g.new != nil {
		n += g.old.Weight() + g.new.Weight()
	}
	return n
}

func weigh(list []group) (n int) {
	for i := range list {
		n += list[i].weight()
	}
	return n
}

// Weight returns about how many bytes the model takes, with what can be undone and redone.
func (m *Model) Weight() int { return m.text.Weight() + weigh(m.undo) + weigh(m.redo) }

// Forget forgets what can be undone and redone.
func (m *Model) Forget() {
	m.undo, m.redo, m.open = nil, nil, false
}

// NewModel returns a model with version 1.
func NewModel(t *Text) *Model { return &Model{text: t, version: 1} }

// Text returns the text.
func (m *Model) Text() *Text { return m.text }

// Version returns the version: 1 at first, one more with each event.
func (m *Model) Version() int { return m.version }

// State returns a number that is equal again after undo and redo: the AlternativeVersionId of VS Code.
func (m *Model) State() int { return m.state }

// Stop ends the group of undo: the next edit begins another.
func (m *Model) Stop() { m.open = false }

// Edit makes edits as [Text.Apply]. They join the last group of undo unless [Model.Stop] was called
// after it. id names a group that spans several models, or is "". The event is nil if nothing changes.
func (m *Model) Edit(edits []Edit, id string) (*Event, error) {
	next, changes, err := m.text.Apply(edits)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	m.push(id, next, m.text.inverse(changes), forward(changes))
	return m.moved(next, changes), nil
}

// forward returns the edits of changes.
func forward(changes []Change) (out []Edit) {
	for _, c := range slices.Backward(changes) {
		out = append(out, Edit{c.Range, c.Text})
	}
	return out
}

// push records an edit for undo. back and forth are nil if it is a new line ending.
func (m *Model) push(id string, next *Text, back, forth []Edit) {
	m.redo = nil
	if !m.open || len(m.undo) == 0 || m.undo[len(m.undo)-1].id != id || back == nil || len(m.undo[len(m.undo)-1].back) >= maxJoined {
		m.pushGroup(id)
	}
	m.open = back != nil
	g := &m.undo[len(m.undo)-1]
	m.states++
	m.state = m.states
	g.after = m.state
	if back == nil {
		g.old, g.new = m.text, next
	} else {
		g.back, g.forth = append(g.back, back), append(g.forth, forth)
		for _, list := range [][]Edit{back, forth} {
			for _, e := range list {
				g.edits += len(e.Text) + perEdit
			}
		}
	}
	for total := weigh(m.undo); total > maxUndoWeight && len(m.undo) > 1; m.undo = slices.Clone(m.undo[1:]) {
		total -= m.undo[0].weight()
	}
}

func (m *Model) pushGroup(id string) {
	m.undo = append(m.undo, group{id: id, before: m.state})
	if len(m.undo) > maxGroups {
		m.undo = slices.Clone(m.undo[1:])
	}
}

// moved is the event of another text.
func (m *Model) moved(next *Text, changes []Change) *Event {
	m.text = next
	m.version++
	return &Event{Changes: changes, EOL: next.eol, Version: m.version}
}

// SetEOL changes the line ending, which is a change of the whole text. id is that of [Model.Edit]. The
// event is nil if it was the line ending before.
func (m *Model) SetEOL(eol EOL, id string) *Event {
	if m.text.eol == eol {
		return nil
	}
	next := m.text.WithEOL(eol)
	m.push(id, next, nil, nil)
	return m.replaced(next)
}

// Mark adds a step of undo without an edit, for what was done with the document besides its text. id
// is that of [Model.Edit]. Nothing is added if the last step has this id.
func (m *Model) Mark(id string) {
	m.Stop()
	if before, ok := m.Undoable(); ok && before == id {
		return
	}
	m.redo = nil
	m.pushGroup(id)
	m.undo[len(m.undo)-1].after = m.state
}

// replaced is the event of a text that is replaced as a whole.
func (m *Model) replaced(next *Text) *Event {
	old := m.text
	return m.moved(next, []Change{{old.Whole(), 0, old.Len(), next.String()}})
}

// Reset replaces the text by one from elsewhere, with only the part that differs as a change. It can be
// undone. The event is nil if the texts are equal.
func (m *Model) Reset(t *Text) *Event {
	if t.eol != m.text.eol {
		m.Stop()
		m.push("", t, nil, nil)
		return m.replaced(t)
	}
	m.Stop()
	e, _ := m.Edit(minimal(m.text, t), "") // one edit does not overlap
	m.Stop()
	return e
}

// minimal returns the edit between two texts without the lines that are equal at their start and end.
func minimal(a, b *Text) []Edit {
	head, tail := 0, 0
	shorter := min(a.count, b.count)
	x, y := a.s, b.s
	for head < shorter && x[:lineLen(x)] == y[:lineLen(y)] {
		head++
		x, y = x[min(lineLen(x)+1, len(x)):], y[min(lineLen(y)+1, len(y)):]
	}
	x, y = a.s, b.s
	for tail < shorter-head {
		i, j := strings.LastIndexByte(x, '\n'), strings.LastIndexByte(y, '\n')
		if x[i+1:] != y[j+1:] {
			break
		}
		tail++
		x, y = x[:max(i, 0)], y[:max(j, 0)]
	}
	if head == a.count && head == b.count {
		return nil
	}
	if tail > 0 { // the changed lines with the ends of each
		last := a.count - tail + 1
		from := Range{head + 1, 1, last, 1}
		return []Edit{{from, b.Slice(Range{head + 1, 1, b.count - tail + 1, 1})}}
	}
	if head == 0 {
		return []Edit{{a.Whole(), b.String()}}
	}
	// From the end of the last equal line.
	from := a.Whole()
	from.StartLine, from.StartColumn = head, a.unitsOf(head)+1
	to := b.Whole()
	to.StartLine, to.StartColumn = from.StartLine, from.StartColumn
	return []Edit{{from, b.Slice(to)}}
}

// Undoable returns the id of the group that [Model.Undo] would undo; false if there is no such group.
func (m *Model) Undoable() (id string, ok bool) { return last(m.undo) }

// Redoable returns the id of the group that [Model.Redo] would make again; false if there is no such group.
func (m *Model) Redoable() (id string, ok bool) { return last(m.redo) }

func last(list []group) (id string, ok bool) {
	if len(list) == 0 {
		return "", false
	}
	return list[len(list)-1].id, true
}

// Undo undoes the last group. The event is nil if there is no such group, or if it has no edit.
func (m *Model) Undo() *Event {
	e := m.step(&m.undo, &m.redo, true)
	if e != nil {
		e.Undoing = true
	}
	return e
}

// Redo makes the last group that was undone again. The event is nil as that of [Model.Undo].
func (m *Model) Redo() *Event {
	e := m.step(&m.redo, &m.undo, false)
	if e != nil {
		e.Redoing = true
	}
	return e
}

func (m *Model) step(from, to *[]group, back bool) *Event {
	m.Stop()
	if len(*from) == 0 {
		return nil
	}
	g := (*from)[len(*from)-1]
	*from, *to = (*from)[:len(*from)-1], append(*to, g)
	lists, next, state := g.forth, g.new, g.after
	if back {
		lists, next, state = slices.Clone(g.back), g.old, g.before
		slices.Reverse(lists)
	}
	m.state = state
	switch {
	case next != nil:
		return m.replaced(next)
	case len(lists) == 0:
		return nil
	}
	var all []Change
	t := m.text
	for _, edits := range lists {
		after, changes, _ := t.Apply(edits) // it did not overlap
		t, all = after, append(all, changes...)
	}
	return m.moved(t, all)
}
