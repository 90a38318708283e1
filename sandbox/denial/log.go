package denial

import (
	"sync"
	"time"
)

// MaxDifferent is how many different denials a Log keeps unless it is told
// otherwise.
const MaxDifferent = 256

// Log keeps what was denied: each different thing once, with a count. It must
// be made by [NewLog].
type Log struct {
	mu        sync.Mutex
	max       int
	byKey     map[key]int
	list      []Denial // in the order in which they came first
	lost      uint64
	followers map[int]func(Denial)
	next      int
}

type key struct {
	kind   Kind
	path   string
	source Source
}

// NewLog makes a Log of at most max different denials; 0 is [MaxDifferent].
func NewLog(max int) *Log {
	if max <= 0 {
		max = MaxDifferent
	}
	return &Log{max: max, byKey: map[key]int{}, followers: map[int]func(Denial){}}
}

// Add counts d. A Count of 0 is one, a zero First or Last is now, an empty
// Field and Suggest are filled in where the policy has a field for it.
// Followers are called before Add returns.
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

// List is a copy of what was denied so far, in the order in which it came
// first.
func (l *Log) List() []Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Denial(nil), l.list...)
}

// Lost is how many denials found no place because there were too many
// different ones.
func (l *Log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Follow has f called for every denial from now on, with its count so far. f
// is called by whoever adds, possibly by several at once; it must not wait. A
// call that is under way may still come after stop has returned.
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
