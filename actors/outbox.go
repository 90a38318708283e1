package actors

import (
	"errors"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// outboxLimit is how many bytes may wait for a host that does not read. A
// message that is larger than that may wait alone. What the supervisor has to
// say for itself (see conn.post) may go over it by as much again; noLimit is
// for what an actor, which must not wait, has in memory already.
const (
	outboxLimit = 4 << 20
	noLimit     = math.MaxInt
)

// wire is one connected byte stream to a host.
type wire interface {
	io.Reader
	io.Writer
	io.Closer
	// TryWrite writes what the kernel takes at once and never waits.
	TryWrite(p []byte) (int, error)
	// CloseWrite ends our half: the host reads EOF.
	CloseWrite() error
}

// outbox is the write side of a connection: frames are appended by whoever
// sends, and leave together. Under load one write carries many frames; a lone
// frame is written by its sender, which saves waking the write loop.
type outbox struct {
	w       wire
	mu      sync.Mutex
	buf     []byte        // frames that wait
	spare   []byte        // the buffer of the write before
	writing bool          // somebody is in write or about to
	held    bool          // some of buf waits for release
	ending  bool          // close our half once buf is empty
	err     error         // why nothing can be written any more
	space   chan struct{} // closed when buf has been taken; nil when no writer waits
	wake    chan struct{} // capacity 1; closed at the end

	// taken, when not nil, is told of each message that is in buf, before any of
	// it can be written. It is called under mu.
	// What it returns is for who appends.
	taken func(*codec.Message) pending.Effect

	// broke, when not nil, is told, once, that the wire cannot be written to any
	// more though nobody closed it here. It is called under mu and must not block.
	broke func(error)
}

// when says who writes a message.
type when uint8

const (
	byLoop when = iota // the write loop, with what comes until then
	here               // who puts it, unless somebody is writing
	held               // whoever writes next, at the latest release
)

func newOutbox(w wire) *outbox { return &outbox{w: w, wake: make(chan struct{}, 1)} }

// errFull is returned by put when the host does not read; space then says when
// to try again.
var errFull = errors.New("outbox full")

// put appends one message and sets its size.
func (o *outbox) put(s codec.Session, m *codec.Message, w when) (space <-chan struct{}, err error) {
	return o.add(s, m, w, outboxLimit)
}

// add is put with a limit of its own.
func (o *outbox) add(s codec.Session, m *codec.Message, w when, limit int) (space <-chan struct{}, err error) {
	_, space, err = o.append(s, m, w, limit)
	return space, err
}

// append is add, and returns what taken has said.
func (o *outbox) append(s codec.Session, m *codec.Message, w when, limit int) (told pending.Effect, space <-chan struct{}, err error) {
	o.mu.Lock()
	if o.err != nil {
		err = o.err
		o.mu.Unlock()
		return 0, nil, err
	}
	if len(o.buf) >= limit {
		if o.space == nil {
			o.space = make(chan struct{})
		}
		space = o.space
		o.mu.Unlock()
		return 0, space, errFull
	}
	buf, err := s.Append(o.buf, m)
	if err != nil {
		o.mu.Unlock()
		return 0, nil, err
	}
	m.Size = len(buf) - len(o.buf)
	o.buf = buf
	if o.taken != nil {
		told = o.taken(m)
	}
	switch {
	case o.writing:
		o.mu.Unlock()
	case w == held:
		o.held = true
		o.mu.Unlock()
	case w == byLoop:
		o.writing = true
		o.mu.Unlock()
		o.kick()
	default:
		o.writing = true
		o.dash()
	}
	return told, nil, nil
}

// release writes what was held, unless somebody is writing.
func (o *outbox) release() {
	o.mu.Lock()
	if !o.held {
		o.mu.Unlock()
		return
	}
	o.held = false
	if o.writing || len(o.buf) == 0 || o.err != nil {
		o.mu.Unlock()
		return
	}
	o.writing = true
	o.dash()
}

// dash writes here what the kernel takes at once, and leaves the rest to the
// write loop. It is called under the lock, by who has set writing, and gives the
// lock back.
func (o *outbox) dash() {
	mine := o.swap()
	o.mu.Unlock()
	n, err := o.w.TryWrite(mine)
	o.mu.Lock()
	switch {
	case err != nil:
		o.breaks(err)
	case n < len(mine):
		// The rest goes before whatever was appended meanwhile.
		o.buf = append(append(o.spare[:0:0], mine[n:]...), o.buf...)
		o.mu.Unlock()
		o.kick()
		return
	case len(o.buf) > 0 || o.ending:
		o.mu.Unlock()
		o.kick()
		return
	}
	o.spare = keep(mine)
	o.writing = false
	o.mu.Unlock()
}

// forget ends a request of the host's without an answer, where its protocol
// wants none; false: it is to be answered.
func (o *outbox) forget(s codec.Session, id uint32) bool {
	f, ok := s.(codec.Forgetter)
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
	if o.space != nil {
		close(o.space)
		o.space = nil
	}
	return mine
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
		if o.space != nil {
			close(o.space)
			o.space = nil
		}
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
	if o.err == nil && !o.writing {
		o.writing = true
		o.mu.Unlock()
		o.kick()
		return
	}
	o.mu.Unlock()
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
				ending := o.ending
				o.writing = false
				if ending {
					o.fail(io.ErrClosedPipe)
				}
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
			o.mu.Lock()
			o.spare = keep(mine)
			if err != nil {
				o.breaks(err)
			}
			o.mu.Unlock()
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
	return len(o.buf) >= outboxLimit
}
