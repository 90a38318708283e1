package denial

import (
	"sync"
	"time"
)

// MaxDifferent is how many different denials a Log keeps by default.
const MaxDifferent = 256

// Log keeps denials, each different one once with a count. It must be made by
// [NewLog].
type Log struct {
	mu        sync.Mutex
	max       int
	byKey     map[key]int
	list      []Denial // ordered by first occurrence
	lost      uint64
	followers map[int]func(Denial)
	next      int
}

type key struct {
	kind   Kind
	path   string
	source Source
}

// NewLog returns a Log of at most max different denials; 0 is [MaxDifferent].
func NewLog(max int) *Log {
	if max <= 0 {
		max = MaxDifferent
	}
	return &Log{max: max, byKey: map[key]int{}, followers: map[int]func(Denial){}}
}

// Add counts d. A Count of 0 means 1, a zero First or Last means now. Add fills in
// an empty Field and Suggest if a policy field would allow d, and calls the
// followers before it returns.
func (l *Log) Add(d Denial) {
	if d.Count == 0 {
		d.Count = 1
	}
	if d.First.IsZero() {
		d.First = time.Now()
	}
	if d.Last.IsZero() {
		d.Last = d.First
	}
	l.mu.Lock()
	k := key{d.Kind, d.Path, d.Source}
	i, known := l.byKey[k]
	switch {
	case known:
		e := &l.list[i]
		e.Count += d.Count
		if d.Last.After(e.Last) {
			e.Last = d.Last
		}
		d = *e
	case len(l.list) >= l.max:
		l.lost += d.Count
		l.mu.Unlock()
		return
	default:
		d.complete(d.First)
		l.byKey[k] = len(l.list)
		l.list = append(l.list, d)
	}
	var fs []func(Denial)
	for _, f := range l.followers {
		fs = append(fs, f)
	}
	l.mu.Unlock()
	for _, f := range fs {
		f(d)
	}
}

// List returns a copy of the denials so far, ordered by first occurrence.
func (l *Log) List() []Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Denial(nil), l.list...)
}

// Lost returns how many denials were dropped because there were too many different
// ones.
func (l *Log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Follow calls f for every denial from now on, with its count so far. f is called on
// the goroutine that calls Add, possibly on several at once, and must not block. A
// call of f may still be in progress after stop has returned.
func (l *Log) Follow(f func(Denial)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	l.followers[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.followers, id)
	}
}
