package simulation

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/hostsup/hostsup/link"
)

// room is how many bytes one direction of a connection holds before a write has to
// wait, as that of a socket.
const room = 32 << 10

// pipe is one direction of a connection. Bytes that were written are under way until
// the kernel delivers them, some at a time.
type pipe struct {
	k      *kernel
	name   string // also of what delivers
	writer *dice  // of the one who writes
	mover  *dice  // of what delivers
	steady bool   // tryWrite lets no other goroutine go first: its callers hold locks

	mu        sync.Mutex
	changed   *sync.Cond
	way       []byte // written, and not delivered
	here      []byte // delivered, and not read
	moving    bool   // a delivery is due
	ended     bool   // the writer has closed it
	shut      bool   // the reader has closed it
	delivered bool   // the end, too
}

func newPipe(k *kernel, name string) *pipe {
	p := &pipe{k: k, name: name, writer: k.dice("writer %s", name), mover: k.dice("mover %s", name)}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// move has the kernel deliver what is under way. p.mu is held.
func (p *pipe) move() {
	if p.moving {
		return
	}
	p.moving = true
	p.k.soon(p.mover, p.name, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.moving = false
		n := len(p.way)
		if n > 1 && p.mover.chance(0.3) {
			n = 1 + p.mover.number(n)
		}
		p.here = append(p.here, p.way[:n]...)
		p.way = append(p.way[:0], p.way[n:]...)
		p.delivered = p.ended && len(p.way) == 0
		if len(p.way) > 0 || p.ended && !p.delivered {
			p.move()
		}
		p.changed.Broadcast()
	})
}

// put takes what fits of b.
func (p *pipe) put(b []byte) (int, error) {
	switch {
	case p.ended:
		return 0, os.ErrClosed
	case p.shut:
		return 0, &os.SyscallError{Syscall: "write", Err: errBroken}
	}
	n := min(len(b), room-len(p.way)-len(p.here))
	if n > 0 {
		p.way = append(p.way, b[:n]...)
		p.move()
	}
	return max(n, 0), nil
}

var errBroken = errors.New("broken pipe")

func (p *pipe) tryWrite(b []byte) (int, error) {
	if !p.steady && p.writer.chance(0.2) { // no wait for room, but another goroutine may go first
		p.k.turn("write " + p.name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writer.chance(0.2) { // a full socket
		b = b[:p.writer.number(len(b)+1)]
	}
	return p.put(b)
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for written := 0; ; p.changed.Wait() {
		n, err := p.put(b[written:])
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.here) == 0 && !p.delivered && !p.shut {
		p.changed.Wait()
	}
	if p.shut {
		return 0, os.ErrClosed
	}
	if len(p.here) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.here)
	p.here = append(p.here[:0], p.here[n:]...)
	p.changed.Broadcast() // there is room
	return n, nil
}

// end is the close of the writer: what it wrote still arrives.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		p.move()
		p.changed.Broadcast()
	}
}

// shutDown is the close of the reader.
func (p *pipe) shutDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	p.changed.Broadcast()
}

// wire is one end of a connection.
type wire struct{ in, out *pipe }

var _ link.Wire = wire{}

// connect returns the two ends of a connection, which has a name of its own.
func connect(k *kernel, name string) (ours, theirs wire) {
	a, b := newPipe(k, name+" in"), newPipe(k, name+" out")
	return wire{a, b}, wire{b, a}
}

func (w wire) Read(p []byte) (int, error)     { return w.in.read(p) }
func (w wire) Write(p []byte) (int, error)    { return w.out.write(p) }
func (w wire) TryWrite(p []byte) (int, error) { return w.out.tryWrite(p) }

func (w wire) CloseWrite() error {
	w.out.end()
	return nil
}

func (w wire) Close() error {
	w.out.end()
	w.in.shutDown()
	return nil
}
