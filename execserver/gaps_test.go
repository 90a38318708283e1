package execserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// An event that does not come is asked for after a second.
func TestGap(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Drop)
		conn.out("p", 1, "a")
		conn.out("p", 3, "c")
		begun := time.Now()
		m := conn.want(wire.MethodProcessRead)
		if waited := time.Since(begun); waited != gapPatience {
			t.Errorf("asked after %v", waited)
		}
		if p := params[wire.ProcessReadParams](t, m); *p.AfterSeq != 1 || *p.MaxBytes != refillBytes || *p.WaitMs != 0 {
			t.Errorf("read %s", m.Params)
		}
		conn.result(m, wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: 2, Stream: wire.Stdout, Chunk: []byte("b")}, {Seq: 3, Stream: wire.Stdout, Chunk: []byte("c")}}, NextSeq: 4})
		is(t, story(t, sub, 3), "1:a 2:b 3:c")
		// One that comes late enough stops the clock.
		conn.out("p", 5, "e")
		conn.out("p", 4, "d")
		is(t, story(t, sub, 2), "4:d 5:e")
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's time: nothing is asked for
		if len(conn.got) > 0 {
			t.Errorf("%s", (<-conn.got).Method)
		}
	})
}

// More than can be kept is read at once, and once more for what was dropped.
func TestOverfull(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Keep)
		begun := time.Now()
		for q := uint64(2); q <= 300; q++ {
			conn.out("p", q, "x")
		}
		m := conn.want(wire.MethodProcessRead)
		chunks := func(from, to uint64) (all []wire.OutputChunk) {
			for q := from; q <= to; q++ {
				all = append(all, wire.OutputChunk{Seq: q, Stream: wire.Stdout, Chunk: []byte("r")})
			}
			return all
		}
		conn.result(m, wire.ProcessReadResult{Chunks: chunks(1, 270), NextSeq: 271})
		m = conn.want(wire.MethodProcessRead)
		if p := params[wire.ProcessReadParams](t, m); *p.AfterSeq != 270 {
			t.Errorf("read %s", m.Params)
		}
		conn.result(m, wire.ProcessReadResult{Chunks: chunks(271, 300), NextSeq: 301})
		for q := uint64(1); q <= 300; q++ {
			if e, err := sub.Next(t.Context()); err != nil || e.Seq != q {
				t.Fatalf("%d: %+v %v", q, e, err)
			}
		}
		if time.Since(begun) != 0 {
			t.Errorf("it took %v", time.Since(begun))
		}
	})
}

// What the server no longer has ends the process.
func TestGapLost(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, sub := start(t, c, conn, "p", Drop)
		conn.out("p", 5, "e")
		conn.result(conn.want(wire.MethodProcessRead), wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: 4, Stream: wire.Stdout, Chunk: []byte("d")}}, NextSeq: 6})
		conn.want(wire.MethodProcessTerminate)
		is(t, story(t, sub, 2), "failed: process events are no longer retained while recovering through sequence 5 EOF")
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrEventsLost) {
			t.Error(err)
		}
		r, err := p.Read(t.Context(), 0, 0, 0)
		if err != nil || !r.Closed || r.Failure == nil || *r.Failure != "process events are no longer retained while recovering through sequence 5" {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// A server that keeps saying that there is more and gives nothing is not asked
// for ever.
func TestGapStuck(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Drop)
		for q := uint64(2); q <= 300; q++ {
			conn.out("p", q, "x")
		}
		for range stuckReads {
			conn.result(conn.want(wire.MethodProcessRead), wire.ProcessReadResult{NextSeq: 1})
		}
		conn.want(wire.MethodProcessTerminate)
		if got := story(t, sub, 1); !strings.HasPrefix(got, "failed: process events are no longer retained") {
			t.Error(got)
		}
	})
}
