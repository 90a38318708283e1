package server

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// WhenFull says what becomes of a process without a connection when no more of
// its output can be retained.
type WhenFull string

// The ways.
const (
	// Pause has the process wait in its next write, until its session is resumed
	// and the client has asked for what is retained. Nothing is lost.
	Pause WhenFull = "pause"
	// Drop forgets the oldest output. Readers learn how much is gone.
	Drop WhenFull = "drop"
)

// WhenFulls returns all values of WhenFull.
func WhenFulls() []WhenFull { return []WhenFull{Pause, Drop} }

const (
	defaultRetain = 16 << 20
	defaultBudget = 256 << 20
	// chargeStep is what a process takes of the budget at a time.
	chargeStep = 256 << 10
	// holdWait is how long a client that has resumed its session may make no
	// process/read before what was retained for it counts as not wanted.
	holdWait = 10 * time.Second
)

// budget is the memory for the output of all processes beyond what each of them has
// in any case. The caller of its methods may hold the lock of a process.
type budget struct {
	limit int

	mu      sync.Mutex
	used    int
	waiting map[*process]struct{} // paused for want of it
}

// take takes n bytes and reports whether they were there. Half of the budget is
// reserved for processes that pause when it is used up; dropping says that p drops
// output instead. A process that pauses is woken when there are bytes again.
func (b *budget) take(p *process, n int, dropping bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.limit
	if dropping {
		limit /= 2
	}
	if b.used+n <= limit {
		b.used += n
		return true
	}
	if !dropping {
		if b.waiting == nil {
			b.waiting = map[*process]struct{}{}
		}
		b.waiting[p] = struct{}{}
	}
	return false
}

// add takes n bytes whether they are there or not; a negative n gives some back.
func (b *budget) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	if n >= 0 || len(b.waiting) == 0 {
		return
	}
	waiting := b.waiting
	b.waiting = nil
	go func() { // the caller may hold the lock of one of them
		for p := range waiting {
			p.mu.Lock()
			p.room.Broadcast()
			p.mu.Unlock()
		}
	}()
}

// leave gives back the last n bytes of a process.
func (b *budget) leave(p *process, n int) {
	b.mu.Lock()
	delete(b.waiting, p)
	b.mu.Unlock()
	b.add(-n)
}

// retention is how much of the output of a process is kept. It is guarded by
// the lock of the process.
type retention struct {
	hold    uint64 // chunks from here on stay until the owner has read them; 0: no chunks do
	asking  bool   // the owner has read some of them
	charged int    // bytes of the server's budget
	pausing int    // streams that wait for room
	marks   []mark // of the owner's connection, the oldest first
	got     uint64 // the owner has received the events before it
}

// floor returns how many bytes of output are kept in any case.
func (p *process) floor() int { return min(p.s.srv.opt.Retain, wire.RetainBytes) }

// most returns how many bytes of output that may be forgotten are kept. It was sent,
// but the connection may be cut before it arrives.
func (p *process) most() int {
	if p.owner == nil {
		return p.s.srv.opt.Retain
	}
	return max(p.floor(), p.s.srv.opt.Retain/2)
}

// firm returns the first event whose chunk must not be forgotten to make room.
func (p *process) firm() uint64 {
	switch {
	case p.hold != 0:
		return p.hold
	case p.owner != nil && p.owner.pings && !p.owner.deaf.Load() && p.params.full == Pause && p.s.srv.opt.Retain >= 2*markBytes:
		return p.got
	}
	return math.MaxUint64
}

// markBytes is how much output is sent before the client is asked whether it has
// come. Where as much as twice that waits for the answer, the question is on its way.
const markBytes = 512 << 10

// chunkCost is what a chunk counts of markBytes besides its output: there are
// clients that get it byte by byte.
const chunkCost = 64

// deafWait is how long a client may take to answer its first ping. After that it
// counts as a client that does not answer pings, and output does not wait for them.
const deafWait = 30 * time.Second

// mark says that the events before cursor were sent before a ping.
type mark struct {
	ping   uint64
	cursor uint64
}

