//go:build unix

package server

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// flooded starts, in a session of its own, a process that writes without end once
// its client has left the session.
func flooded(t *testing.T, s *Server) (session string) {
	t.Helper()
	begin := filepath.Join(t.TempDir(), "begin")
	c := dial(t, s.URL())
	session = c.initialize(wire.InitializeParams{}).SessionID
	c.start(shell("p", "until [ -e "+begin+" ]; do sleep 0.01; done; exec cat /dev/zero"))
	c.stop()
	eventually(t, "that its client is gone", func() bool {
		se := s.session(session)
		if se == nil {
			return true
		}
		se.mu.Lock()
		defer se.mu.Unlock()
		return se.conn == nil
	})
	if err := os.WriteFile(begin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return session
}

// The memory for output stays within the budget and what every process has in
// any case, over sessions that are all left in the middle of much output. None of
// them is left without that much, and one that is freed is taken by another.
func TestBudgetIsKeptOverManySessions(t *testing.T) {
	const (
		sessions = 12
		budgeted = 8 << 20
		slack    = 2*pageBytes + chargeStep // a process may be ahead of what it has asked for
	)
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	s := startServer(t, Options{Retain: 4 << 20, Budget: budgeted})
	before := heap()
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = flooded(t, s)
		p := s.session(ids[i]).process("p")
		eventually(t, "that it pauses", func() bool { return p.status().Paused }) // else those after it get a part of what it may have
	}
	all := func() (procs []*process) {
		for _, id := range ids {
			procs = append(procs, s.session(id).process("p"))
		}
		return procs
	}
	sum, whole := 0, 0
	for i, p := range all() {
		p.mu.Lock()
		if p.kept.bytes < wire.RetainBytes-pageBytes {
			t.Errorf("process %d keeps %d bytes", i, p.kept.bytes)
		}
		if p.kept.bytes > 4<<20-pageBytes {
			whole++
		}
		sum += p.kept.memory()
		p.mu.Unlock()
	}
	// What its client got before it left is not lost.
	if lost := s.Metrics().LostBytes; lost > 0 {
		t.Errorf("%d bytes are lost", lost)
	}
	most := budgeted + sessions*(wire.RetainBytes+slack)
	if sum > most || sum < budgeted {
		t.Errorf("%d bytes of memory are taken, want up to %d", sum, most)
	}
	if grown := heap() - before; grown > most+8<<20 { // the connections, and this test's own
		t.Errorf("the heap has grown by %d bytes, want at most %d", grown, most)
	}
	if whole == 0 || whole == sessions {
		t.Errorf("%d of %d processes have all that they may have", whole, sessions)
	}

	// A new session is not concerned.
	c := dial(t, s.URL())
	id := c.initialize(wire.InitializeParams{}).SessionID
	q := shell("q", "read x; head -c 900000 /dev/zero")
	q.PipeStdin = true
	c.start(q)
	call[wire.ProcessWriteResult](c, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "q", Chunk: []byte("\n"), WriteID: "1"})
	c.stop()
	eventually(t, "the end of a process of a new session", func() bool { return s.session(id).process("q").info().Closed })

	// What one gives back is another's.
	richest := 0
	for i, p := range all() {
		if p.info().RetainedBytes > all()[richest].info().RetainedBytes {
			richest = i
		}
	}
	rest := slices.Delete(all(), richest, richest+1)
	kept := func() (n int) {
		for _, p := range rest {
			n += p.info().RetainedBytes
		}
		return n
	}
	was := kept()
	all()[richest].end()
	eventually(t, "that others take what is free", func() bool { return kept() >= was+wire.RetainBytes })
}

// All memory of the budget comes back.
func TestBudgetComesBack(t *testing.T) {
	s := startServer(t, Options{KeepDetached: 300 * time.Millisecond})
	for range 4 {
		flooded(t, s)
	}
	eventually(t, "the end of the sessions", func() bool { return s.Metrics().OpenSessions == 0 })
	eventually(t, "the budget", func() bool {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		return s.budget.used == 0 && len(s.budget.waiting) == 0
	})
}

