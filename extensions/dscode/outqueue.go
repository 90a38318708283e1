package dscode

import (
	"errors"
	"net"
	"sync"
)

// outLimit bounds the bytes that are queued for one connection. A larger message is
// queued alone.
const outLimit = 4 << 20

// outqueue is a queue of complete frames for one connection.
type outqueue struct {
	mu    sync.Mutex
	buf   []byte
	spare []byte        // a written buffer for reuse
	marks []mark        // one for each frame in buf
	ended bool          // no more frames will be put
	err   error         // the error of put; frames are dropped
	wake  chan struct{} // capacity 1: frames were put
	space chan struct{} // capacity 1: frames were taken
}

// mark is the end of a frame in the buffer, with the frame's number.
type mark struct {
	end    int
	number uint64
}

func newOutqueue() *outqueue {
	return &outqueue{wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

var errNoRoom = errors.New("the host does not read")

// put adds a frame, or returns errNoRoom. After a batch of frames the caller must signal
// wake, so that they are written together.
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

// take waits for frames until stop is closed. more is false if the queue is empty and no
// frame will be put.
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

// putBack returns frames that were taken and not written completely to the front of the
// queue. n is the number of bytes that were written. It returns the number of the last
// frame that was written completely, 0 for none.
func (q *outqueue) putBack(buf []byte, marks []mark, n int) (written uint64) {
	from := 0
	for len(marks) > 0 && marks[0].end <= n {
		from, written = marks[0].end, marks[0].number
		marks = marks[1:]
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(marks) == 0 {
		if cap(buf) <= 1<<20 { // otherwise a large message has grown it
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

// end marks the queue as complete: its frames are written, and put fails.
func (q *outqueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	signal(q.wake)
}

// fail drops all frames and makes put return err.
func (q *outqueue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err, q.buf, q.marks, q.spare = err, nil, nil, nil
	}
	signal(q.wake)
	signal(q.space)
}

// signal sends to a channel of capacity 1 without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
