package execserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// bubble runs a test in time of its own, with a fake server.
func bubble(t *testing.T, f func(t *testing.T, s *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newFake(t)) })
}

func TestEventsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		done := make(chan *Subscription, 1)
		go func() {
			_, sub, err := c.StartSubscribed(t.Context(), wire.ProcessStartParams{ProcessID: "p", Argv: []string{"x"}, Cwd: "file:///"}, Drop)
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		m := conn.want(wire.MethodProcessStart)
		conn.out("p", 1, "before the answer")
		conn.result(m, wire.ProcessStartResult{ProcessID: "p"})
		sub := <-done
		conn.closed("p", 6)
		conn.out("p", 3, "c")
		conn.out("other", 1, "not mine")
		conn.out("p", 2, "b")
		conn.out("p", 2, "again")
		conn.exited("p", 4, 3)
		conn.send(`{"method":"process/output","params":{"chunk":"4pyT","seq":5,"processId":"p","stream":"stderr","more":[1]}}`)
		is(t, story(t, sub, 7), "1:before the answer 2:b 3:c 4:exit(3) 5:✓ 6:closed EOF")
		// What is left behind is killed.
		is(t, params[wire.ProcessTerminateParams](t, conn.want(wire.MethodProcessTerminate)).ProcessID, "p")
	})
}

func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, sub := start(t, c, conn, "p", Keep)
		var out, errs strings.Builder
		copied := make(chan error, 1)
		go func() {
			exit, err := sub.Copy(t.Context(), &out, &errs)
			if exit.Code != 7 {
				t.Errorf("exit %+v", exit)
			}
			copied <- err
		}()
		conn.out("p", 1, "one ")
		conn.send(`{"method":"process/output","params":{"processId":"p","seq":2,"stream":"stderr","chunk":"dHdv"}}`)
		conn.exited("p", 3, 7)
		conn.out("p", 4, "three")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait before the end: %v", err)
		}
		conn.closed("p", 5)
		exit, err := p.Wait(t.Context())
		if err != nil || exit.Code != 7 {
			t.Errorf("%+v %v", exit, err)
		}
		if err := <-copied; err != nil {
			t.Error(err)
		}
		is(t, out.String()+"|"+errs.String(), "one three|two")
		// A late subscriber sees it all.
		is(t, story(t, p.Subscribe(Drop), 6), "1:one  2:two 3:exit(7) 4:three 5:closed EOF")
	})
}

func TestLateSubscriber(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, sub := start(t, c, conn, "p", Keep)
		for q := uint64(1); q <= 300; q++ {
			conn.out("p", q, "x")
		}
		conn.exited("p", 301, 0)
		synctest.Wait()
		late := p.Subscribe(Drop)
		is(t, story(t, late, 2), "subscriber lagged behind: events 1 to 45 are missing 46:x")
		lossless := p.Subscribe(Keep)
		is(t, story(t, lossless, 2), "subscriber lagged behind: events 1 to 45 are missing 46:x")
		lossless.Close()
		for q := uint64(1); q <= 300; q++ { // and the other one has everything
			if e, err := sub.Next(t.Context()); err != nil || e.Seq != q {
				t.Fatalf("%d: %+v %v", q, e, err)
			}
		}
		go func() { // the first subscriber would stall
			for _, err := range sub.All(t.Context()) {
				if err != nil {
					t.Error(err)
				}
			}
		}()
		// By bytes: the last ones that fit into 1 MiB.
		big := strings.Repeat("x", 300<<10)
		for q := uint64(302); q <= 306; q++ {
			conn.out("p", q, big)
		}
		synctest.Wait()
		e, err := p.Subscribe(Drop).Next(t.Context())
		var lag *LaggedError
		if !errors.As(err, &lag) || lag.First != 1 || lag.Next != 304 {
			t.Errorf("%+v %v", e, err)
		}
		// A slow one with Drop misses the oldest, and is told where.
		var kept, missed int
		late.Close()
		if _, err := late.Next(t.Context()); err == nil {
			t.Error("a closed subscription has events")
		}
		slow := p.Subscribe(Drop)
		for q := uint64(307); q <= 600; q++ {
			conn.out("p", q, "y")
		}
		conn.closed("p", 601)
		synctest.Wait()
		for e, err := range slow.All(t.Context()) {
			if errors.As(err, &lag) {
				missed += int(lag.Next - lag.First)
			} else if err != nil {
				t.Fatal(err)
			} else if kept++; e.Kind == Closed {
				break
			}
		}
		if kept != logEvents || missed != 601-logEvents {
			t.Errorf("%d read, %d missed", kept, missed)
		}
	})
}

