package throttle

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxKeys is how many keys are followed at once.
const MaxKeys = 4096

// ErrRule is the cause of every error of [New].
var ErrRule = errors.New("not a rule for throttling")

// Rule is what is throttled, like throttle "textDocument/didChange" { every =
// "16ms", key = "uri" }.
type Rule struct {
	Method string        // of the notification
	Every  time.Duration // the shortest time between two that are sent; above 0
	Key    string        // dotted path into the params, to a string, number or boolean; "": all of the method are one
}

// Lookup finds what a dotted path leads to in a message's params, as a text;
// false when that is nothing, or nothing that can be a key. See [JSON] and
// [MessagePack].
type Lookup func(path string) (string, bool)

// Machine throttles messages of type T. Make it with [New].
type Machine[T any] struct {
	rules map[string]Rule
	paths []string // of all rules, each once
	slots map[slotID]*slot[T]
	due   queue[T] // slots with something held
	seq   uint64
	stats Stats
}

// Stats counts messages since the start.
type Stats struct {
	Sent   uint64 // at once or later, of all methods
	Merged uint64 // replaced by a later one, never sent
	Held   int    // now
	Keys   int    // followed now
}

// slotID is a method with one key.
type slotID struct{ method, key string }

type slot[T any] struct {
	id   slotID
	path string
	next time.Time // when the next one may be sent
	held bool
	msg  T
	seq  uint64 // of the message held
	at   int    // in the queue
}

// New returns a machine with these rules. Errors wrap ErrRule: a rule without a
// method, with an interval that is not above 0, or a second one for its method.
func New[T any](rules []Rule) (*Machine[T], error) {
	m := &Machine[T]{rules: map[string]Rule{}, slots: map[slotID]*slot[T]{}}
	for _, r := range rules {
		switch {
		case r.Method == "":
			return nil, fmt.Errorf("%w: it has no method", ErrRule)
		case r.Every <= 0:
			return nil, fmt.Errorf("%w: %s: every must be above 0, not %s", ErrRule, r.Method, r.Every)
		}
		if _, ok := m.rules[r.Method]; ok {
			return nil, fmt.Errorf("%w: %s has two", ErrRule, r.Method)
		}
		m.rules[r.Method] = r
		if !slices.Contains(m.paths, r.Key) {
			m.paths = append(m.paths, r.Key)
		}
	}
	return m, nil
}

// Push takes a message and returns what is to be sent now, in order. params is
// only called before Push returns, and only when there is something to look
// for; nil finds nothing.
func (m *Machine[T]) Push(method string, msg T, params Lookup, now time.Time) []T {
	rule, throttled := m.rules[method]
	if !throttled && len(m.due) == 0 {
		m.stats.Sent++
		return []T{msg}
	}
	find := func(path string) (string, bool) {
		if path == "" {
			return "", method == rule.Method && throttled // only its own kind
		}
		if params == nil {
			return "", false
		}
		return params(path)
	}
	id := slotID{method: method}
	if throttled {
		id.key, throttled = find(rule.Key)
	}
	out := m.before(id, throttled, find, now)
	if !throttled {
		m.stats.Sent++
		return append(out, msg)
	}
	m.seq++
	s := m.slots[id]
	switch {
	case s == nil:
		if !m.room(now) {
			break
		}
		s = &slot[T]{id: id, path: rule.Key, at: -1}
		m.slots[id] = s
	case now.Before(s.next):
		if s.held {
			m.stats.Merged++
		}
		s.msg, s.seq, s.held = msg, m.seq, true
		if s.at < 0 {
			heap.Push(&m.due, s)
		}
		return out
	case s.held: // its time has come, and a later one with it
		m.stats.Merged++
		m.take(s)
	}
	if s != nil {
		s.next = now.Add(rule.Every)
	}
	m.stats.Sent++
	return append(out, msg)
}

// before returns what is held and has the key of a message, but for what that
// message itself replaces.
func (m *Machine[T]) before(id slotID, throttled bool, find Lookup, now time.Time) []T {
	if len(m.due) == 0 {
		return nil
	}
	var ready []*slot[T]
	for _, path := range m.paths {
		if path == "" {
			continue
		}
		key, ok := find(path)
		if !ok {
			continue
		}
		for method, rule := range m.rules {
			other := slotID{method, key}
			if rule.Key != path || throttled && other == id {
				continue
			}
			if s := m.slots[other]; s != nil && s.held {
				ready = append(ready, s)
			}
		}
	}
	return m.send(ready, now)
}

// send takes what slots hold, in the order in which it was pushed.
func (m *Machine[T]) send(ready []*slot[T], now time.Time) []T {
	slices.SortFunc(ready, func(a, b *slot[T]) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]T, 0, len(ready)+1)
	for _, s := range ready {
		out = append(out, m.take(s))
		s.next = now.Add(m.rules[s.id.method].Every)
		m.stats.Sent++
	}
	return out
}

// take empties a slot.
func (m *Machine[T]) take(s *slot[T]) T {
	var none T
	msg := s.msg
	s.msg, s.held = none, false
	if s.at >= 0 {
		heap.Remove(&m.due, s.at)
	}
	return msg
}

// room says whether another key can be followed; those whose interval is over
// make way.
func (m *Machine[T]) room(now time.Time) bool {
	if len(m.slots) < MaxKeys {
		return true
	}
	m.forget(now)
	return len(m.slots) < MaxKeys
}

func (m *Machine[T]) forget(now time.Time) {
	for id, s := range m.slots {
		if !s.held && !now.Before(s.next) {
			delete(m.slots, id)
		}
	}
}

// Due returns when Fire is to be called; false when nothing is held.
func (m *Machine[T]) Due() (time.Time, bool) {
	if len(m.due) == 0 {
		return time.Time{}, false
	}
	return m.due[0].next, true
}

// Fire returns what is to be sent at now. Too early is harmless.
func (m *Machine[T]) Fire(now time.Time) []T {
	var ready []*slot[T]
	for len(m.due) > 0 && !now.Before(m.due[0].next) {
		s := m.due[0]
		heap.Pop(&m.due)
		ready = append(ready, s)
	}
	if len(m.due) == 0 && len(ready) == 0 {
		m.forget(now)
	}
	return m.send(ready, now)
}

// Drain returns everything that is held and forgets every key.
func (m *Machine[T]) Drain() []T {
	ready := slices.Clone(m.due)
	out := m.send(ready, time.Time{})
	clear(m.slots)
	return out
}

// Stats returns the counts.
func (m *Machine[T]) Stats() Stats {
	s := m.stats
	s.Held, s.Keys = len(m.due), len(m.slots)
	return s
}

// queue is a heap of slots by the time they are due, then by what came first.
type queue[T any] []*slot[T]

func (q queue[T]) Len() int { return len(q) }
func (q queue[T]) Less(i, j int) bool {
	if !q[i].next.Equal(q[j].next) {
		return q[i].next.Before(q[j].next)
	}
	return q[i].seq < q[j].seq
}
func (q queue[T]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push is for container/heap alone.
func (q *queue[T]) Push(x any) {
	s, _ := x.(*slot[T])
	s.at = len(*q)
	*q = append(*q, s)
}

// Pop is for container/heap alone.
func (q *queue[T]) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	s.at = -1
	return s
}
