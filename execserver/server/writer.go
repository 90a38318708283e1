package server

import (
	"io"
	"net"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

const (
	batchBytes = 128 << 10 // that a writer encodes of one process before it looks at the next
	writeBytes = 256 << 10 // that it collects before it writes
	largeBytes = 64 << 10  // an answer of this size is written as it is
	queueBytes = 8 << 20   // of answers that wait, before no further request is read
)

// bufferBytes holds what is collected, and the batches that may exceed it.
const bufferBytes = writeBytes + 2*batchBytes

var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// framing is how messages lie in the byte stream of a connection.
type framing interface {
	// begin appends what comes before a message.
	begin(b []byte) []byte
	// end completes the message that lies in b from start on, and what begin
	// appended; it may move it.
	end(b []byte, start int) []byte
	// wrap appends a message as it is, with what comes around it.
	wrap(to net.Buffers, message []byte) net.Buffers
}

// lines is a message a line.
type lines struct{}

func (lines) begin(b []byte) []byte      { return b }
func (lines) end(b []byte, _ int) []byte { return append(b, '\n') }

func (lines) wrap(to net.Buffers, message []byte) net.Buffers {
	return append(to, message, []byte{'\n'})
}

// frames is a message a text frame of a WebSocket's server.
type frames struct{}

const frameHead = 4 // of messages of 126 to 65,535 bytes, which most of them are

func (frames) begin(b []byte) []byte { return append(b, 0, 0, 0, 0) }

func (frames) end(b []byte, start int) []byte {
	n := len(b) - start - frameHead
	switch {
	case n < 126:
		b[start], b[start+1] = opText|opFin, byte(n)
		copy(b[start+2:], b[start+frameHead:])
		return b[:len(b)-2]
	case n < 1<<16:
		b[start], b[start+1], b[start+2], b[start+3] = opText|opFin, 126, byte(n>>8), byte(n)
		return b
	}
	head := appendFrameHead(nil, opText, n)
	b = append(b, head[frameHead:]...) // any bytes, to make room
	copy(b[start+len(head):], b[start+frameHead:start+frameHead+n])
	copy(b[start:], head)
	return b
}

// wrap cuts a message into frames that every client takes.
func (frames) wrap(to net.Buffers, message []byte) net.Buffers {
	for op := byte(opText); ; op = opMore {
		if len(message) <= wire.MaxFrame {
			return append(to, appendFrameHead(nil, op, len(message)), message)
		}
		head := appendFrameHead(nil, op, wire.MaxFrame)
		head[0] &^= opFin
		to = append(to, head, message[:wire.MaxFrame])
		message = message[wire.MaxFrame:]
	}
}

// Opcodes of frames, and the bit of the last frame of a message.
const (
	opMore  = 0 // goes on with a message
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10
	opFin   = 0x80
)

func appendFrameHead(b []byte, op byte, n int) []byte {
	b = append(b, op|opFin)
	switch {
	case n < 126:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 126, byte(n>>8), byte(n))
	}
	return append(b, 127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// directBytes is how large an answer may be that is written on the caller's goroutine.
const directBytes = 16 << 10

// tryWriter is a wire that can be written to without waiting. What it does not
// take at once, it writes before what is written next.
type tryWriter interface {
	tryWrite(b []byte) (rest bool, err error)
	writeBuffers(b *net.Buffers) (int64, error)
}

// sender implements tryWriter for w. It is safe for concurrent use.
type sender struct {
	w   io.Writer
	try func([]byte) (int, error) // writes without waiting; nil: w has no such way

	mu   sync.Mutex
	rest []byte // what try did not take
}

// Write writes all of b.
func (s *sender) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.finish(); err != nil || len(b) == 0 {
		return 0, err
	}
	return s.w.Write(b)
}

// finish writes what is left of the last tryWrite. The caller must hold mu.
func (s *sender) finish() error {
	rest := s.rest
	if s.rest = nil; len(rest) == 0 {
		return nil
	}
	_, err := s.w.Write(rest)
	return err
}

func (s *sender) tryWrite(b []byte) (rest bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if len(s.rest) == 0 && s.try != nil {
		if n, err = s.try(b); err != nil {
			return false, err
		}
	}
	s.rest = append(s.rest, b[n:]...)
	return len(s.rest) > 0, nil
}

func (s *sender) writeBuffers(b *net.Buffers) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.finish(); err != nil {
		return 0, err
	}
	return b.WriteTo(s.w)
}

// respond sends an encoded message, or queues it. It never blocks. A message that is
// alone is written on the caller's goroutine: to wake the writer takes longer than
// the rest of a small request.
func (c *conn) respond(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over { // the message may have taken much memory
		c.srv.memory.released(giveBackBytes)
		return
	}
	if w, ok := c.wire.(tryWriter); ok && len(b) <= directBytes && !c.writing && !c.direct && !c.torn && !c.pending() {
		c.direct = true
		c.mu.Unlock()
		buf := c.framed(make([]byte, 0, len(b)+16), b)
		rest, err := w.tryWrite(buf)
		c.srv.count.bytesOut.Add(uint64(len(buf)))
		c.mu.Lock()
		c.direct, c.torn = false, rest || err != nil // the writer meets the error again
		if c.torn || c.pending() {
			c.signal()
		}
		return
	}
	c.answers = append(c.answers, b)
	c.waiting += len(b)
	c.signal()
}

// framed appends a message with what comes around it.
func (c *conn) framed(b, message []byte) []byte {
	start := len(b)
	return c.framing.end(append(c.framing.begin(b), message...), start)
}

