package sdk

import (
	"context"
	"io"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// keepBuffer is the largest buffer kept for the next write; larger ones, made
// by single large messages, go back to the collector.
const keepBuffer = 256 << 10

// writer turns messages into bytes and sees to it that those of many senders
// leave in few writes: whoever finds nobody writing writes all there is, and
// what is added meanwhile leaves with the next write of the same goroutine.
//
// It holds at most limit bytes and one message before senders have to wait.
type writer struct {
	out   io.Writer
	limit int
	kick  chan struct{} // wakes the goroutine of run; capacity 1

	mu      sync.Mutex
	sess    codec.Session
	buf     []byte // encoded, not yet handed to out
	spare   []byte // the other buffer, while nobody writes it
	writing bool
	held    bool          // the receive loop is about to write: others leave it to it
	left    bool          // somebody has
	changed chan struct{} // closed when buf was taken, writing ended or err was set; nil while nobody waits
	err     error         // why nothing can be written any more
}

func newWriter(out io.Writer, sess codec.Session, limit int) *writer {
	return &writer{out: out, sess: sess, limit: limit, kick: make(chan struct{}, 1)}
}

// lock takes the writer for adding messages, waiting until the buffer has
// room. The caller unlocks w.mu when the error is nil. A sender that finds the
// buffer full and nobody writing writes it itself, if its context cannot end:
// nothing would interrupt the write.
func (w *writer) lock(ctx context.Context) error {
	w.mu.Lock()
	for w.err == nil && len(w.buf) >= w.limit {
		if !w.writing && ctx.Done() == nil {
			w.drainLocked()
			continue
		}
		w.poke()
		if err := w.waitLocked(ctx); err != nil {
			w.mu.Unlock()
			return err
		}
	}
	if err := w.err; err != nil {
		w.mu.Unlock()
		return err
	}
	return nil
}

// addLocked encodes m behind what waits already.
func (w *writer) addLocked(m *codec.Message) (err error) {
	w.buf, err = w.sess.Append(w.buf, m)
	return err
}

// send adds m and leaves its writing to the goroutine of run, so that a
// sender is never held by a slow peer longer than its context lasts.
func (w *writer) send(ctx context.Context, m *codec.Message) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	err := w.addLocked(m)
	w.mu.Unlock()
	w.poke()
	return err
}

// poke has the goroutine of run write soon.
func (w *writer) poke() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// run writes for those who must not wait for the peer, until done is closed.
func (w *writer) run(done <-chan struct{}) {
	for {
		select {
		case <-w.kick:
			_ = w.flush() // the receive loop sees the end of the stream too
		case <-done:
			return
		}
	}
}

// flush writes all there is, unless somebody is writing already or is about
// to: then that one does it. The error says that nothing can be written.
func (w *writer) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.held:
		w.left = true
	case !w.writing:
		w.drainLocked()
	}
	return w.err
}

// hold has others leave their writing to whoever calls release.
func (w *writer) hold() {
	w.mu.Lock()
	w.held = true
	w.mu.Unlock()
}

// letGo ends hold without writing; what others have left is written soon.
func (w *writer) letGo() {
	w.mu.Lock()
	w.held = false
	if w.left {
		w.left = false
		w.poke()
	}
	w.mu.Unlock()
}

// releaseLocked ends hold and writes all there is.
func (w *writer) releaseLocked() error {
	w.held, w.left = false, false
	if !w.writing {
		w.drainLocked()
	}
	return w.err
}

// drainLocked writes until the buffer is empty. It lets go of w.mu while the
// peer takes the bytes.
func (w *writer) drainLocked() {
	w.writing = true
	for len(w.buf) > 0 && w.err == nil {
		out := w.buf
		w.buf, w.spare = w.spare[:0], nil
		w.wakeLocked()
		w.mu.Unlock()
		_, err := w.out.Write(out)
		w.mu.Lock()
		if cap(out) <= keepBuffer {
			w.spare = out
		}
		if err != nil && w.err == nil {
			w.err = err
		}
	}
	w.writing = false
	w.wakeLocked()
}

// settle waits until everything added so far is written or cannot be.
func (w *writer) settle(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && (w.writing || len(w.buf) > 0) {
		if !w.writing {
			w.poke()
		}
		if err := w.waitLocked(ctx); err != nil {
			return err
		}
	}
	return w.err
}

// fail makes every later and every waiting sender return err.
func (w *writer) fail(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.buf, w.spare = nil, nil
	w.wakeLocked()
	w.mu.Unlock()
}

// waitLocked waits for a change or for the end of ctx, without w.mu meanwhile.
func (w *writer) waitLocked(ctx context.Context) error {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	changed := w.changed
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) wakeLocked() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}
