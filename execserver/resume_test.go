package execserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// A cut in the middle of output loses nothing, and subscribers notice nothing.
func TestResume(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		var states []string
		c, conn := s.client(Options{OnState: func(s State, err error) { states = append(states, s.String()) }}, true)
		_, running := start(t, c, conn, "running", Keep)
		_, ended := start(t, c, conn, "ended", Keep)
		conn.out("running", 1, "a")
		conn.out("running", 3, "c") // 2 is lost with the connection
		conn.out("ended", 1, "x")
		is(t, story(t, running, 1), "1:a")
		conn.cut()

		// The server has not noticed yet, twice.
		for range 2 {
			conn := s.conn()
			conn.refuse(conn.want(wire.MethodInitialize), wire.CodeAlreadyAttached, "session ID is already attached to another connection")
		}
		// A call that is made now waits.
		status := make(chan error, 1)
		go func() {
			_, err := c.Status(t.Context())
			status <- err
		}()
		conn = s.accept("s-1", "s-1")
		conn.out("running", 6, "f") // live, before anything is read
		reads := map[string]*wire.Message{}
		for range 2 {
			m := conn.want(wire.MethodProcessRead)
			reads[params[wire.ProcessReadParams](t, m).ProcessID] = m
		}
		if p := params[wire.ProcessReadParams](t, reads["running"]); *p.AfterSeq != 1 {
			t.Errorf("read %s", reads["running"].Params)
		}
		code := int32(4)
		conn.result(reads["ended"], wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: 3, Stream: wire.Stderr, Chunk: []byte("y")}}, NextSeq: 5, Exited: true, ExitCode: &code, Closed: true})
		conn.result(reads["running"], wire.ProcessReadResult{Chunks: []wire.OutputChunk{
			{Seq: 2, Stream: wire.Stdout, Chunk: []byte("b")}, {Seq: 3, Stream: wire.Stdout, Chunk: []byte("c")},
			{Seq: 4, Stream: wire.Stdout, Chunk: []byte("d")}, {Seq: 5, Stream: wire.Stdout, Chunk: []byte("e")},
		}, NextSeq: 6})
		is(t, story(t, running, 5), "2:b 3:c 4:d 5:e 6:f")
		is(t, story(t, ended, 5), "1:x 2:exit(4) 3:y 4:closed EOF")
		conn.result(conn.want(wire.MethodEnvironmentStatus), wire.EnvironmentStatus{})
		if err := <-status; err != nil {
			t.Error(err)
		}
		conn.exited("running", 7, 0)
		conn.closed("running", 8)
		is(t, story(t, running, 2), "7:exit(0) 8:closed")
		is(t, fmt.Sprint(states), "[connecting attached recovering attached]")
		var waits []time.Duration
		for i := range s.dials[1:] {
			waits = append(waits, s.dials[i+1].Sub(s.dials[i]))
		}
		is(t, fmt.Sprint(waits), "[0s 100ms 100ms]")
	})
}

// A connection that ends while what happened is being read is as if it had not
// come about.
func TestResumeCutAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Drop)
		conn.out("p", 1, "a")
		conn.cut()
		conn = s.accept("s-1", "s-1")
		conn.want(wire.MethodProcessRead)
		conn.out("p", 2, "b")
		synctest.Wait()
		if c.State() != Recovering {
			t.Error(c.State())
		}
		conn.cut()
		conn = s.accept("s-1", "s-1")
		m := conn.want(wire.MethodProcessRead)
		if p := params[wire.ProcessReadParams](t, m); *p.AfterSeq != 2 {
			t.Errorf("read %s", m.Params)
		}
		conn.result(m, wire.ProcessReadResult{NextSeq: 3})
		synctest.Wait()
		if c.State() != Attached {
			t.Error(c.State())
		}
		is(t, story(t, sub, 2), "1:a 2:b")
	})
}

// Much to be read, over connections that end before all of it came: what came
// counts, and the time begins anew.
func TestResumeBitByBit(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Keep)
		piece := bytes.Repeat([]byte("x"), refillBytes/2)
		const pieces = 8
		for q := uint64(1); q <= pieces; q++ {
			conn.cut()
			conn = s.accept("s-1", "s-1")
			m := conn.want(wire.MethodProcessRead)
			if p := params[wire.ProcessReadParams](t, m); *p.AfterSeq != q-1 || *p.MaxBytes != refillBytes {
				t.Errorf("read %s", m.Params)
			}
			conn.result(m, wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: q, Stream: wire.Stdout, Chunk: piece}}, NextSeq: q + 1})
			conn.want(wire.MethodProcessRead) // it may have been cut there
			if c.State() != Recovering {
				t.Error(c.State())
			}
			time.Sleep(20 * time.Second) //nolint:forbidigo // of the bubble's time: a slow line
		}
		conn.cut()
		conn = s.accept("s-1", "s-1")
		conn.result(conn.want(wire.MethodProcessRead), wire.ProcessReadResult{NextSeq: pieces + 1})
		for q := uint64(1); q <= pieces; q++ {
			if e, err := sub.Next(t.Context()); err != nil || e.Seq != q || len(e.Data) != len(piece) {
				t.Errorf("%d: %d bytes, %v", e.Seq, len(e.Data), err)
			}
		}
		synctest.Wait()
		if c.State() != Attached {
			t.Error(c.State())
		}
	})
}