// mark notes that the owner is sent what lies before the cursor. The caller must hold the lock.
func (p *process) mark(c *conn) {
	switch n := len(p.marks); {
	case !c.pings:
		p.got = p.cursor
		return
	case n > 0 && p.marks[n-1].ping == c.nextPing:
		p.marks[n-1].cursor = p.cursor
	case n > 0 && c.deaf.Load(): // marks are not waited for
		p.marks[n-1] = mark{c.nextPing, p.cursor}
	default:
		p.marks = append(p.marks, mark{c.nextPing, p.cursor})
	}
}

// arrived forgets what the owner has certainly received, beyond what is kept in any
// case. The caller must hold the lock.
func (p *process) arrived(c *conn) {
	answered, i := c.answeredPing.Load(), 0
	for ; i < len(p.marks) && p.marks[i].ping <= answered; i++ {
		p.got = p.marks[i].cursor
	}
	p.marks = slices.Delete(p.marks, 0, i)
	got := p.got
	if p.hold != 0 {
		got = min(got, p.hold)
	}
	p.kept.trim(p.floor(), wire.RetainChunks, got, got)
}

// askArrival appends a ping to what is written, when n more bytes make it worth
// that. The answer shows that everything before it has arrived: output that the
// system and proxies have buffered has not, however long ago it was written.
func (c *conn) askArrival(b []byte, n int) []byte {
	if c.unmarked += n; c.unmarked < markBytes || !c.pings {
		return b
	}
	c.unmarked = 0
	if c.nextPing == 1 {
		time.AfterFunc(deafWait, c.checkDeaf)
	}
	b = binary.BigEndian.AppendUint64(appendFrameHead(b, opPing, 8), c.nextPing)
	c.nextPing++
	return b
}

// ponged notes the answer to a ping, which processes may wait for.
func (c *conn) ponged(payload []byte) {
	c.alive()
	if len(payload) != 8 {
		return
	}
	c.answeredPing.Store(binary.BigEndian.Uint64(payload))
	if c.session != nil { // without one no process waits for the answer
		c.settleMarks()
	}
}

// checkDeaf checks whether the client answers pings.
func (c *conn) checkDeaf() {
	if c.answeredPing.Load() == 0 {
		c.deaf.Store(true)
		c.settleMarks()
	}
}

// settleMarks wakes processes that wait until the client has received what was
// sent.
func (c *conn) settleMarks() {
	for _, p := range c.session.processes() {
		p.mu.Lock()
		if p.owner == c && len(p.marks) > 0 {
			p.arrived(c)
			p.trim()
			p.room.Broadcast()
		}
		p.mu.Unlock()
	}
}

// hasRoom reports whether n more bytes can be taken now. The caller must hold the lock.
func (p *process) hasRoom(n int) bool {
	switch opt := &p.s.srv.opt; {
	case p.owner != nil && p.unsent >= opt.Window:
		return false
	case p.owner != nil && p.hold != 0 && p.asking:
		return false // else it would never have asked for everything
	case p.kept.n == 0 || p.kept.at(0).seq < p.firm():
		return true // the oldest can go
	case p.kept.bytes+n > opt.Retain || p.kept.n+n/wire.ChunkBytes >= wire.RetainChunks:
		return false
	case p.kept.bytes+n <= p.floor():
		return true
	}
	return p.charge(p.kept.memory()+n+pageBytes, false)
}

// charge takes what memory bytes need of the budget, and gives back what they
// do not. It reports whether there was enough. The caller must hold the lock.
func (p *process) charge(memory int, dropping bool) bool {
	want := max(0, memory-wire.RetainBytes)
	switch {
	case want > p.charged:
		n := (want - p.charged + chargeStep - 1) / chargeStep * chargeStep
		if !p.s.srv.budget.take(p, n, dropping) {
			return false
		}
		p.charged += n
	case p.charged-want >= 2*chargeStep:
		n := (p.charged - want) / chargeStep * chargeStep
		p.charged -= n
		p.s.srv.budget.add(-n)
		p.s.srv.memory.released(n)
	}
	return true
}

