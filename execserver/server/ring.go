package server

import (
	"sort"
	"sync"
	"unsafe"

	"github.com/hostsup/hostsup/execserver/wire"
)

// pageBytes is how much one read of a stream takes, and the size of the pieces of
// memory in which much output is kept.
const pageBytes = 64 << 10

// page holds the bytes of some chunks. Those of pageBytes go back to the pool
// when their last chunk is dropped.
type page struct {
	b    []byte
	refs int // chunks in it; under the lock of the ring's owner
}

var pages = sync.Pool{New: func() any { return &page{b: make([]byte, 0, pageBytes)} }}

func getPage() *page {
	p := pages.Get().(*page)
	p.b, p.refs = p.b[:0], 0
	return p
}

func putPage(p *page) {
	if cap(p.b) == pageBytes {
		pages.Put(p)
	}
}

// chunk is a piece of output.
type chunk struct {
	seq    uint64
	stream wire.Stream
	data   []byte
	page   *page
}

// ring keeps the last chunks of a process's output, in order of their seq. It
// is guarded by its owner's lock.
type ring struct {
	chunks []chunk // from head on, wrapping around; the length is a power of two
	head   int
	n      int
	bytes  int
	pages  int   // bytes of the pages that chunks lie in
	tail   *page // where small chunks are copied to

	lostChunks, lostBytes uint64
	lostThrough           uint64 // the last seq that is gone, or 0
}

func (r *ring) at(i int) *chunk { return &r.chunks[(r.head+i)&(len(r.chunks)-1)] }

// memory returns how many bytes the ring takes.
func (r *ring) memory() int { return r.pages + len(r.chunks)*int(unsafe.Sizeof(chunk{})) }

func (r *ring) push(c chunk) {
	if r.n == len(r.chunks) {
		r.resize(max(4, 2*len(r.chunks)))
	}
	if c.page.refs == 0 {
		r.pages += cap(c.page.b)
	}
	c.page.refs++
	*r.at(r.n) = c
	r.n++
	r.bytes += len(c.data)
}

// resize makes room for size chunks, a power of two.
func (r *ring) resize(size int) {
	chunks := make([]chunk, size)
	for i := range r.n {
		chunks[i] = *r.at(i)
	}
	r.chunks, r.head = chunks, 0
}

// leastChunks is the room for chunks that is not made smaller.
const leastChunks = 256

// drop forgets the oldest chunk.
func (r *ring) drop() {
	c := r.at(0)
	r.bytes -= len(c.data)
	r.lostBytes += uint64(len(c.data))
	r.lostChunks++
	r.lostThrough = c.seq
	if c.page.refs--; c.page.refs == 0 {
		r.pages -= cap(c.page.b)
		if c.page != r.tail {
			putPage(c.page)
		}
	}
	*c = chunk{}
	r.head = (r.head + 1) & (len(r.chunks) - 1)
	if r.n--; len(r.chunks) > leastChunks && r.n < len(r.chunks)/8 {
		r.resize(len(r.chunks) / 4)
	}
}

// trim drops the oldest chunks while there are more than bytes or chunks, but keeps
// those from seq keep on. It returns how many dropped bytes were of chunks from seq
// sent on.
func (r *ring) trim(bytes, chunks int, keep, sent uint64) (lost int) {
	for r.n > 1 && (r.bytes > bytes || r.n > chunks) && r.at(0).seq < keep {
		if c := r.at(0); c.seq >= sent {
			lost += len(c.data)
		}
		r.drop()
	}
	return lost
}

// room returns memory for n bytes that are to be kept.
func (r *ring) room(n int) *page {
	if r.tail != nil && cap(r.tail.b)-len(r.tail.b) >= n {
		return r.tail
	}
	old := r.tail
	size := 512
	if old != nil {
		size = 4 * cap(old.b)
	}
	if size = max(size, n); size >= pageBytes {
		r.tail = getPage()
	} else {
		r.tail = &page{b: make([]byte, 0, size)}
	}
	if old != nil && old.refs == 0 {
		putPage(old)
	}
	return r.tail
}

// from returns the index of the first chunk whose seq is at least seq.
func (r *ring) from(seq uint64) int {
	return sort.Search(r.n, func(i int) bool { return r.at(i).seq >= seq })
}

// free gives all memory back.
func (r *ring) free() {
	for r.n > 0 {
		r.drop()
	}
	if r.tail != nil {
		putPage(r.tail)
	}
	r.chunks, r.tail = nil, nil
}
