package capture

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Capture reads one stream into a [Log].
type Capture struct {
	log    *Log
	r      *os.File
	stream Stream
	life   uint64

	stopping atomic.Bool
	done     chan struct{}
	err      error // written before done is closed

	// Of the reading goroutine:
	rest   []byte // read, but not a whole line yet
	raw    []byte // read after rest, perhaps the beginning of a redacted value
	class  int    // index into bufferSizes
	raised bool   // the pipe was enlarged
}

// Done is closed at the end of the stream, after a read error or when Stop has
// finished. By then all lines are in the log, including a last one without a line
// end, and the pipe is closed.
func (c *Capture) Done() <-chan struct{} { return c.done }

// Err returns why reading ended: nil at the end of the stream or after Stop. Err must
// be called only after Done is closed.
func (c *Capture) Err() error { return c.err }

// Stop ends reading after taking what the pipe already holds, even if another process
// keeps the write end open. Stop returns at once, and Done is closed later. Idempotent.
func (c *Capture) Stop() {
	if c.stopping.Swap(true) || c.r == nil {
		return
	}
	// Wakes the reader. A file that cannot be polled is closed instead, which
	// ends a read that does not block.
	if c.r.SetReadDeadline(time.Unix(1, 0)) != nil {
		_ = c.r.Close()
	}
}

func (c *Capture) run() {
	err := c.read()
	if len(c.raw) > 0 {
		c.rest = append(c.rest, c.log.opt.Redact.Last(c.raw)...)
	}
	if len(c.rest) > 0 {
		c.log.take(c.rest, len(c.rest), true, c.stream, c.life)
		c.rest = nil
	}
	_ = c.r.Close()
	if !errors.Is(err, io.EOF) && !c.stopping.Load() {
		c.err = err
	}
	c.log.forget(c)
	close(c.done)
}

// readBlocking reads a file that cannot be polled.
func (c *Capture) readBlocking() error {
	for !c.stopping.Load() {
		n, err := c.fill(c.r.Read)
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
	}
	return nil
}

// fill reads once, into a buffer that it releases before it returns, and passes the
// lines to the log.
func (c *Capture) fill(read func([]byte) (int, error)) (n int, err error) {
	b := takeBuffer(c.class, len(c.rest)+len(c.raw))
	defer b.release()
	held := copy(b.data, c.rest)
	before := held + copy(b.data[held:], c.raw)
	n, err = read(b.data[before:])
	if n <= 0 {
		return 0, err
	}
	data := b.data[:before+n]
	if r := c.log.opt.Redact; r != nil && (r.Active() || len(c.raw) > 0) {
		data = c.redact(data, held)
	}
	at := c.log.take(data, held, false, c.stream, c.life)
	c.hold(data[at:])
	switch {
	case before+n == len(b.data) && c.class < largest:
		c.class++
	case before+n < bufferSizes[c.class]/8 && c.class > 0:
		c.class--
	}
	return n, err
}

// redact replaces secrets in b after its first held bytes. It keeps an end of b that
// may be the beginning of a secret for the next read.
func (c *Capture) redact(b []byte, held int) []byte {
	out, left := c.log.opt.Redact.Stream(b[held:])
	c.raw = append(c.raw[:0], b[len(b)-left:]...)
	if len(c.raw) == 0 {
		c.raw = nil
	}
	if len(out) > 0 && &out[0] == &b[held] || len(out) == 0 {
		return b[:held+len(out)]
	}
	return append(b[:held:held], out...)
}

// hold keeps the start of a line for the next read, in a small buffer.
func (c *Capture) hold(b []byte) {
	if cap(c.rest) > 512 && cap(c.rest) > 4*len(b) {
		c.rest = nil
	}
	c.rest = append(c.rest[:0], b...)
}