// A subscriber with Keep holds the server back while it has the connection to
// itself, but not when a request of ours waits for its answer.
func TestStall(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Keep)
		big := strings.Repeat("x", 256<<10)
		sent := make(chan uint64, 100)
		go func() {
			for q := uint64(1); q <= 40; q++ {
				conn.out("p", q, big)
				sent <- q
			}
		}()
		synctest.Wait()
		stalled := len(sent)
		if stalled < 4 || stalled > 6 {
			t.Fatalf("%d pieces of 256 KiB were taken", stalled)
		}
		// Reading makes room.
		for range 3 {
			if _, err := sub.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(sent) != stalled+3 {
			t.Errorf("%d pieces after three were read, %d before", len(sent), stalled)
		}
		// So does a request.
		answered := make(chan error, 1)
		go func() {
			_, err := c.Status(t.Context())
			answered <- err
		}()
		m := conn.want(wire.MethodEnvironmentStatus)
		synctest.Wait()
		if len(sent) != 40 {
			t.Errorf("%d pieces while a request waits", len(sent))
		}
		conn.result(m, wire.EnvironmentStatus{Status: "ready"})
		if err := <-answered; err != nil {
			t.Error(err)
		}
		// Closing lets everything through.
		go conn.out("p", 41, big)
		synctest.Wait()
		sub.Close()
		conn.out("p", 42, "done")
	})
}

// One process that says much does not hold another's events up.
func TestNoisyNeighbour(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		start(t, c, conn, "noisy", Drop) // which nobody reads
		_, quiet := start(t, c, conn, "quiet", Drop)
		for q := uint64(1); q <= 5000; q++ {
			conn.out("noisy", q, "x")
		}
		conn.exited("quiet", 1, 17)
		is(t, story(t, quiet, 1), "1:exit(17)")
	})
}

func TestStartRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		done := make(chan error, 1)
		go func() {
			_, err := c.Start(t.Context(), wire.ProcessStartParams{EnvPolicy: &wire.EnvPolicy{}})
			done <- err
		}()
		m := conn.want(wire.MethodProcessStart)
		for _, part := range []string{`"argv":[]`, `"env":{}`, `"exclude":[]`, `"set":{}`, `"includeOnly":[]`, `"processId":"1-`} {
			if !strings.Contains(string(m.Params), part) && part != `"processId":"1-` {
				t.Errorf("no %s in %s", part, m.Params)
			}
		}
		conn.refuse(m, wire.CodeInvalidParams, "argv must not be empty")
		err := <-done
		if !errors.Is(err, ErrBadParams) || errors.Is(err, ErrDisconnected) {
			t.Error(err)
		}
		is(t, err.Error(), "exec-server rejected process/start (-32602): argv must not be empty")
		if len(c.all()) != 0 {
			t.Error("its route is left")
		}
	})
}

// Whoever gives up a start does not leave a process behind.
func TestStartGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.Start(ctx, wire.ProcessStartParams{ProcessID: "p", Argv: []string{"x"}})
			done <- err
		}()
		m := conn.want(wire.MethodProcessStart)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		conn.result(m, wire.ProcessStartResult{ProcessID: "p"})
		is(t, params[wire.ProcessTerminateParams](t, conn.want(wire.MethodProcessTerminate)).ProcessID, "p")
	})
}

func TestWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, _ := start(t, c, conn, "p", Drop)
		go func() {
			seen := map[string]bool{}
			for range 3 {
				m := conn.want(wire.MethodProcessWrite)
				w := params[wire.ProcessWriteParams](t, m)
				if w.WriteID == "" || seen[w.WriteID] || len(w.Chunk) > writePiece {
					t.Errorf("id %q, %d bytes", w.WriteID, len(w.Chunk))
				}
				seen[w.WriteID] = true
				conn.result(m, wire.ProcessWriteResult{Status: wire.WriteAccepted})
			}
			conn.result(conn.want(wire.MethodProcessWrite), wire.ProcessWriteResult{Status: wire.WriteStdinClosed})
			conn.result(conn.want(wire.MethodProcessWrite), wire.ProcessWriteResult{Status: wire.WriteUnknownProcess})
		}()
		if n, err := p.Write(t.Context(), make([]byte, 2*writePiece+1)); err != nil || n != 2*writePiece+1 {
			t.Errorf("%d %v", n, err)
		}
		_, err := p.Write(t.Context(), []byte("x"))
		if !errors.Is(err, ErrStdin) || errors.Is(err, ErrUnknownProcess) {
			t.Error(err)
		}
		if _, err = p.Write(t.Context(), nil); !errors.Is(err, ErrUnknownProcess) {
			t.Error(err)
		}
	})
}