// trim forgets output beyond what is retained, except for what is held, was not sent
// to the owner yet, or is being sent. The caller must hold the lock.
func (p *process) trim() {
	keep := min(p.nextSeq, p.firm())
	if p.owner != nil {
		keep = min(keep, p.cursor)
	}
	if p.taken != 0 {
		keep = min(keep, p.taken)
	}
	lost := p.kept.trim(p.most(), wire.RetainChunks, keep, p.cursor)
	if memory := p.kept.memory(); !p.charge(memory, p.hold == 0) {
		lost += p.kept.trim(p.floor(), wire.RetainChunks, keep, p.cursor)
		if memory = p.kept.memory(); !p.charge(memory, p.hold == 0) { // it is within what every process has, or cannot go
			n := max(0, memory-wire.RetainBytes) - p.charged
			p.charged += n
			p.s.srv.budget.add(n)
		}
	}
	if lost > 0 {
		p.s.srv.count.lost.Add(uint64(lost))
	}
}

// free gives all memory back. The caller must hold the lock.
func (p *process) free() {
	p.s.srv.memory.released(p.kept.memory())
	p.kept.free()
	p.s.srv.budget.leave(p, p.charged)
	p.charged = 0
}

// oldest returns the seq of the first chunk that is kept, or of the next one. The caller must hold the lock.
func (p *process) oldest() uint64 {
	if p.kept.n == 0 {
		return p.nextSeq
	}
	return p.kept.at(0).seq
}

// holdWithoutOwner keeps what the client may not have received, if the process must
// pause rather than lose it. The caller must hold the lock.
func (p *process) holdWithoutOwner() {
	p.hold, p.got, p.marks = 0, 0, nil
	if p.params.full == Pause {
		p.hold = p.oldest()
	}
}

// holdForOwner keeps what is retained until the new owner has asked for it.
// The caller must hold the lock.
func (p *process) holdForOwner() {
	p.hold, p.asking, p.got, p.marks = 0, false, 0, nil
	if p.kept.n > 0 {
		p.hold = p.oldest()
	}
}

// asked records that c, which has all events before first, gets those before next as
// an answer. The answer may be lost with the connection: its output stays until c
// reads on, or if it is the last and not large, until c answers a ping behind it.
// Output that was sent as notifications meanwhile stays until c has read that too,
// since c may not keep so much that comes before its turn. The caller must hold the lock.
func (p *process) asked(c *conn, first, next uint64) {
	if p.hold == 0 || p.owner != c {
		return
	}
	p.hold, p.asking = max(p.hold, first), true
	if p.kept.from(max(p.hold, next)) == p.kept.n {
		under := 0
		for i := p.kept.from(first); i < p.kept.n; i++ {
			under += len(p.kept.at(i).data)
		}
		p.got, p.marks = first, nil
		if under > markBytes { // else it could wait for a ping for which it has to go on
			p.got = next
		}
		p.hold = 0
	}
	p.trim()
	p.room.Broadcast()
}

// unhold lets the process go on as if c had read everything.
func (p *process) unhold(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked(c, p.nextSeq, p.nextSeq)
}

// unholdLater ends the holding for c if c does not read.
func (s *session) unholdLater(c *conn, wait time.Duration) {
	time.AfterFunc(wait, func() {
		s.mu.Lock()
		if s.conn != c || s.ended {
			s.mu.Unlock()
			return
		}
		procs := slices.Collect(maps.Values(s.procs))
		s.mu.Unlock()
		if !slices.ContainsFunc(procs, (*process).holds) {
			return
		}
		if quiet := c.quiet(); quiet < holdWait {
			s.unholdLater(c, holdWait-quiet)
			return
		}
		for _, p := range procs {
			p.unhold(c)
		}
	})
}

func (p *process) holds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hold != 0
}

// quiet is how long ago the last process/read of the connection was answered, or
// the client has said initialized. It may ask for nothing before that.
func (c *conn) quiet() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 || c.asked.IsZero() {
		return 0 // an answer is on its way
	}
	return time.Since(c.asked)
}