// A session that is resumed has its events before the handshake is over, and
// more of them than can be kept: nothing is asked for before its time.
func TestResumeOverfull(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Keep)
		conn.cut()
		conn = s.conn()
		m := conn.want(wire.MethodInitialize)
		var all []wire.OutputChunk
		for q := uint64(1); q <= 300; q++ {
			all = append(all, wire.OutputChunk{Seq: q, Stream: wire.Stdout, Chunk: []byte("x")})
			if q > 1 {
				conn.out("p", q, "x")
			}
		}
		synctest.Wait()
		conn.result(m, wire.InitializeResult{SessionID: "s-1"})
		conn.want(wire.NotifyInitialized)
		conn.result(conn.want(wire.MethodProcessRead), wire.ProcessReadResult{Chunks: all, NextSeq: 301})
		for q := uint64(1); q <= 300; q++ {
			if e, err := sub.Next(t.Context()); err != nil || e.Seq != q {
				t.Fatalf("%d: %v", e.Seq, err)
			}
		}
		synctest.Wait()
		if c.State() != Attached {
			t.Error(c.State())
		}
	})
}

// A server that has answered what it was asked for keeps no more for the client,
// and what comes behind the answer comes as fast as it goes: it must not be taken
// for what is ahead of its turn, of which only a part is kept.
func TestResumeFlooded(t *testing.T) {
	const pieces, flood = 64, 5000
	s := newFake(t)
	c, conn := s.client(Options{}, true)
	_, sub := start(t, c, conn, "p", Keep)
	conn.cut()
	conn = s.accept("s-1", "s-1")
	m := conn.want(wire.MethodProcessRead)
	r := wire.ProcessReadResult{NextSeq: pieces + 1}
	for q := uint64(1); q <= pieces; q++ { // it takes time to read them
		r.Chunks = append(r.Chunks, wire.OutputChunk{Seq: q, Stream: wire.Stdout, Chunk: make([]byte, refillBytes/2/pieces-1)})
	}
	all, err := wire.AppendResult(nil, m.ID, r)
	if err != nil {
		t.Fatal(err)
	}
	for q := uint64(pieces + 1); q <= pieces+flood; q++ {
		all = wire.AppendOutput(append(all, '\n'), []byte(`"p"`), q, wire.Stdout, []byte("x"))
	}
	go func() { // ends with the connection
		for m := range conn.got {
			if m.Method == wire.MethodProcessRead {
				conn.refuse(m, wire.CodeInvalidRequest, "it is no longer kept")
			}
		}
	}()
	conn.send(string(all))
	conn.exited("p", pieces+flood+1, 0)
	conn.closed("p", pieces+flood+2)
	for q := uint64(1); q <= pieces+flood+2; q++ {
		if e, err := sub.Next(t.Context()); err != nil || e.Seq != q {
			t.Fatalf("%d instead of %d: %v %v", e.Seq, q, e.Err, err)
		}
	}
}

func TestResumeEventsLost(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, lost := start(t, c, conn, "lost", Drop)
		_, gone := start(t, c, conn, "gone", Drop)
		conn.cut()
		conn = s.accept("s-1", "s-1")
		synctest.Wait() // both have asked, before the answer to one leads to more
		for range 2 {
			switch m := conn.want(wire.MethodProcessRead); params[wire.ProcessReadParams](t, m).ProcessID {
			case "lost":
				conn.result(m, wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: 41, Stream: wire.Stdout, Chunk: []byte("z")}}, NextSeq: 42})
			case "gone":
				conn.refuse(m, wire.CodeInvalidRequest, "unknown process id gone")
			}
		}
		is(t, story(t, lost, 2), "failed: process events are no longer retained while recovering through sequence 41 EOF")
		is(t, params[wire.ProcessTerminateParams](t, conn.want(wire.MethodProcessTerminate)).ProcessID, "lost")
		e, err := gone.Next(t.Context())
		if err != nil || !errors.Is(e.Err, ErrUnknownProcess) {
			t.Error(e, err)
		}
		synctest.Wait()
		if c.State() != Attached {
			t.Error(c.State())
		}
	})
}

