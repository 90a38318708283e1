package server

import (
	"os"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox"
)

// process is what a session knows of one process: its output, numbered and
// kept, and how far each reader of it has come. Its methods are called by many
// goroutines; the actor that holds the child is another matter, see session.
//
// Every event (a chunk, the exit, the close) has a number. Events are delivered in
// that order, because the connection takes them from here when it can send.
type process struct {
	s      *session
	id     string
	quoted []byte // id as JSON
	token  string
	params startParams
	since  time.Time

	mu      sync.Mutex
	room    sync.Cond      // unsent has shrunk, or need not shrink any more
	changed chan struct{}  // closed at the next event; nil while it is not needed
	started bool           // it runs, or ran
	waiting []func()       // to be called after the start
	pid     *actor.PID     // the Process actor
	child   *sandbox.Child // once started
	stdin   *input         // or nil
	tty     *os.File       // our end of its terminal, or nil
	streams []*stream      // that are not at their end
	reader  reader         // of these; it has a lock of its own
	held    *sandbox.Exit  // the exit, until the output before it is in
	kept    ring           //
	nextSeq uint64         // of the next event
	exited  bool           //
	exitSeq uint64         //
	code    int32          //
	denied  bool           // its sandbox probably made it fail
	closed  bool           //
	void    bool           // it could not be started
	ended   bool           // nothing is kept any more
	killed  bool           // by us: the pipes are not waited for
	unsent  int            // bytes that the owner was not sent yet
	cursor  uint64         // the next event for the owner
	taken   uint64         // chunks from here on are being sent; 0: no chunks are
	owner   *conn          // gets the notifications; nil while there is no connection
	shown   bool           // the owner has the answer to its start
	queued  bool           // it stands in the owner's queue
	watch   []*observer    // other connections
	writes  *writeMemory   // nil before the first write

	retention
}

// startParams are the params of a start that are reported later.
type startParams struct {
	argv []string
	cwd  wire.URI
	tty  bool

	confined bool // by a sandbox
	full     WhenFull
}

func newProcess(s *session, id string, p startParams) *process {
	pr := &process{s: s, id: id, quoted: wire.AppendString(nil, id), params: p, since: time.Now(), nextSeq: 1, cursor: 1}
	pr.room.L = &pr.mu
	return pr
}

// whenStarted calls f after the start, in order of the calls of whenStarted: mostly
// at once.
func (p *process) whenStarted(f func()) {
	p.mu.Lock()
	if !p.started {
		p.waiting = append(p.waiting, f)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	f()
}

// isVoid reports whether the process could not be started.
func (p *process) isVoid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.void
}

// isStarted calls the functions that waited for the start, in their order.
func (p *process) isStarted() {
	for {
		p.mu.Lock()
		if len(p.waiting) == 0 {
			p.waiting, p.started = nil, true
			p.mu.Unlock()
			return
		}
		f := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.mu.Unlock()
		f()
	}
}

// event wakes all that wait for an event. The caller must hold the lock.
func (p *process) event() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	p.wake()
	for _, o := range p.watch {
		o.wake()
	}
}

// wake puts the process into its owner's queue, if there is something to send.
func (p *process) wake() {
	if p.owner != nil && p.shown && !p.queued && p.cursor < p.nextSeq {
		p.queued = true
		p.owner.enqueue(p)
	}
}

// keptPage is how many bytes a page must hold to be kept as it is. Less is
// copied, so that what is retained takes little more memory than its bytes.
const keptPage = pageBytes * 3 / 4

// output takes the bytes that were read into pg. It blocks while the owner is too
// far behind or there is no room for them. It reports whether pg was kept, in which
// case the reader must take another page.
func (p *process) output(stream wire.Stream, pg *page) (kept bool) {
	b := pg.b
	p.s.srv.count.output.Add(uint64(len(b)))
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.killed && !p.ended && !p.hasRoom(len(b)) {
		p.pausing++
		p.room.Wait()
		p.pausing--
	}
	if p.ended {
		return false
	}
	kept = len(b) >= keptPage
	for len(b) > 0 {
		n := min(len(b), wire.ChunkBytes)
		data := b[:n:n]
		if !kept {
			pg = p.kept.room(n)
			start := len(pg.b)
			pg.b = append(pg.b, data...)
			data = pg.b[start:len(pg.b):len(pg.b)]
		}
		p.kept.push(chunk{seq: p.nextSeq, stream: stream, data: data, page: pg})
		p.nextSeq++
		if p.owner != nil {
			p.unsent += n
		}
		b = b[n:]
	}
	p.trim()
	p.event()
	return kept
}

