package throttle

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a machine keeps.
const (
	MaxKeys = 4096    // keys that are followed at once
	MaxHeld = 4 << 20 // bytes held; with more of them all is sent
)

// ErrRule is the cause of every error of [New].
var ErrRule = errors.New("not a rule for throttling")

// Rule is what is throttled, like throttle "textDocument/didChange" { every =
// "16ms", key = "uri" }.
type Rule struct {
	Method string        // of the notification
	Every  time.Duration // the shortest time between two that are sent; above 0
	Key    string        // dotted path into the params, to a string, number or boolean; "": all of the method are one
}

// Validate says what is wrong with a rule: no method, an interval that is not
// above 0, or a key that is no path. The error wraps [ErrRule].
func (r Rule) Validate() error {
	switch {
	case r.Method == "":
		return fmt.Errorf("%w: it has no method", ErrRule)
	case r.Every <= 0:
		return fmt.Errorf("%w: %s: every must be above 0, not %s", ErrRule, r.Method, r.Every)
	case !validPath(r.Key):
		return fmt.Errorf("%w: %s: key %q is no path of names such as textDocument.uri", ErrRule, r.Method, r.Key)
	}
	return nil
}

// validPath says whether each step of a path is a name, or an index.
func validPath(path string) bool {
	if path == "" {
		return true
	}
	for step := range strings.SplitSeq(path, ".") {
		if step == "" || strings.ContainsFunc(step, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError }) {
			return false
		}
	}
	return true
}

// Lookup finds what a dotted path leads to in a message's params, as a text;
// false when that is nothing, or nothing that can be a key. See [JSON] and
// [MessagePack].
type Lookup func(path string) (string, bool)

// Machine throttles messages of type T. Make it with [New].
type Machine[T any] struct {
	rules map[string]*counted
	order []*counted // as they were given
	paths []string   // of all rules, each once
	slots map[slotID]*slot[T]
	due   queue[T] // slots with something held
	bytes int      // of what is held
	weigh func(T) int
	seq   uint64
}

// counted is a rule and what became of the messages that it is about.
type counted struct {
	Rule
	stats Stats
}

// Stats counts messages of one rule since the start.
type Stats struct {
	Sent    uint64 // at once or later
	Merged  uint64 // replaced by a later one, never sent
	Dropped uint64 // held when nobody was there any more to take them
	Held    int    // now
}

// slotID is a method with one key.
type slotID struct{ method, key string }

type slot[T any] struct {
	id   slotID
	next time.Time // when the next one may be sent
	held bool
	msg  T
	seq  uint64 // of the message held
	at   int    // in the queue
}

// New returns a machine with these rules. weigh says how many bytes a message
// takes, nil: none. Errors wrap ErrRule: those of [Rule.Validate], or a second
// rule for a method.
func New[T any](rules []Rule, weigh func(T) int) (*Machine[T], error) {
	m := &Machine[T]{rules: map[string]*counted{}, slots: map[slotID]*slot[T]{}, weigh: weigh}
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return nil, err
		}
		if _, ok := m.rules[r.Method]; ok {
			return nil, fmt.Errorf("%w: %s has two", ErrRule, r.Method)
		}
		c := &counted{Rule: r}
		m.rules[r.Method] = c
		m.order = append(m.order, c)
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
	rule := m.rules[method]
	if rule == nil {
		return append(m.Clear(params, now), msg)
	}
	id := slotID{method: method}
	if rule.Key != "" {
		found := false
		if params != nil {
			id.key, found = params(rule.Key)
		}
		if !found {
			rule.stats.Sent++
			return append(m.Clear(params, now), msg)
		}
	}
	out := m.before(&id, params, now)
	m.seq++
	s := m.slots[id]
	switch {
	case s == nil:
		if !m.room(now) {
			break
		}
		s = &slot[T]{id: id, at: -1}
		m.slots[id] = s
	case now.Before(s.next):
		if s.held {
			rule.stats.Merged++
			m.bytes -= m.weight(s.msg)
		}
		s.msg, s.seq, s.held = msg, m.seq, true
		m.bytes += m.weight(msg)
		if s.at < 0 {
			heap.Push(&m.due, s)
		}
		if m.bytes > MaxHeld {
			out = append(out, m.send(slices.Clone(m.due), now)...)
		}
		return out
	case s.held: // its time has come, and a later one with it
		rule.stats.Merged++
		m.take(s)
	}
	if s != nil {
		s.next = now.Add(rule.Every)
	}
	rule.stats.Sent++
	return append(out, msg)
}

// Pass is Push for a message that must be sent whatever the rule of its method.
func (m *Machine[T]) Pass(method string, msg T, params Lookup, now time.Time) []T {
	if rule := m.rules[method]; rule != nil {
		rule.stats.Sent++
	}
	return append(m.Clear(params, now), msg)
}

// Clear returns what must be sent before a message with these params that is not
// pushed itself: a request.
func (m *Machine[T]) Clear(params Lookup, now time.Time) []T { return m.before(nil, params, now) }

func (m *Machine[T]) weight(msg T) int {
	if m.weigh == nil {
		return 0
	}
	return m.weigh(msg)
}

// before returns what is held and has the key of a message, but for what that
// message itself replaces, if it is of a slot.
func (m *Machine[T]) before(own *slotID, params Lookup, now time.Time) []T {
	if len(m.due) == 0 || params == nil {
		return nil
	}
	var ready []*slot[T]
	for _, path := range m.paths {
		if path == "" {
			continue // only its own kind has a place in that order
		}
		key, ok := params(path)
		if !ok {
			continue
		}
		for _, rule := range m.order {
			other := slotID{rule.Method, key}
			if rule.Key != path || own != nil && other == *own {
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
	if len(ready) == 0 {
		return nil
	}
	slices.SortFunc(ready, func(a, b *slot[T]) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]T, 0, len(ready)+1)
	for _, s := range ready {
		rule := m.rules[s.id.method]
		out = append(out, m.take(s))
		s.next = now.Add(rule.Every)
		rule.stats.Sent++
	}
	return out
}

// take empties a slot.
func (m *Machine[T]) take(s *slot[T]) T {
	var none T
	msg := s.msg
	m.bytes -= m.weight(msg)
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

// Drop forgets everything that is held, which is counted, and every key: there
// is nobody any more who could take it.
func (m *Machine[T]) Drop() {
	for _, s := range slices.Clone(m.due) {
		m.take(s)
		m.rules[s.id.method].stats.Dropped++
	}
	clear(m.slots)
}

// Held is how many messages are held.
func (m *Machine[T]) Held() int { return len(m.due) }

// Each calls f with each rule, in the order of [New], and its counts.
func (m *Machine[T]) Each(f func(Rule, Stats)) {
	held := make(map[string]int, len(m.order))
	for _, s := range m.due {
		held[s.id.method]++
	}
	for _, r := range m.order {
		r.stats.Held = held[r.Method]
		f(r.Rule, r.stats)
	}
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