// A session that the server does not know is not asked for again.
func TestResumeUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, sub := start(t, c, conn, "p", Drop)
		conn.cut()
		waiting := make(chan error, 1)
		synctest.Wait()
		go func() {
			_, err := c.Status(t.Context())
			waiting <- err
		}()
		conn = s.conn()
		m := conn.want(wire.MethodInitialize)
		synctest.Wait()
		conn.refuse(m, wire.CodeInvalidRequest, "unknown session id s-1")
		const text = "exec-server transport disconnected; failed to resume exec-server session: exec-server rejected initialize (-32600): unknown session id s-1"
		is(t, story(t, sub, 2), "failed: "+text+" EOF")
		err := <-waiting
		if !errors.Is(err, ErrSessionLost) || !errors.Is(err, ErrUnknownSession) || !errors.Is(err, ErrDisconnected) {
			t.Error(err)
		}
		r, err := p.Read(t.Context(), 0, 0, time.Second)
		if err != nil || !r.Closed || !r.Exited || *r.Failure != text {
			t.Errorf("%+v %v", r, err)
		}
		if len(s.dials) != 2 {
			t.Errorf("%d connections", len(s.dials))
		}
		s.connect(c, "s-2")
	})
}

func TestResumeTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Drop)
		for range 1000 {
			s.deny <- errors.New("nobody there")
		}
		begun := time.Now()
		conn.cut()
		is(t, story(t, sub, 1), "failed: exec-server transport disconnected; failed to resume exec-server session: recovery timed out after 45s: nobody there")
		if took := time.Since(begun); took != 45*time.Second {
			t.Errorf("it took %v", took)
		}
		if n := len(s.dials) - 1; n < 440 || n > 451 {
			t.Errorf("%d attempts", n)
		}
	})
}

// A start that was not answered is not replayed, and what it may have started
// is killed.
func TestStartCut(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		done := make(chan error, 1)
		go func() {
			_, err := c.Start(t.Context(), wire.ProcessStartParams{ProcessID: "p"})
			done <- err
		}()
		conn.want(wire.MethodProcessStart)
		conn.cut()
		if err := <-done; !errors.Is(err, ErrDisconnected) {
			t.Error(err)
		}
		conn = s.accept("s-1", "s-1")
		m := conn.want(wire.MethodProcessTerminate)
		is(t, params[wire.ProcessTerminateParams](t, m).ProcessID, "p")
		conn.result(m, wire.ProcessTerminateResult{Running: true})
	})
}

// Input that may not have arrived is written again under its id.
func TestStdinCut(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, _ := start(t, c, conn, "p", Drop)
		done := make(chan error, 1)
		go func() {
			in := p.Stdin(t.Context())
			_, err := io.WriteString(in, "hello")
			done <- errors.Join(err, in.Close())
		}()
		first := params[wire.ProcessWriteParams](t, conn.want(wire.MethodProcessWrite))
		conn.cut()
		conn = s.accept("s-1", "s-1")
		conn.result(conn.want(wire.MethodProcessRead), wire.ProcessReadResult{NextSeq: 1})
		m := conn.want(wire.MethodProcessWrite)
		if again := params[wire.ProcessWriteParams](t, m); again.WriteID != first.WriteID || string(again.Chunk) != "hello" {
			t.Errorf("%+v, then %+v", first, again)
		}
		conn.result(m, wire.ProcessWriteResult{Status: wire.WriteAccepted})
		conn.result(conn.want(wire.MethodProcessCloseStdin), wire.ProcessWriteResult{Status: wire.WriteAccepted})
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A later client goes on with a session and its processes.
func TestAdopt(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{Resume: "s-9"})
		defer c.Close()
		got := make(chan *Process, 1)
		go func() {
			p, err := c.Adopt(t.Context(), "p", 4)
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		conn := s.accept("s-9", "s-9")
		m := conn.want(wire.MethodProcessRead)
		conn.result(m, wire.ProcessReadResult{Chunks: []wire.OutputChunk{{Seq: 5, Stream: wire.Stdout, Chunk: []byte("e")}}, NextSeq: 6})
		sub := (<-got).Subscribe(Drop)
		conn.out("p", 6, "f")
		is(t, story(t, sub, 2), "5:e 6:f")
		go func() {
			_, err := c.Adopt(t.Context(), "q", 0)
			if !errors.Is(err, ErrUnknownProcess) {
				t.Error(err)
			}
			got <- nil
		}()
		conn.refuse(conn.want(wire.MethodProcessRead), wire.CodeInvalidRequest, "unknown process id q")
		<-got
	})
}

// A request of the server is answered: nothing is allowed.
func TestServerRequests(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		_, conn := s.client(Options{}, true)
		conn.send(`{"id":"a","method":"network/policyRequest","params":{}}`)
		m := <-conn.got
		is(t, m.ID.String()+string(m.Result), `"a"{"decision":{"type":"deny","reason":"not reviewed"}}`)
		conn.send(`{"id":7,"method":"what/ever"}`)
		m = <-conn.got
		if m.Err == nil || m.Err.Code != wire.CodeMethodNotFound {
			t.Errorf("%+v", m)
		}
	})
}
