package link

import (
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/codec"
)

// Limit is how many bytes may wait for a peer that does not read, plus one message. A
// link's own messages (see [Conn.Post]) may exceed it by as much again. NoLimit is for
// senders that must not wait, such as actors, and have the message in memory anyway.
const (
	Limit   = 4 << 20
	NoLimit = math.MaxInt
)

// ErrFull means that the peer does not read, and that the limit is reached.
var ErrFull = errors.New("outbox full")

// outbox is the write side of a connection. Senders append frames, which leave
// together: under load one write carries many of them. A lone frame is written by its
// sender, which saves waking the write loop.
type outbox struct {
	w       Wire
	env     Env
	session codec.Session
	can     codec.SessionFeatures
	broke   func(error) // see [Owner.Broke]

	mu      sync.Mutex
	buf     []byte        // frames that wait
	ending  bool          // close our half once buf is empty
	err     error         // why nothing can be written any more
	space   chan struct{} // closed when buf was taken; nil while no sender waits for room
	wake    chan struct{} // capacity 1
	request codec.Message // the one being encoded; a field, so that nothing is allocated for it
	turn    bool          // the read loop is in a turn, at whose end it writes what handlers answer
	empty   chan struct{} // closed when everything is written; nil while nobody waits for that
	sent    ring          // headers of what was put

	// state tells whether a goroutine writes. It leaves idle only under mu, and gets
	// idle without mu after a lone frame, which saves that lock.
	state atomic.Uint32
	held  atomic.Bool // buf may hold messages that wait for release
	spare []byte      // the buffer of the last write; owned by the goroutine that writes
}

// States of an outbox.
const (
	idle uint32 = iota
	busy        // a goroutine writes or is about to
	more        // likewise, and what was put since waits for the write loop
)

// when selects who writes a message, and when.
type when uint8

const (
	byLoop when = iota // the write loop, with what is put until then
	here               // the goroutine that puts it, unless another one writes
	held               // the next write takes it along; release at the latest
	ofTurn             // as held while the read loop is in a turn, else as here
)

// put appends one message and sets its size. If buf has limit bytes or more, the error
// is ErrFull, and space is closed when buf was taken.
func (o *outbox) put(m *codec.Message, w when, limit int) (space <-chan struct{}, err error) {
	o.mu.Lock()
	if space, err = o.room(limit); err == nil {
		err = o.encode(m, o.now())
	}
	if err != nil {
		o.mu.Unlock()
		return space, err
	}
	o.flush(w)
	return nil, nil
}

// now returns the time for a header, 0 if none are kept.
func (o *outbox) now() int64 {
	if o.sent.off {
		return 0
	}
	return o.env.Now()
}

// room returns nil if a message may be put, else the results of put. The caller must
// hold mu.
func (o *outbox) room(limit int) (space <-chan struct{}, err error) {
	switch {
	case o.err != nil:
		return nil, o.err
	case len(o.buf) < limit:
		return nil, nil
	case o.space == nil:
		o.space = make(chan struct{})
	}
	return o.space, ErrFull
}

// encode appends a message, and keeps its header before it can be written: the peer may
// crash on it, and the crash report must show it. The caller must hold mu.
func (o *outbox) encode(m *codec.Message, now int64) error {
	buf, err := o.session.Append(o.buf, m)
	if err != nil {
		return err
	}
	m.Size = len(buf) - len(o.buf)
	o.buf = buf
	o.sent.add(now, m)
	return nil
}

// flush has what was put written, in the way that w says. The caller must hold the lock,
// which flush releases.
func (o *outbox) flush(w when) {
	if w == ofTurn {
		w = here
		if o.turn {
			w = held
		}
	}
	if w == held && o.held.Load() || !o.claim() { // it is released with what was held before
		o.mu.Unlock()
		return
	}
	switch w {
	case here:
		o.write()
	case held:
		o.state.Store(idle)
		o.held.Store(true)
		o.mu.Unlock()
	default:
		o.mu.Unlock()
		o.wakeLoop()
	}
}

// claim makes the caller the writer and returns true, unless there is one: that then
// takes along what waits by now. The caller must hold mu.
func (o *outbox) claim() bool {
	for {
		switch o.state.Load() {
		case idle:
			o.state.Store(busy)
			return true
		case more:
			return false
		}
		if o.state.CompareAndSwap(busy, more) { // else the write has just ended
			return false
		}
	}
}

// begin begins a turn of the read loop. The loop must call release or letGo before it
// waits for anything.
func (o *outbox) begin() {
	o.mu.Lock()
	o.turn = true
	o.mu.Unlock()
}

// letGo ends a turn early. The write loop writes what was held.
func (o *outbox) letGo() {
	o.mu.Lock()
	o.turn = false
	if o.held.Load() && o.claim() {
		o.held.Store(false)
		o.wakeLoop()
	}
	o.mu.Unlock()
}

