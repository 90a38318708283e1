package link

import (
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hostsup/hostsup/codec"
)

// Limit is how many bytes may wait for a peer that does not read. A message that
// is larger than that may wait alone. What a link has to say for itself (see
// [Conn.Post]) may go over it by as much again; NoLimit is for what somebody who
// must not wait has in memory already.
const (
	Limit   = 4 << 20
	NoLimit = math.MaxInt
)

// ErrFull means that the peer does not read, and that as much waits for it as may.
var ErrFull = errors.New("outbox full")

// outbox is the write side of a connection: frames are appended by whoever
// sends, and leave together. Under load one write carries many frames; a lone
// frame is written by its sender, which saves waking the write loop.
type outbox struct {
	w       Wire
	env     Env
	session codec.Session
	broke   func(error) // see [Owner.Broke]

	mu      sync.Mutex
	buf     []byte        // frames that wait
	ending  bool          // close our half once buf is empty
	err     error         // why nothing can be written any more
	space   chan struct{} // closed when buf has been taken; nil when nobody waits for room
	wake    chan struct{} // capacity 1
	request codec.Message // that is being put; here so that sending sets no memory aside
	sent    ring          // headers of what was put

	state atomic.Uint32 // idle, busy or more; left idle under mu only
	held  atomic.Bool   // some of buf may wait for release
	spare []byte        // the buffer of the write before; of whoever is busy
}

// States of an outbox.
const (
	idle uint32 = iota
	busy        // somebody is in a write or about to
	more        // likewise, and what was put since then waits for the write loop
)

// when says who writes a message.
type when uint8

const (
	byLoop when = iota // the write loop, with what comes until then
	here               // who puts it, unless somebody is writing
	held               // whoever writes next, at the latest release
)

// put appends one message and sets its size. After ErrFull, which limit leads to,
// space says when to try again.
func (o *outbox) put(m *codec.Message, w when, limit int) (space <-chan struct{}, err error) {
	o.mu.Lock()
	if space, err = o.room(limit); err == nil {
		err = o.encode(m, o.env.Now())
	}
	if err != nil {
		o.mu.Unlock()
		return space, err
	}
	o.leave(w)
	return nil, nil
}

// room says whether a message may be put; else why not, and after ErrFull when to
// try again. Under the lock.
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

// encode appends a message. Under the lock. Before anything of it can be written,
// its header is kept: the peer may end of it, and a crash report has to have it.
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

// leave sees to it that what was put is written. It is called under the lock, and
// gives it back.
func (o *outbox) leave(w when) {
	if !o.claim() {
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
		o.kick()
	}
}

// claim makes the caller the one who writes, unless somebody is, who then sees to
// what waits by now. Under the lock.
func (o *outbox) claim() bool {
	for {
		switch o.state.Load() {
		case idle:
			o.state.Store(busy)
			return true
		case more:
			return false
		}
		if o.state.CompareAndSwap(busy, more) { // else it has just ended
			return false
		}
	}
}

// release writes what was held, unless somebody is writing.
func (o *outbox) release() {
	if !o.held.Load() {
		return
	}
	o.mu.Lock()
	o.held.Store(false)
	if len(o.buf) == 0 || o.err != nil || !o.claim() {
		o.mu.Unlock()
		return
	}
	o.write()
}

// write writes here what the kernel takes at once, and leaves the rest to the
// write loop. It is called under the lock, by who has claimed the outbox, and gives
// the lock back.
func (o *outbox) write() {
	mine := o.swap()
	o.mu.Unlock()
	n, err := o.w.TryWrite(mine)
	if err == nil && n == len(mine) {
		o.spare = keep(mine)
		if !o.state.CompareAndSwap(busy, idle) {
			o.kick() // more has come
		}
		return
	}
	o.mu.Lock()
	if err != nil {
		o.breaks(err)
		o.state.Store(idle)
		o.mu.Unlock()
		return
	}
	// The rest goes before whatever was appended meanwhile.
	o.buf = append(append([]byte(nil), mine[n:]...), o.buf...)
	o.mu.Unlock()
	o.kick()
}

// forget ends a request of the peer's without an answer, where its protocol
// wants none; false: it is to be answered.
func (o *outbox) forget(id uint32) bool {
	f, ok := o.session.(codec.Forgetter)
	if !ok {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return f.Forget(id)
}

// swap takes what waits. Under the lock.
func (o *outbox) swap() []byte {
	mine := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.wakeWaiters()
	return mine
}

// wakeWaiters tells those who wait for room. Under the lock.
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

func (o *outbox) kick() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// fail makes every later put return err. Under the lock.
func (o *outbox) fail(err error) {
	if o.err == nil {
		o.err = err
		o.buf = nil
		o.wakeWaiters()
	}
}

// breaks is fail after a write that failed. Under the lock.
func (o *outbox) breaks(err error) {
	if o.err == nil && o.broke != nil {
		o.broke(err)
	}
	o.fail(err)
}

// end closes our half of the stream once everything put before is written.
func (o *outbox) end() {
	o.mu.Lock()
	o.ending = true
	mine := o.err == nil && o.claim()
	o.mu.Unlock()
	if mine {
		o.kick()
	}
}

// close ends the write loop; what waits is dropped.
func (o *outbox) close(err error) {
	o.mu.Lock()
	o.fail(err)
	o.mu.Unlock()
	o.kick()
}

// loop writes until the outbox fails or is closed.
func (o *outbox) loop() {
	for range o.wake {
		// Whoever woke this loop is one of many who were just given their
		// answers and are about to send again. Letting them run first puts
		// their frames into this write.
		runtime.Gosched()
		for {
			o.mu.Lock()
			if o.err != nil {
				o.mu.Unlock()
				return
			}
			if len(o.buf) == 0 {
				o.state.Store(idle)
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
				o.breaks(err)
				o.mu.Unlock()
			}
		}
	}
}

// broken says whether nothing can be written any more.
func (o *outbox) broken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// full says whether put would have to wait.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) >= Limit
}
