package capture

import (
	"slices"
	"sort"
	"time"
)

// entry is a Line in memory.
type entry struct {
	text   string
	seq    uint64
	micro  int64
	life   uint64
	stream Stream
	more   bool
}

func (e *entry) line() Line {
	return Line{Seq: e.seq, Time: time.UnixMicro(e.micro).UTC(), Life: e.life, Stream: e.stream, Text: e.text, More: e.more}
}

// limit bounds a ring.
type limit struct{ lines, bytes int }

// ring keeps the newest entries within a limit, in the order of seq. It grows
// as it is filled; the zero value is empty. A nil ring is empty and read-only.
type ring struct {
	life  uint64 // set for the latest life only
	buf   []entry
	head  int // the oldest
	n     int
	bytes int // of text
}

func (r *ring) len() int {
	if r == nil {
		return 0
	}
	return r.n
}

// at returns the i-th oldest entry.
func (r *ring) at(i int) *entry {
	if i += r.head; i >= len(r.buf) {
		i -= len(r.buf)
	}
	return &r.buf[i]
}

// search returns the index of the first entry with at least seq.
func (r *ring) search(seq uint64) int {
	return sort.Search(r.len(), func(i int) bool { return r.at(i).seq >= seq })
}

func (r *ring) push(e entry, max limit) {
	for r.n > 0 && (r.n >= max.lines || r.bytes+len(e.text) > max.bytes) {
		r.drop()
	}
	if r.n == len(r.buf) {
		r.resize(min(max.lines, 2*r.n+8))
	}
	r.n++
	*r.at(r.n - 1) = e
	r.bytes += len(e.text)
}

// drop removes the oldest entry.
func (r *ring) drop() {
	e := r.at(0)
	r.bytes -= len(e.text)
	*e = entry{}
	if r.head++; r.head == len(r.buf) {
		r.head = 0
	}
	r.n--
}

// empty removes all entries and keeps the memory.
func (r *ring) empty() { r.head, r.n, r.bytes = 0, 0, 0 }

// shrink drops the entries over the limit and releases their memory.
func (r *ring) shrink(max limit) {
	if r == nil {
		return
	}
	for r.n > max.lines || r.bytes > max.bytes && r.n > 1 {
		r.drop()
	}
	if len(r.buf) > max.lines {
		r.resize(r.n)
	}
}

func (r *ring) resize(size int) {
	buf := make([]entry, size)
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

// merge returns the newest entries of two rings, which must not be used afterwards.
func merge(a, b *ring, max limit) *ring {
	if a.len() == 0 {
		return b
	}
	out := new(ring)
	for i, j := 0, 0; i < a.len() || j < b.len(); {
		if j >= b.len() || i < a.len() && a.at(i).seq < b.at(j).seq {
			out.push(*a.at(i), max)
			i++
		} else {
			out.push(*b.at(j), max)
			j++
		}
	}
	return out
}

// newest returns up to n of the newest entries of two rings that pass keep,
// oldest first.
func newest(a, b *ring, n int, keep func(*entry) bool) []Line {
	var out []Line
	i, j := a.len()-1, b.len()-1
	for len(out) < n && (i >= 0 || j >= 0) {
		var e *entry
		if j < 0 || i >= 0 && a.at(i).seq > b.at(j).seq {
			e = a.at(i)
			i--
		} else {
			e = b.at(j)
			j--
		}
		if keep == nil || keep(e) {
			out = append(out, e.line())
		}
	}
	slices.Reverse(out)
	return out
}

// since appends up to n entries of two rings from seq on, oldest first.
func since(out []Line, a, b *ring, seq uint64, n int) []Line {
	i, j := a.search(seq), b.search(seq)
	for ; n > 0 && (i < a.len() || j < b.len()); n-- {
		if j >= b.len() || i < a.len() && a.at(i).seq < b.at(j).seq {
			out = append(out, a.at(i).line())
			i++
		} else {
			out = append(out, b.at(j).line())
			j++
		}
	}
	return out
}