// pending reports whether there is anything to write. The caller must hold mu.
func (c *conn) pending() bool {
	return len(c.answers) > 0 || len(c.sources) > 0 || len(c.controls)+len(c.pong) > 0 || c.bye != nil
}

// control queues a control frame: a ping, or a pong, which replaces one that is not
// written yet.
func (c *conn) control(op byte, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return
	case op == opPong:
		c.pong = append(appendFrameHead(c.pong[:0], op, len(payload)), payload...)
	default:
		c.controls = append(appendFrameHead(c.controls, op, len(payload)), payload...)
	}
	c.signal()
}

// source is what notifications are taken from.
type source interface {
	// encode appends messages of the source with f, up to limit bytes of output
	// or so, and reports whether there are more.
	encode(c *conn, b []byte, limit int) (out []byte, more bool)
}

// enqueue has the writer look at s.
func (c *conn) enqueue(s source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.sources = append(c.sources, s)
	c.signal()
}

// signal wakes the writer. The caller must hold the lock.
func (c *conn) signal() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// write is the one goroutine that writes. It ends with the connection.
func (c *conn) write() {
	defer close(c.written)
	var buf []byte
	var big *[bufferBytes]byte // that buf lies in; nil: in memory of its own
	var answers [][]byte
	var sources []source
	for {
		select {
		case <-c.work:
		case <-c.gone:
			return
		}
		for {
			c.mu.Lock()
			if c.direct { // which signals when it is done
				c.writing = false
				c.mu.Unlock()
				break
			}
			c.writing = c.pending() || c.torn
			torn := c.torn
			c.torn = false
			answers, c.answers = c.answers, answers[:0]
			sources, c.sources = c.sources, sources[:0]
			buf = append(append(buf[:0], c.controls...), c.pong...)
			c.controls, c.pong = c.controls[:0], c.pong[:0]
			bye := c.bye
			c.mu.Unlock()
			var err error
			if torn {
				err = c.put(nil)
			} else if len(answers) == 0 && len(sources) == 0 && len(buf) == 0 && bye == nil {
				break
			}
			n := 0
			for i, a := range answers {
				n += len(a)
				answers[i] = nil
				if len(a) >= largeBytes {
					bufs := c.framing.wrap(net.Buffers{buf}, a)
					err = c.flush(&bufs)
					buf = buf[:0]
				} else {
					buf = c.framed(buf, a)
				}
				if err == nil && len(buf) >= writeBytes {
					buf, err = buf[:0], c.put(buf)
				}
				if err != nil {
					break
				}
			}
			if n > 0 {
				c.answered(n)
			}
			if len(sources) > 0 && big == nil {
				big = buffers.Get().(*[bufferBytes]byte)
				buf = append(big[:0], buf...)
			}
			for i, s := range sources {
				sources[i] = nil
				if err != nil {
					break
				}
				var more bool
				if buf, more = s.encode(c, buf, batchBytes); more {
					c.enqueue(s)
				}
				if len(buf) >= writeBytes {
					buf, err = buf[:0], c.put(buf)
				}
			}
			if err == nil && len(buf) > 0 {
				err = c.put(buf)
			}
			if cap(buf) > bufferBytes {
				buf = nil
			}
			if bye != nil && err == nil {
				if c.put(bye) != nil || !c.pings {
					c.drop(errEnd)
				}
				return
			}
			if err != nil {
				c.drop(err)
				return
			}
		}
		if len(c.work) == 0 && big != nil { // an idle connection holds no memory
			buffers.Put(big)
			big, buf = nil, nil
			answers, sources = nil, nil
		}
	}
}

func (c *conn) put(b []byte) error {
	_, err := c.wire.Write(b)
	if err == nil {
		c.srv.count.bytesOut.Add(uint64(len(b)))
	}
	return err
}

func (c *conn) flush(b *net.Buffers) error {
	var n int64
	var err error
	if w, ok := c.wire.(tryWriter); ok {
		n, err = w.writeBuffers(b)
	} else {
		n, err = b.WriteTo(c.wire)
	}
	c.srv.count.bytesOut.Add(uint64(n))
	return err
}

// answered makes room for further requests.
func (c *conn) answered(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting -= n
	c.admit.Broadcast()
	if n >= largeBytes {
		c.srv.memory.released(n)
	}
}

// encode implements source: notifications for the owner of the process.
func (p *process) encode(c *conn, b []byte, limit int) ([]byte, bool) {
	if !p.take(c, &c.batch, limit) {
		return b, false
	}
	b = c.batch.encode(c, b, p.quoted)
	more := p.sent(c, &c.batch)
	return c.askArrival(b, c.batch.bytes+chunkCost*len(c.batch.chunks)), more
}

// encode appends the notifications of a batch.
func (t *batch) encode(c *conn, b, id []byte) []byte {
	f := c.framing
	for i := range t.chunks {
		k := &t.chunks[i]
		if t.exit && t.exitAt == i {
			b = c.framed(b, wire.AppendExited(nil, id, k.seq-1, t.code, t.denied))
		}
		start := len(b)
		b = f.end(wire.AppendOutput(f.begin(b), id, k.seq, k.stream, k.data), start)
		k.data, k.page = nil, nil
	}
	last := t.next - 1
	if t.exit && t.exitAt == len(t.chunks) {
		seq := last
		if t.closed {
			seq--
		}
		b = c.framed(b, wire.AppendExited(nil, id, seq, t.code, t.denied))
	}
	if t.closed {
		b = c.framed(b, wire.AppendClosed(nil, id, last))
	}
	return b
}