// release writes what was held, unless another goroutine writes.
func (o *outbox) release() {
	if o.held.Load() {
		o.mu.Lock()
		o.releaseLocked()
	}
}

// releaseLocked is release for a caller that holds mu, which it releases. It ends the
// turn.
func (o *outbox) releaseLocked() {
	o.turn = false
	o.held.Store(false)
	if len(o.buf) == 0 || o.err != nil || !o.claim() {
		o.mu.Unlock()
		return
	}
	o.write()
}

// flushed returns a channel that is closed when all that was put before is written, or
// cannot be any more. It is nil if that is so already.
func (o *outbox) flushed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.ending {
		return nil
	}
	if o.claim() {
		if len(o.buf) == 0 {
			o.state.Store(idle)
			return nil
		}
		o.wakeLoop()
	}
	// The loop is awake, or the writer will wake it.
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	return o.empty
}

// write writes what the kernel takes at once, and leaves the rest to the write loop.
// The caller must hold mu, which write releases, and must have claimed the outbox.
func (o *outbox) write() {
	mine := o.swap()
	o.mu.Unlock()
	n, err := o.w.TryWrite(mine)
	if err == nil && n == len(mine) {
		o.spare = keep(mine)
		if !o.state.CompareAndSwap(busy, idle) {
			o.wakeLoop() // for what was put meanwhile
		}
		return
	}
	o.mu.Lock()
	if err != nil {
		o.failWrite(err)
		o.state.Store(idle)
		o.mu.Unlock()
		return
	}
	// The rest goes before whatever was appended meanwhile.
	if rest := mine[n:]; len(o.buf) == 0 {
		o.buf, o.spare = rest, o.buf
	} else {
		o.buf = append(append([]byte(nil), rest...), o.buf...)
	}
	o.mu.Unlock()
	o.wakeLoop()
}

// forget ends a request of the peer without an answer. It returns false if the protocol
// wants one.
func (o *outbox) forget(id uint32) bool {
	if o.can.Forget == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.can.Forget(id)
}

// swap takes what waits. The caller must hold mu and have claimed the outbox.
func (o *outbox) swap() []byte {
	mine := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.wakeWaiters()
	return mine
}

// wakeFlushed wakes those that wait until everything is written. The caller must hold mu.
func (o *outbox) wakeFlushed() {
	if o.empty != nil {
		close(o.empty)
		o.empty = nil
	}
}

// wakeWaiters wakes the senders that wait for room. The caller must hold mu.
func (o *outbox) wakeWaiters() {
	if o.space != nil {
		close(o.space)
		o.space = nil
	}
}

// keep drops a buffer that a large message has blown up.
func keep(b []byte) []byte {
	if cap(b) > 1<<20 {
		return nil
	}
	return b
}

func (o *outbox) wakeLoop() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail makes every later put return err. The caller must hold mu.
func (o *outbox) fail(err error) {
	if o.err == nil {
		o.err = err
		o.buf = nil
		o.wakeWaiters()
		o.wakeFlushed()
	}
}

// failWrite is fail after a failed write. The caller must hold mu.
func (o *outbox) failWrite(err error) {
	if o.err == nil && o.broke != nil {
		o.broke(err)
	}
	o.fail(err)
}

// lost is failWrite for a peer that reads no more.
func (o *outbox) lost() {
	o.mu.Lock()
	o.failWrite(syscall.EPIPE)
	o.mu.Unlock()
}

// end closes this side's half of the stream when everything put before is written.
func (o *outbox) end() {
	o.mu.Lock()
	o.ending = true
	mine := o.err == nil && o.claim()
	o.mu.Unlock()
	if mine {
		o.wakeLoop()
	}
}

// close ends the write loop; what waits is dropped.
func (o *outbox) close(err error) {
	o.mu.Lock()
	o.fail(err)
	o.mu.Unlock()
	o.wakeLoop()
}

// loop writes until the outbox fails or is closed.
func (o *outbox) loop() {
	for range o.wake {
		// The goroutine that woke this loop is often one of many that just got their
		// answers and are about to send again. Letting them run first puts their frames
		// into this write.
		runtime.Gosched()
		for {
			o.mu.Lock()
			if o.err != nil {
				o.mu.Unlock()
				return
			}
			if len(o.buf) == 0 {
				o.state.Store(idle)
				o.wakeFlushed()
				if o.ending {
					o.fail(io.ErrClosedPipe)
				}
				ending := o.ending
				o.mu.Unlock()
				if ending {
					o.w.CloseWrite()
					return
				}
				break
			}
			mine := o.swap()
			o.mu.Unlock()
			_, err := o.w.Write(mine)
			o.spare = keep(mine)
			if err != nil {
				o.mu.Lock()
				o.failWrite(err)
				o.mu.Unlock()
			}
		}
	}
}

// broken reports whether nothing can be written any more.
func (o *outbox) broken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// full reports whether buf has Limit bytes or more.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) >= Limit
}
