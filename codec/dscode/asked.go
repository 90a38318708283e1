package dscode

// maxAsked is how many of our requests are remembered as unanswered. Callers
// give up without a word, so that a host that never answers would make the
// list grow; of more than these the oldest is forgotten, and what is left for
// its caller, if there is one still, is the deadline.
const maxAsked = 16384

// asked are our requests without an answer.
type asked struct {
	number map[uint32]uint64 // of the request's frame, by id
	order  []entry           // oldest first; also of some that were answered
}

type entry struct {
	id     uint32
	number uint64
}

func (a *asked) add(id uint32, number uint64) {
	if a.number == nil {
		a.number = make(map[uint32]uint64)
	}
	if len(a.order) > 2*len(a.number)+1024 {
		kept := a.order[:0]
		for _, e := range a.order {
			if a.holds(e) {
				kept = append(kept, e)
			}
		}
		a.order = kept
	}
	for len(a.number) >= maxAsked {
		if e := a.order[0]; a.holds(e) {
			delete(a.number, e.id)
		}
		a.order = a.order[1:]
	}
	a.number[id] = number
	a.order = append(a.order, entry{id, number})
}

func (a *asked) holds(e entry) bool {
	n, open := a.number[e.id]
	return open && n == e.number
}

func (a *asked) answered(id uint32) { delete(a.number, id) }

// upTo takes out those whose frame has at most this number, oldest first.
func (a *asked) upTo(number uint64) []uint32 {
	var ids []uint32
	for len(a.order) > 0 && a.order[0].number <= number {
		if e := a.order[0]; a.holds(e) {
			ids = append(ids, e.id)
			delete(a.number, e.id)
		}
		a.order = a.order[1:]
	}
	return ids
}
