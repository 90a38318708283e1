package pending

import (
	"sort"
)

// LateLimit bounds how many answers a peer may owe to callers that have left.
const LateLimit = 16384

// Rules are what both sides have agreed on.
type Rules struct {
	Acks    bool // every request is owed an acknowledgement, else only those that are Internal
	Cancel  bool // the peer is told when a caller leaves
	Abandon bool // a request that was cancelled is not answered any more
}

// Table keeps the open requests of one connection.
type Table struct {
	rules   Rules
	next    uint32 // the id to try next
	heir    uint32 // the first id, if another table has given ids on the same connection before; else 0
	wrapped bool   // every id may have been given by now
	closed  bool
	refuses bool // new requests, as the connection drains
	drains  bool // somebody waits for Drained
	open    map[uint32]*Entry
	late    int // entries whose callers have left
	waiting int // entries with a caller that has not
	owed    int
	owedAt  int64 // since when something is owed without a break; 0: nothing is
	listed  []*Entry
}

// NewTable makes a table whose first id is first.
func NewTable(first uint32) Table { return Table{next: first, open: make(map[uint32]*Entry)} }

// Inherit makes a table without entries ignore what the peer tells of requests of another table, which
// has made them on the same connection before. first is the first id that this table gives: those
// before it, and those after the last one, are the other's.
func Inherit(t *Table, first uint32) { t.next, t.heir, t.wrapped = first, first, true }

// Agree sets the rules that hold from now on.
func (t *Table) Agree(r Rules) { t.rules = r }

// Owed returns since when an acknowledgement is owed without a break; 0: none is.
func (t *Table) Owed() int64 { return t.owedAt }

// IsClosed reports whether the connection has ended.
func (t *Table) IsClosed() bool { return t.closed }

// Len returns how many requests are open.
func (t *Table) Len() int {
	if t.closed {
		return 0 // what is still being written is no longer open
	}
	return len(t.open)
}

// Late returns how many answers the peer owes to callers that have left.
func (t *Table) Late() int { return t.late }

// Listed returns, once, the entries that the last CutOff or Close is about, oldest
// first. It is apart from [Effects], which every call pays for.
func (t *Table) Listed() []*Entry {
	list := t.listed
	t.listed = nil
	return list
}

// Step takes in what has happened.
func (t *Table) Step(ev Event, now int64) Effects {
	switch ev.Op {
	case Send, Register:
		return t.register(ev, now)
	case Wrote:
		return t.wrote(ev.ID, now)
	case Unsent, Drop:
		return t.unsent(ev)
	case Cancel:
		return t.cancel(ev.Entry)
	case Answer:
		return t.answer(ev.ID)
	case Ack, Item, Progress:
		return t.received(ev, now)
	case Grant:
		return t.grant(ev.Entry, ev.N, now)
	case Drain:
		t.refuses, t.drains = true, true
		return Effects{Do: t.drained()}
	case CutOff:
		t.drains = false
		t.listed = t.list((*Entry).awaited)
		return Effects{}
	case Close:
		return t.close()
	case Leave:
		if ev.Entry.writing {
			ev.Entry.orphan = true
			return Effects{}
		}
		return Effects{Do: Free}
	}
	return Effects{}
}

func (t *Table) register(ev Event, now int64) Effects {
	e := ev.Entry
	if t.closed || t.refuses && !e.Internal {
		return Effects{Do: Closed}
	}
	if t.late >= LateLimit {
		return Effects{Do: Overloaded, N: uint32(t.late)}
	}
	for {
		if t.next == 0 {
			t.next, t.wrapped = 1, true
		}
		if _, taken := t.open[t.next]; !taken {
			break
		}
		t.next++
	}
	e.id = t.next
	t.next++
	e.acked, e.late, e.orphan = false, false, false
	e.writing, e.written, e.wroteAt = true, false, 0
	if ev.Op == Send {
		e.writing, e.written, e.wroteAt = false, true, now
	}
	if i := e.Items; i != nil {
		i.credit, i.seq, i.taken = Window, 0, 0 // it is posted right behind the request
	}
	t.open[e.id] = e
	if !e.Internal {
		t.waiting++
	}
	if t.rules.Acks || e.Internal {
		if t.owed++; t.owed == 1 {
			t.owedAt = now
		}
	} else {
		e.acked = true
	}
	out := Effects{ID: e.id, Entry: e}
	if len(t.open) == 1 {
		out.Do = Alone
	}
	return out
}

func (t *Table) wrote(id uint32, now int64) Effects {
	e := t.open[id]
	if e == nil {
		return Effects{}
	}
	e.writing = false
	if t.closed {
		delete(t.open, id)
		return Effects{Do: e.abandoned(), Entry: e}
	}
	e.written, e.wroteAt = true, now
	out := Effects{Do: Sent, Entry: e}
	if e.late && (t.rules.Cancel || t.rules.Abandon) {
		out.Do |= Gone
	}
	return out
}