// settle publishes the exit and the close once all output before them is in.
// The caller must hold the lock.
func (p *process) settle() {
	if p.held == nil || p.ended {
		return
	}
	if !p.exited {
		for _, s := range p.streams {
			if !s.drained {
				return
			}
		}
		p.exited, p.exitSeq, p.code = true, p.nextSeq, exitCode(p.held, p.params.tty && p.token == "")
		p.denied = p.looksDenied()
		p.nextSeq++
		p.event()
	}
	if len(p.streams) == 0 && !p.closed {
		p.closed = true
		p.nextSeq++
		p.event()
		p.s.tell(&processClosed{p})
	}
}

// exitCode is an exit in the protocol's numbers: by signal N 128+N, and with a
// terminal 1, unless the client knows of extensions.
func exitCode(e *sandbox.Exit, tty bool) int32 {
	switch {
	case e.Signal == 0:
		return int32(e.Code)
	case tty:
		return 1
	}
	return int32(128 + e.Signal)
}

// attach gives the process a new owner. Earlier output is not sent; the owner must
// read it.
func (p *process) attach(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owner, p.queued = c, false
	p.cursor, p.unsent = p.nextSeq, 0
	p.holdForOwner()
	p.room.Broadcast()
}

// detach takes the process away from its owner. Output goes on until no more can be
// retained; then the process pauses, or the oldest output is lost.
func (p *process) detach(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner != c {
		return
	}
	p.owner, p.queued, p.unsent = nil, false, 0
	p.holdWithoutOwner()
	p.trim()
	p.room.Broadcast()
}

// show records that the answer to the start was queued, so that notifications may be
// queued behind it.
func (p *process) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	p.wake()
}

// batch is what a connection sends of a process at a time.
type batch struct {
	chunks []chunk
	exit   bool // after the first exitAt chunks
	exitAt int
	code   int32
	denied bool
	closed bool // last
	first  uint64
	next   uint64 // the cursor, when it is sent
	bytes  int
}

// take fills b with up to limit bytes for c, and reports whether there are any
// events. They stay where they are until sent is called.
func (p *process) take(c *conn, b *batch, limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner != c || p.ended {
		return false
	}
	p.fill(b, p.cursor, limit)
	if b.next == p.cursor {
		p.queued = false
		return false
	}
	p.taken = b.first
	return true
}

// fill collects the events from seq on. The caller must hold the lock.
func (p *process) fill(b *batch, seq uint64, limit int) {
	*b = batch{chunks: b.chunks[:0], first: max(seq, 1), next: seq}
	i := p.kept.from(seq)
	for {
		switch {
		case i < p.kept.n && p.kept.at(i).seq == b.next:
			c := p.kept.at(i)
			if b.bytes > 0 && b.bytes+len(c.data) > limit {
				return
			}
			b.chunks = append(b.chunks, *c)
			b.bytes += len(c.data)
			i++
		case p.exited && p.exitSeq == b.next:
			b.exit, b.exitAt, b.code, b.denied = true, len(b.chunks), p.code, p.denied
		case p.closed && b.next == p.nextSeq-1:
			b.closed = true
		default:
			return
		}
		b.next++
	}
}

// sent moves c on behind what it took. It reports whether there is more.
func (p *process) sent(c *conn, b *batch) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = 0
	if p.ended {
		p.free()
		return false
	}
	if p.owner != c {
		p.trim()
		return false
	}
	p.cursor = b.next
	p.unsent -= b.bytes
	p.mark(c)
	p.arrived(c)
	p.trim()
	p.room.Broadcast()
	p.queued = p.cursor < p.nextSeq
	return p.queued
}

// awaited reports whether the owner has not been sent everything yet.
func (p *process) awaited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owner != nil && p.cursor < p.nextSeq
}

// end forgets the process, which cannot be read any more.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if p.taken == 0 {
		p.free()
	}
	for _, o := range p.watch {
		o.wake()
	}
	p.watch = nil
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	p.room.Broadcast()
	if len(p.streams) == 0 && p.tty != nil {
		p.tty.Close()
		p.tty = nil
	}
	for _, s := range p.streams {
		s.abort()
	}
	p.stdin.close()
}