func TestVerbs(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, _ := start(t, c, conn, "p", Drop)
		try := func(method, want string, result any, f func() error) {
			t.Helper()
			done := make(chan error, 1)
			go func() { done <- f() }()
			m := conn.want(method)
			is(t, string(m.Params), want)
			conn.result(m, result)
			if err := <-done; err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		try(wire.MethodProcessSignal, `{"processId":"p","signal":"interrupt"}`, wire.Empty{}, func() error { return p.Interrupt(t.Context()) })
		try(wire.MethodProcessResize, `{"processId":"p","rows":50,"cols":132}`, wire.Empty{}, func() error { return p.Resize(t.Context(), 50, 132) })
		try(wire.MethodProcessCloseStdin, `{"processId":"p"}`, wire.ProcessWriteResult{Status: wire.WriteAccepted}, func() error { return p.CloseStdin(t.Context()) })
		try(wire.MethodProcessTerminate, `{"processId":"p","graceMs":1500}`, wire.ProcessTerminateResult{Running: true}, func() error {
			running, err := p.Terminate(t.Context(), 1500*time.Millisecond)
			if !running {
				t.Error("not running")
			}
			return err
		})
		try(wire.MethodProcessList, `null`, wire.ProcessListResult{Processes: []wire.ProcessInfo{{ProcessID: "p"}}}, func() error {
			all, err := c.Processes(t.Context())
			if len(all) != 1 {
				t.Errorf("%+v", all)
			}
			return err
		})
		try(wire.MethodProcessRead, `{"processId":"p","afterSeq":3,"maxBytes":100,"waitMs":800}`, wire.ProcessReadResult{NextSeq: 9}, func() error {
			r, err := p.Read(t.Context(), 3, 100, 800*time.Millisecond)
			if r.NextSeq != 9 {
				t.Errorf("%+v", r)
			}
			return err
		})
		conn.exited("p", 1, 0)
		conn.closed("p", 2)
		<-p.Done()
		if running, err := p.Terminate(t.Context(), 0); running || err != nil {
			t.Error(running, err)
		}
	})
}

// An older server has no extensions.
func TestNoExtension(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{})
		defer c.Close()
		done := make(chan error, 1)
		go func() { done <- c.Connect(t.Context()) }()
		conn := s.conn()
		conn.sendf(`{"id":%v,"result":{}}`, conn.want(wire.MethodInitialize).ID)
		conn.want(wire.NotifyInitialized)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		p := newProcess(c, "p", 0)
		for _, err := range []error{
			p.Resize(t.Context(), 1, 1), p.CloseStdin(t.Context()),
			func() error { _, err := c.Processes(t.Context()); return err }(),
			func() error { _, err := c.Observe(t.Context(), "x", 0); return err }(),
		} {
			if !errors.Is(err, ErrNoExtension) {
				t.Error(err)
			}
		}
	})
}

// An observer is told what it has missed, and observes on after a cut.
func TestObserve(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		got := make(chan *Process, 1)
		go func() {
			p, err := c.Observe(t.Context(), "token", 2)
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		m := conn.want(wire.MethodProcessAttach)
		a := params[wire.ProcessAttachParams](t, m)
		if a.Token != "token" || *a.AfterSeq != 2 {
			t.Errorf("%s", m.Params)
		}
		conn.result(m, wire.ProcessAttachResult{AttachID: a.AttachID})
		p := <-got
		sub := p.Subscribe(Drop)
		conn.out(a.AttachID, 3, "c")
		conn.sendf(`{"method":"process/outputLost","params":{"processId":%q,"nextSeq":9,"bytes":100}}`, a.AttachID)
		conn.out(a.AttachID, 9, "i")
		conn.out(a.AttachID, 12, "l")
		is(t, story(t, sub, 5), "3:c subscriber lagged behind: events 4 to 8 are missing 9:i subscriber lagged behind: events 10 to 11 are missing 12:l")
		conn.sendf(`{"method":"process/outputLost","params":{"processId":%q,"nextSeq":20,"bytes":100}}`, a.AttachID)
		conn.cut()
		conn = s.accept("s-1", "s-1")
		m = conn.want(wire.MethodProcessAttach)
		if again := params[wire.ProcessAttachParams](t, m); again.AttachID != a.AttachID || *again.AfterSeq != 19 {
			t.Errorf("%s", m.Params)
		}
		conn.result(m, wire.ProcessAttachResult{AttachID: a.AttachID})
		conn.exited(a.AttachID, 20, 0)
		conn.closed(a.AttachID, 21)
		is(t, story(t, sub, 3), "subscriber lagged behind: events 13 to 19 are missing 20:exit(0) 21:closed")
		if _, err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSameIDTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		start(t, c, conn, "p", Drop)
		if _, err := c.Start(t.Context(), wire.ProcessStartParams{ProcessID: "p"}); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Error(err)
		}
		if got := fmt.Sprint(len(conn.got)); got != "0" {
			t.Errorf("%s messages", got)
		}
	})
}