func (t *Table) unsent(ev Event) Effects {
	e := ev.Entry
	if e == nil { // one of Send, which may have left meanwhile
		if e = t.find(ev.ID); e == nil {
			return Effects{}
		}
	}
	e.writing = false
	out := Effects{Do: e.abandoned(), Entry: e}
	if t.open[e.id] != e {
		return out
	}
	switch {
	case t.closed:
		delete(t.open, e.id)
	case ev.Op == Drop:
		t.remove(e)
		out.Do |= t.drained()
	}
	return out
}

// abandoned tells the writer of an entry whether it is to take it elsewhere. It is
// asked once.
func (e *Entry) abandoned() Effect {
	if !e.orphan {
		return 0
	}
	e.orphan = false
	return Orphaned
}

func (t *Table) cancel(e *Entry) Effects {
	if t.closed || t.open[e.id] != e || e.late {
		return Effects{}
	}
	var out Effects
	if e.written && t.rules.Cancel { // else who writes it tells, behind the request itself
		out.Do = TellCancel
	}
	if e.written && t.rules.Abandon {
		t.remove(e)
	} else {
		if !e.Internal {
			t.waiting--
		}
		t.late++
		e.late = true
	}
	out.Do |= t.drained()
	return out
}

func (t *Table) answer(id uint32) Effects {
	e := t.find(id)
	switch {
	case e != nil:
	case !t.given(id):
		return Effects{Fault: NeverMade}
	case t.rules.Abandon, t.heir > 0 && id-t.heir >= t.next-t.heir:
		return Effects{}
	default:
		return Effects{Fault: Answered}
	}
	t.remove(e)
	return Effects{Do: Settle | t.drained(), Entry: e, Since: e.wroteAt}
}

// received takes in what the peer says of a request that it has not answered yet.
func (t *Table) received(ev Event, now int64) Effects {
	e := t.find(ev.ID)
	if e == nil {
		if ev.Op == Progress || t.given(ev.ID) {
			return Effects{}
		}
		return Effects{Fault: NeverMade}
	}
	if ev.Op == Progress {
		return Effects{Do: Deliver, Entry: e}
	}
	t.paid(e)
	i := e.Items
	switch {
	case ev.Op == Ack || e.late:
		return Effects{Entry: e}
	case i == nil:
		return Effects{Fault: NotAllowed, Entry: e}
	case i.credit == 0:
		return Effects{Fault: NoCredit, Entry: e}
	case ev.N != i.seq:
		return Effects{Fault: Disorder, N: i.seq, Entry: e}
	}
	i.seq++
	i.credit--
	i.since = now
	return Effects{Do: Deliver, Entry: e}
}

// grant gives credit for what was taken, once it is worth a message.
func (t *Table) grant(e *Entry, n uint32, now int64) Effects {
	i := e.Items
	if i.taken += n; i.taken < Window/2 || e.late || t.find(e.id) != e {
		return Effects{}
	}
	out := Effects{Do: GiveCredit, N: i.taken, Entry: e}
	i.credit += i.taken
	i.taken, i.since = 0, now
	return out
}

func (t *Table) close() Effects {
	if t.closed {
		return Effects{}
	}
	t.listed = t.list(func(*Entry) bool { return true })
	t.closed = true
	for id, e := range t.open {
		if !e.writing { // its writer asks once more
			delete(t.open, id)
		}
	}
	t.late, t.waiting, t.owed, t.owedAt = 0, 0, 0, 0
	return Effects{}
}

// list returns the entries that are so, in the order in which they were given ids.
func (t *Table) list(is func(*Entry) bool) []*Entry {
	if t.Len() == 0 {
		return nil
	}
	out := make([]*Entry, 0, t.Len())
	for _, e := range t.open {
		if is(e) {
			out = append(out, e)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// awaited reports whether somebody waits for the answer.
func (e *Entry) awaited() bool { return !e.late && !e.Internal }

// find returns an open entry, or nil.
func (t *Table) find(id uint32) *Entry {
	if t.closed {
		return nil
	}
	return t.open[id]
}

// given reports whether an id was ever given out.
func (t *Table) given(id uint32) bool { return id != 0 && (t.wrapped || id < t.next) }

func (t *Table) remove(e *Entry) {
	delete(t.open, e.id)
	t.paid(e)
	switch {
	case e.late:
		e.late = false
		t.late--
	case !e.Internal:
		t.waiting--
	}
}

// paid takes an entry out of what is owed.
func (t *Table) paid(e *Entry) {
	if e.acked {
		return
	}
	e.acked = true
	if t.owed--; t.owed == 0 {
		t.owedAt = 0
	}
}

// drained says, once, that no caller waits any more, if somebody wants to know.
func (t *Table) drained() Effect {
	if !t.drains || t.waiting > 0 {
		return 0
	}
	t.drains = false
	return Drained
}
