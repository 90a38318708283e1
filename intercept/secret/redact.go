package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Redactor takes values out of what is kept and shown: in their place stands
// [redacted: NAME]. It knows the values that are held at the moment. Without any
// it does nothing, in no time; with some, each text is searched once for all of
// them. A nil *Redactor holds nothing. Safe for concurrent use.
type Redactor struct {
	linger time.Duration
	active atomic.Bool

	mu       sync.RWMutex
	held     map[string]*held // by name and value
	patterns []*pattern
	matcher  *matcher // of patterns
	timers   map[*time.Timer]bool
	closed   bool
}

// held is one value of one secret.
type held struct {
	key      string
	count    int
	patterns []*pattern
}

// NewRedactor returns a redactor that goes on looking for a value for linger
// after it was let go.
func NewRedactor(linger time.Duration) *Redactor {
	return &Redactor{linger: linger, held: make(map[string]*held), timers: make(map[*time.Timer]bool)}
}

// Linger is how long a value is looked for after it was let go.
func (r *Redactor) Linger() time.Duration {
	if r == nil {
		return 0
	}
	return r.linger
}

// Label is what stands in place of a secret's value.
func Label(name string) string { return "[redacted: " + name + "]" }

// Hold begins to look for a value, which stays the caller's, until release is
// called as often as Hold was, and for a while longer. release does no harm when
// it is called again.
func (r *Redactor) Hold(name string, value []byte) (release func()) {
	if r == nil || len(value) < MinValue {
		return func() {}
	}
	key := name + "\x00" + digest(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return func() {}
	}
	h := r.held[key]
	if h == nil {
		h = &held{key: key}
		label := []byte(Label(name))
		for _, text := range forms(value) {
			h.patterns = append(h.patterns, newPattern(text, label))
		}
		r.held[key] = h
		r.look(append(slices.Clone(r.patterns), h.patterns...))
	}
	h.count++
	return sync.OnceFunc(func() { r.release(h) })
}

// release lets go of a value when its time is over.
func (r *Redactor) release(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.linger <= 0 {
		r.drop(h)
		return
	}
	var t *time.Timer
	t = time.AfterFunc(r.linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.timers, t)
		r.drop(h)
	})
	r.timers[t] = true
}

// drop forgets one holding of a value, and the value with the last. Under the lock.
func (r *Redactor) drop(h *held) {
	if h.count--; h.count > 0 || r.closed {
		return
	}
	delete(r.held, h.key)
	r.look(slices.DeleteFunc(slices.Clone(r.patterns), func(p *pattern) bool { return slices.Contains(h.patterns, p) }))
	for _, p := range h.patterns {
		p.wipe()
	}
}

// look sets what is looked for. Under the lock.
func (r *Redactor) look(patterns []*pattern) {
	r.patterns, r.matcher = patterns, newMatcher(patterns)
	r.active.Store(len(patterns) > 0)
}

// Close wipes all values at once. Nothing is looked for any more. Idempotent.
func (r *Redactor) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for t := range r.timers {
		t.Stop()
	}
	clear(r.timers)
	for _, p := range r.patterns {
		p.wipe()
	}
	clear(r.held)
	r.look(nil)
}

// Active says whether there is anything to look for.
func (r *Redactor) Active() bool { return r != nil && r.active.Load() }

// Bytes returns b without the values in it: b itself where there are none, else
// new memory.
func (r *Redactor) Bytes(b []byte) []byte {
	out, _ := r.scan(b, false)
	return out
}

// String is Bytes for a string.
func (r *Redactor) String(s string) string {
	if !r.Active() || len(s) < MinValue {
		return s
	}
	b := []byte(s)
	out, _ := r.scan(b, false)
	if len(out) == len(b) && (len(b) == 0 || &out[0] == &b[0]) {
		return s
	}
	return string(out)
}

// Stream is Bytes for what comes in pieces. Of b it leaves the last held bytes
// alone, which are not in out: they may be the beginning of a value, and are to be
// put before what comes next. Values do not go over a line's end, so nothing
// before one is held.
func (r *Redactor) Stream(b []byte) (out []byte, held int) { return r.scan(b, true) }

// Last is Bytes for the end of what came in pieces: the beginning of a value
// that never came whole goes too, if there is enough of it to tell.
func (r *Redactor) Last(b []byte) []byte {
	out, left := r.scan(b, true)
	if rest := b[len(b)-left:]; left >= minLine {
		return append(out[:len(out):len(out)], "[redacted]"...)
	} else if left > 0 {
		return append(out[:len(out):len(out)], rest...)
	}
	return out
}

// scan finds the values in b.
func (r *Redactor) scan(b []byte, streamed bool) (out []byte, left int) {
	if !r.Active() || len(b) == 0 {
		return b, 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.matcher == nil {
		return b, 0
	}
	var found []match
	for _, p := range r.matcher.in(b) {
		found = p.find(found, b)
	}
	if streamed {
		line := b[bytes.LastIndexByte(b, '\n')+1:]
		for _, p := range r.patterns {
			left = max(left, p.begun(line))
		}
	}
	end := len(b) - left
	if len(found) == 0 {
		return b[:end], left
	}
	// What overlaps becomes one, labelled as what begins first, and of those
	// what is longest.
	sort.Slice(found, func(i, j int) bool {
		x, y := found[i], found[j]
		return x.from < y.from || x.from == y.from && x.to > y.to
	})
	at := 0
	for i := 0; i < len(found); {
		m := found[i]
		for i++; i < len(found) && found[i].from < m.to; i++ {
			m.to = max(m.to, found[i].to)
		}
		if m.from >= end {
			break // held, and found again with what follows
		}
		if m.to > end { // its end may be another's beginning: both go
			left -= m.to - end
			end = m.to
		}
		out = append(append(out, b[at:m.from]...), m.label...)
		at = m.to
	}
	return append(out, b[at:end]...), left
}

// JSON is String for a JSON document: the strings in it are looked at as they
// are meant, however they are written, and numbers too. What is no JSON is
// looked at as a text, and becomes a string if anything is found.
func (r *Redactor) JSON(text []byte) []byte {
	if !r.Active() || len(text) == 0 {
		return text
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if out := r.Bytes(text); !bytes.Equal(out, text) {
			quoted, _ := json.Marshal(string(out)) // a string always can be
			return quoted
		}
		return text
	}
	changed := false
	v = r.walk(v, &changed)
	if !changed {
		return text
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}

func (r *Redactor) walk(v any, changed *bool) any {
	text := func(s string) string {
		out := r.String(s)
		*changed = *changed || out != s
		return out
	}
	switch v := v.(type) {
	case string:
		return text(v)
	case json.Number:
		if s := text(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = r.walk(v[i], changed)
		}
	case map[string]any:
		for k, e := range v {
			e = r.walk(e, changed)
			if name := text(k); name != k {
				delete(v, k)
				k = name
			}
			v[k] = e
		}
	}
	return v
}

// Value is what stands in place of v, of any type, in a line of a log: v itself
// unless something was found in how it is written.
func (r *Redactor) Value(v any) any {
	if !r.Active() {
		return v
	}
	var s string
	switch v := v.(type) {
	case bool, int, int64, uint64, float64, time.Duration, time.Time, nil:
		return v
	case string:
		return r.String(v)
	case []string:
		s = strings.Join(v, " ")
	case []byte:
		s = string(v)
	default:
		s = fmt.Sprint(v)
	}
	if out := r.String(s); out != s {
		return out
	}
	return v
}
