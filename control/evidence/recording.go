package evidence

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// Bounds of what is remembered of the messages of a life, in each direction and in a report.
const (
	maxParams   = 64 << 10  // bytes of the parameters of one message
	maxHeld     = 256 << 10 // bytes of parameters
	maxMessages = 1000
	maxOpening  = 12       // messages to a host, from the first of a life, that are kept for good
	maxAll      = 64 << 20 // bytes for the parameters of all hosts
)

// header is what is remembered of a message besides its parameters.
type header struct {
	at     int64 // reading of the host's [link.Env]
	method string
	size   int // bytes of the parameters
	held   int // bytes that are kept of them; 0: they are not kept
	id     uint32
	kind   codec.Kind
	sent   bool
	clean  bool // what is kept is JSON, without the values of secrets
}

// message is one message that a recorder has seen, with a copy of its parameters.
type message struct {
	header
	params codec.Raw // nil: not kept
	number uint64    // within its life, from 1
}

// lost counts messages by the second, so that counting takes no memory for each.
type lost [int(Window/time.Second) + 1]struct {
	second int64
	n      int
}

func (l *lost) add(at int64) {
	second := at / int64(time.Second)
	c := &l[second%int64(len(l))]
	if c.second != second {
		c.second, c.n = second, 0
	}
	c.n++
}

// since returns how many were lost in the seconds from the one of a reading on.
func (l *lost) since(at int64) (n int) {
	for _, c := range l {
		if c.second >= at/int64(time.Second) {
			n += c.n
		}
	}
	return n
}

// recording is what is remembered of the messages of one life in one direction: the first that were
// sent, and those of the last [Window]. The window is two rings, one of headers and one of the bytes
// of their parameters. They grow to their bounds and are then used again, so that a message of a
// busy host takes no new memory.
//
// Each direction has a lock of its own: the read loop and the writers of a busy host would wait for
// each other, and a Go mutex that is waited for costs a switch of goroutines for each message.
type recording struct {
	mu      sync.Mutex
	all     *atomic.Int64 // bytes of all recordings
	gone    bool          // nothing is recorded any more
	opening []message     // never changed but by append
	number  uint64        // of messages so far
	lost    lost          // messages of the last Window for which there was no room

	headers  []header
	first, n int    // the oldest of headers, and how many there are
	params   []byte // of the n headers, in their order
	from     int    // where those of the first begin
	used     int    // bytes
}

// add remembers a message, and forgets what is too old or too much then. params is copied.
func (l *recording) add(h header, params codec.Raw) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	l.number++
	l.expire(h.at)
	if len(params) > 0 && l.room(len(params)) {
		h.held = len(params)
	}
	for l.n == maxMessages || len(l.params)-l.used < h.held {
		l.lost.add(l.headers[l.first].at)
		l.drop()
	}
	if l.n == len(l.headers) {
		grown := make([]header, min(max(8, 2*l.n), maxMessages))
		copy(grown[copy(grown, l.headers[l.first:]):], l.headers[:l.first])
		l.headers, l.first = grown, 0
	}
	l.headers[wrap(l.first+l.n, len(l.headers))] = h
	l.n++
	if h.held > 0 {
		to := wrap(l.from+l.used, len(l.params))
		copy(l.params, params[copy(l.params[to:], params):])
		l.used += h.held
	}
	if h.sent && len(l.opening) < maxOpening {
		m := message{header: h, number: l.number}
		if h.held > 0 {
			m.params = slices.Clone(params)
			l.all.Add(int64(h.held))
		}
		l.opening = append(l.opening, m)
	}
}

// wrap returns the place i in a ring of n, for 0 ≤ i < 2n.
func wrap(i, n int) int {
	if i >= n {
		return i - n
	}
	return i
}

// expire forgets what is too old at now. The caller must hold mu, as for the functions below.
func (l *recording) expire(now int64) {
	for l.n > 0 && now-l.headers[l.first].at > int64(Window) {
		l.drop()
	}
}

// drop forgets the oldest message.
func (l *recording) drop() {
	h := &l.headers[l.first]
	l.from, l.used = wrap(l.from+h.held, len(l.params)), l.used-h.held
	*h = header{}
	l.first, l.n = wrap(l.first+1, len(l.headers)), l.n-1
}

// room makes params large enough for n bytes more, where older ones may have to be forgotten. It
// reports false if they are more than a life may have, or if all hosts have all they may have.
func (l *recording) room(n int) bool {
	size := len(l.params)
	if l.used+n <= size || size == maxHeld || n > maxHeld {
		return n <= maxHeld
	}
	grown := max(2*size, 512)
	for grown < l.used+n {
		grown *= 2
	}
	grown = min(grown, maxHeld)
	if more := int64(grown - size); l.all.Add(more) > maxAll {
		l.all.Add(-more)
		return n <= size
	}
	params := make([]byte, grown)
	l.read(params, l.from, l.used)
	l.params, l.from = params, 0
	return true
}

// read copies n bytes of the ring of parameters, which begin at from.
func (l *recording) read(to []byte, from, n int) {
	head := copy(to[:n], l.params[from:])
	copy(to[head:n], l.params)
}

// messages returns the window, oldest first.
func (l *recording) messages() (window []message) {
	from, number := l.from, l.number-uint64(l.n)
	for i := range l.n {
		number++
		m := message{header: l.headers[wrap(l.first+i, len(l.headers))], number: number}
		if m.held > 0 {
			m.params = make(codec.Raw, m.held)
			l.read(m.params, from, m.held)
			from = wrap(from+m.held, len(l.params))
		}
		window = append(window, m)
	}
	return window
}

// tend forgets what is too old at now, and gives the memory of an empty window back.
func (l *recording) tend(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expire(now); l.n == 0 {
		l.all.Add(-int64(len(l.params)))
		l.headers, l.params, l.first, l.from = nil, nil, 0, 0
	}
}

// forget gives all memory back, and remembers nothing any more.
func (l *recording) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.opening {
		l.all.Add(-int64(len(m.params)))
	}
	l.all.Add(-int64(len(l.params)))
	l.opening, l.headers, l.params, l.n, l.used, l.gone = nil, nil, nil, 0, 0, true
}

// snapshot returns a copy of what is remembered at a reading.
func (l *recording) snapshot(at int64) (opening, window []message, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(at)
	return l.opening, l.messages(), l.lost.since(at - int64(Window))
}

// life is what is remembered of one life.
type life struct {
	n              uint64
	program        string // guarded by the recorder's lock
	sent, received recording
}

// snapshot returns what is remembered at a reading, oldest first: of the first messages those that
// are not in the window.
func (l *life) snapshot(at int64) (opening, window []message, lost int) {
	opening, window, lost = l.sent.snapshot(at)
	_, received, more := l.received.snapshot(at)
	lost += more
	window = append(window, received...)
	slices.SortStableFunc(window, func(a, b message) int { return cmp.Compare(a.at, b.at) })
	held, from := 0, len(window)
	for from > 0 && len(window)-from < maxMessages && held+window[from-1].held <= maxHeld {
		from--
		held += window[from].held
	}
	lost += from
	window = window[from:]
	for _, m := range window {
		if m.sent {
			opening = slices.DeleteFunc(slices.Clone(opening), func(o message) bool { return o.number >= m.number })
			break
		}
	}
	return opening, window, lost
}