// With Drop a process without a connection goes on within the budget too, and
// what is gone is told.
func TestDropStaysWithinTheBudget(t *testing.T) {
	s := startServer(t, Options{Retain: 4 << 20, Budget: 4 << 20, WhenFull: Drop})
	var ids []string
	for range 4 {
		ids = append(ids, flooded(t, s))
	}
	eventually(t, "much output of each", func() bool {
		for _, id := range ids {
			if lost := s.session(id).process("p").info().Lost; lost == nil || lost.Bytes < 16<<20 {
				return false
			}
		}
		return true
	})
	sum := 0
	for _, id := range ids {
		p := s.session(id).process("p")
		p.mu.Lock()
		sum += p.kept.memory()
		p.mu.Unlock()
	}
	if most := 4<<20 + len(ids)*(wire.RetainBytes+2*pageBytes+chargeStep); sum > most {
		t.Errorf("%d bytes of memory, want at most %d", sum, most)
	}
	if s.Metrics().LostBytes < 4*16<<20 {
		t.Errorf("%+v", s.Metrics())
	}
}

// Small pieces of output take little more memory than their bytes.
func TestSmallPiecesArePacked(t *testing.T) {
	p := lone(&Server{opt: Options{Retain: 16 << 20, Window: 1 << 20, WhenFull: Drop}, budget: budget{limit: 1 << 30}})
	for range 8 << 20 / 5000 {
		pg := getPage()
		pg.b = pg.b[:5000]
		if p.output(wire.Stdout, pg) {
			t.Fatal("a page that is mostly empty is kept")
		}
		putPage(pg)
	}
	if most := p.kept.bytes * 5 / 4; p.kept.memory() > most {
		t.Errorf("%d bytes lie in %d", p.kept.bytes, p.kept.memory())
	}
}

// lone is a process of a session that has no actor.
func lone(s *Server) *process {
	se := &session{srv: s, procs: map[string]*process{}}
	p := newProcess(se, "p", startParams{full: s.opt.WhenFull})
	p.shown = true
	se.procs["p"] = p
	return p
}

// What is retained for a client that comes back stays until it has asked for it,
// and no longer than a while when it does not ask.
func TestRetainedOutputIsHeldForWhoComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{opt: Options{Retain: 1 << 20, Window: 1 << 20, WhenFull: Pause}, ctx: t.Context(), budget: budget{limit: 1 << 30}}
		p := lone(s)
		p.detach(nil)
		var wg sync.WaitGroup
		more := func() {
			wg.Go(func() {
				for range 4 {
					pg := getPage()
					pg.b = pg.b[:pageBytes]
					p.output(wire.Stdout, pg)
				}
			})
		}
		for range 1 << 20 / pageBytes / 4 {
			more()
			wg.Wait()
		}
		more()
		synctest.Wait()
		has := func(kept int, lost uint64) {
			t.Helper()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.kept.bytes != kept || p.kept.lostBytes != lost {
				t.Errorf("it keeps %d, want %d, and has lost %d, want %d", p.kept.bytes, kept, p.kept.lostBytes, lost)
			}
		}
		has(1<<20, 0)
		c := s.newConn(nil, lines{}, "")
		p.s.conn = c
		p.attach(c)
		p.s.unholdLater(c, holdWait)

		// The answer to its initialize takes long to get to it.
		time.Sleep(5 * holdWait) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if !p.holds() {
			t.Error("it could not ask yet")
		}
		c.session = p.s
		if err := c.notification(&wire.Message{Method: wire.NotifyInitialized}); err != nil {
			t.Error(err)
		}

		// It asks for a part, and later for more.
		read := func(after uint64, most uint) {
			c.readProcessOf(t, p, after, most)
		}
		time.Sleep(holdWait - time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		read(0, 128<<10)
		synctest.Wait()
		has(1<<20, 0)                      // nothing comes after it before the rest is asked for
		time.Sleep(holdWait - time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		if !p.holds() {
			t.Error("it was too impatient")
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
		wg.Wait()
		if p.holds() {
			t.Error("what nobody asks for is held for ever")
		}
		has(1<<20, 256<<10)
	})
}

// readProcessOf asks as a client does.
func (c *conn) readProcessOf(t *testing.T, p *process, after uint64, most uint) {
	t.Helper()
	p.started = true
	c.session = p.s
	c.running++
	c.readProcess(&wire.ProcessReadParams{ProcessID: p.id, AfterSeq: &after, MaxBytes: &most}, reply{c: c, id: wire.IntID(1)})
	c.answered(c.waiting)
}

