package dscode

import (
	"errors"
	"net"
	"sync"
)

// outLimit is how many bytes may wait for one connection. A message that is
// larger waits alone.
const outLimit = 4 << 20

// outqueue holds whole frames that wait to be written to one connection.
type outqueue struct {
	mu    sync.Mutex
	buf   []byte
	spare []byte        // memory of what was written, to be used again
	marks []mark        // one for each frame in buf
	ended bool          // nothing more comes
	err   error         // nothing more is taken
	wake  chan struct{} // capacity 1: there is something to take
	space chan struct{} // capacity 1: something was taken
}

// mark says where a frame ends.
type mark struct {
	end    int
	number uint64
}

func newOutqueue() *outqueue {
	return &outqueue{wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

var errNoRoom = errors.New("the host does not read")

// put adds a frame, or returns errNoRoom. Whoever has put some wakes the writer
// then, so that they leave together.
func (q *outqueue) put(frame []byte, number uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		return q.err
	case q.ended:
		return net.ErrClosed
	case len(q.buf) >= outLimit:
		return errNoRoom
	}
	q.buf = append(q.buf, frame...)
	q.marks = append(q.marks, mark{len(q.buf), number})
	return nil
}

// take waits for frames until stop is closed. more is false when there are
// none and none will come.
func (q *outqueue) take(stop <-chan struct{}) (buf []byte, marks []mark, more bool) {
	for {
		q.mu.Lock()
		buf, marks = q.buf, q.marks
		q.buf, q.marks, q.spare = q.spare[:0], nil, nil
		end := q.ended || q.err != nil
		q.mu.Unlock()
		if len(buf) > 0 {
			signal(q.space)
			return buf, marks, true
		}
		if end {
			return nil, nil, false
		}
		select {
		case <-q.wake:
		case <-stop:
			return nil, nil, true
		}
	}
}

// giveBack puts frames in front again that were taken and not written. n is
// how many bytes were; the last frame that was written whole is returned, 0 for
// none.
func (q *outqueue) giveBack(buf []byte, marks []mark, n int) (written uint64) {
	from := 0
	for len(marks) > 0 && marks[0].end <= n {
		from, written = marks[0].end, marks[0].number
		marks = marks[1:]
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(marks) == 0 {
		if cap(buf) <= 1<<20 { // else a large message has blown it up
			q.spare = buf
		}
		return written
	}
	if q.err != nil {
		return written
	}
	rest := append([]byte(nil), buf[from:]...)
	kept := make([]mark, 0, len(marks)+len(q.marks))
	for _, m := range marks {
		kept = append(kept, mark{m.end - from, m.number})
	}
	for _, m := range q.marks {
		kept = append(kept, mark{m.end + len(rest), m.number})
	}
	q.buf, q.marks = append(rest, q.buf...), kept
	signal(q.wake)
	return written
}

// end lets what waits be written, and then nothing more.
func (q *outqueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	signal(q.wake)
}

// fail drops what waits.
func (q *outqueue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err, q.buf, q.marks, q.spare = err, nil, nil, nil
	}
	signal(q.wake)
	signal(q.space)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