// A message that is larger than a frame may be comes in several.
func TestLargeMessageIsCutIntoFrames(t *testing.T) {
	message := []byte(strings.Repeat("0123456789", 4_000_000))
	var got []byte
	n := 0
	bufs := frames{}.wrap(nil, message)
	for i := 0; i < len(bufs); i += 2 {
		head, body := bufs[i], bufs[i+1]
		n++
		want := []byte{opMore, opText, opMore, opMore | opFin}[n]
		if head[0] != want || len(body) > wire.MaxFrame || fmt.Sprintf("%x", appendFrameHead(nil, 0, len(body))[1:]) != fmt.Sprintf("%x", head[1:]) {
			t.Errorf("frame %d begins with %x and has %d bytes", n, head, len(body))
		}
		got = append(got, body...)
	}
	if string(got) != string(message) || n != 3 {
		t.Errorf("%d bytes in %d frames", len(got), n)
	}
}

// What a client has got for certain is kept to what every process has; what may
// be lost on its way is kept beyond that.
func TestWhatHasArrivedIsNotKept(t *testing.T) {
	s := &Server{opt: Options{Retain: 16 << 20, Window: 1 << 30}, ctx: t.Context(), budget: budget{limit: 1 << 30}}
	p := lone(s)
	c := s.newConn(nil, frames{}, "")
	c.pings = true
	p.attach(c)
	kept := func(want int) {
		t.Helper()
		if p.kept.bytes > want || p.kept.bytes < want-pageBytes {
			t.Errorf("%d bytes are kept, want %d", p.kept.bytes, want)
		}
	}
	var out []byte
	write := func(n int) {
		for range n / pageBytes {
			pg := getPage()
			pg.b = pg.b[:pageBytes]
			p.output(wire.Stdout, pg)
		}
		for more := true; more; {
			out, more = p.encode(c, out[:0], batchBytes)
		}
	}
	write(6 << 20)
	kept(6 << 20)
	write(6 << 20)
	kept(8 << 20)
	if c.nextPing != 12<<20/markBytes+1 {
		t.Errorf("%d pings", c.nextPing)
	}
	c.ponged(binary.BigEndian.AppendUint64(nil, 6<<20/markBytes))
	write(pageBytes)
	kept(6<<20 + pageBytes)
	c.ponged(binary.BigEndian.AppendUint64(nil, c.nextPing-1))
	write(pageBytes)
	kept(1 << 20)
}

// What a client has been sent may never arrive: the process waits before it is
// forgotten, until the client answers a ping that was sent after it. One that
// answers no pings at all is not waited for.
func TestWhatMayBeLostOnItsWayIsKept(t *testing.T) {
	for _, hears := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{opt: Options{Retain: 2 << 20, Window: 1 << 30, WhenFull: Pause}, ctx: t.Context(), budget: budget{limit: 1 << 30}}
			p := lone(s)
			c := s.newConn(nil, frames{}, "")
			c.pings, c.session = true, p.s
			p.attach(c)
			const total = 8 << 20
			var wg sync.WaitGroup
			wg.Go(func() {
				for range total / pageBytes {
					pg := getPage()
					pg.b = pg.b[:pageBytes]
					p.output(wire.Stdout, pg)
				}
			})
			var out []byte
			send := func() {
				for more := true; more; {
					synctest.Wait()
					out, more = p.encode(c, out[:0], batchBytes)
				}
			}
			written := func() (n int) { // and how much of it has been forgotten before got
				p.mu.Lock()
				defer p.mu.Unlock()
				if first := p.kept.at(0).seq; hears && first > max(p.got, 1) {
					t.Errorf("what was sent from %d on is forgotten, and it has not come from %d on", first, p.got)
				}
				return p.kept.bytes + int(p.kept.lostBytes)
			}
			send()
			if n := written(); n != 2<<20 {
				t.Errorf("it has written %d bytes", n)
			}
			if !hears {
				time.Sleep(deafWait + time.Second) //nolint:forbidigo // in a bubble, whose clock moves by itself
			}
			for was := written(); was < total; {
				if hears {
					c.ponged(binary.BigEndian.AppendUint64(nil, c.nextPing-1))
				}
				send()
				n := written()
				if n == was {
					t.Fatalf("it does not go on after %d bytes", n)
				}
				was = n
			}
			wg.Wait()
		})
	}
}
