package execserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Nothing is connected before something is asked, and callers share one
// attempt.
func TestLazy(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{Name: "me"})
		defer c.Close()
		synctest.Wait()
		if len(s.dials) != 0 || c.State() != Idle {
			t.Error("it has connected by itself")
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.Status(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		conn := s.conn()
		m := conn.want(wire.MethodInitialize)
		is(t, string(m.Params), `{"clientName":"me","resumeSessionId":null,"extensions":["*"]}`)
		conn.result(m, wire.InitializeResult{SessionID: "s-1", EnvironmentInfo: wire.EnvironmentInfo{PlatformOS: "linux"}})
		conn.want(wire.NotifyInitialized)
		for range 10 {
			conn.result(conn.want(wire.MethodEnvironmentStatus), wire.EnvironmentStatus{Status: "ready"})
		}
		wg.Wait()
		if len(s.dials) != 1 || c.SessionID() != "s-1" || c.Info().PlatformOS != "linux" || c.State() != Attached {
			t.Errorf("%d connections, session %q, %+v, %v", len(s.dials), c.SessionID(), c.Info(), c.State())
		}
	})
}

// The first connection is tried again, after 1, 2, 4 … 30 seconds, for five
// minutes.
func TestConnectRetries(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		for range 1000 {
			s.deny <- errors.New("nobody there")
		}
		c := New(s.endpoint(true), Options{})
		defer c.Close()
		begun := time.Now()
		err := c.Connect(t.Context())
		if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "nobody there") {
			t.Error(err)
		}
		var waits []time.Duration
		for i := range s.dials[1:] {
			waits = append(waits, s.dials[i+1].Sub(s.dials[i]))
		}
		is(t, fmt.Sprint(waits[:7]), "[1s 2s 4s 8s 16s 30s 30s]")
		if took := time.Since(begun); took > 5*time.Minute || took < 4*time.Minute {
			t.Errorf("it took %v", took)
		}
		// A failure is not kept.
		for len(s.deny) > 0 {
			<-s.deny
		}
		s.connect(c, "s-1")
	})
}

// What can't become better is not tried again; nor is what a server started by
// the client comes to.
func TestConnectFinal(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{})
		s.deny <- &RefusedError{Status: 401, Text: "missing websocket bearer token"}
		err := c.Connect(t.Context())
		if !errors.Is(err, ErrUnauthorized) || len(s.dials) != 1 {
			t.Errorf("%v after %d attempts", err, len(s.dials))
		}
		is(t, err.Error(), "exec-server connection attempt failed: fake: refused with 401 Unauthorized: missing websocket bearer token")
		c.Close()

		c = New(s.endpoint(false), Options{})
		s.deny <- errors.New("no such file")
		if err := c.Connect(t.Context()); !errors.Is(err, ErrConnect) || len(s.dials) != 2 {
			t.Errorf("%v after %d attempts", err, len(s.dials))
		}
		c.Close()

		c = New(s.endpoint(true), Options{})
		go func() {
			conn := s.conn()
			conn.refuse(conn.want(wire.MethodInitialize), wire.CodeInvalidRequest, "no")
		}()
		if err := c.Connect(t.Context()); !errors.Is(err, ErrConnect) || len(s.dials) != 3 {
			t.Errorf("%v after %d attempts", err, len(s.dials))
		}
		c.Close()
	})
}

func TestInitializeTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{Retry: Retry{For: -1}})
		defer c.Close()
		begun := time.Now()
		err := c.Connect(t.Context())
		var late *TimeoutError
		if !errors.Is(err, ErrTimeout) || !errors.As(err, &late) || late.Step != "initialize" || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		conn := s.conn()
		conn.want(wire.MethodInitialize)
		if _, open := <-conn.got; open {
			t.Error("the connection was not ended")
		}
	})
}

func TestConnectTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, _ *fake) {
		c := New(Stream{Name: "slow", Lasting: true, Open: func(ctx context.Context) (io.ReadWriteCloser, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, Options{Retry: Retry{For: -1}, ConnectTimeout: 3 * time.Second})
		defer c.Close()
		begun := time.Now()
		err := c.Connect(t.Context())
		if !errors.Is(err, ErrTimeout) || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// An attempt for which nobody waits any more is given up.
func TestConnectGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		if c.State() != Idle {
			t.Error(c.State())
		}
		conn := s.conn()
		conn.want(wire.MethodInitialize)
		if _, open := <-conn.got; open {
			t.Error("the connection is still there")
		}
		s.connect(c, "s-1")
	})
}

// Everything under way fails once, for the same reason.
func TestDisconnect(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, false)
		p, sub := start(t, c, conn, "p", Drop)
		errs := make(chan error, 10)
		for range 5 {
			go func() {
				_, err := c.Status(t.Context())
				errs <- err
			}()
			conn.want(wire.MethodEnvironmentStatus)
		}
		conn.out("p", 1, "last words")
		conn.cut()
		for range 5 {
			err := <-errs
			if !errors.Is(err, ErrDisconnected) || errors.Is(err, ErrSessionLost) {
				t.Error(err)
			}
			is(t, err.Error(), "exec-server transport disconnected")
		}
		is(t, story(t, sub, 3), "1:last words failed: exec-server transport disconnected EOF")
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrSessionLost) {
			t.Error(err)
		}
		synctest.Wait()
		if len(errs) != 0 || c.State() != Lost {
			t.Errorf("%d more errors, %v", len(errs), c.State())
		}
		// The next call makes one attempt.
		s.deny <- errors.New("nobody there")
		_, err := c.Status(t.Context())
		is(t, err.Error(), "exec-server connection attempt failed: fake: nobody there")
		if c.State() != Lost || len(s.dials) != 2 {
			t.Errorf("%v after %d connections", c.State(), len(s.dials))
		}
		s.connect(c, "s-2")
	})
}

func TestLatched(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{Latched: true}, false)
		conn.send("not json")
		synctest.Wait()
		_, first := c.Status(t.Context())
		_, second := c.Status(t.Context())
		if !errors.Is(first, ErrSessionLost) || first != second {
			t.Error(first, second)
		}
		if !strings.HasPrefix(first.Error(), `exec-server transport disconnected: exec-server protocol error: malformed message: `) || !strings.HasSuffix(first.Error(), `: "not json"`) {
			t.Error(first)
		}
		if len(s.dials) != 1 {
			t.Error("it has connected again")
		}
	})
}

// What a server may not send ends its connection.
func TestProtocolErrors(t *testing.T) {
	for _, line := range []string{
		`[]`, `{}`, `{"id":1}`, `{"id":1.5,"result":{}}`, `{"id":77,"result":{}}`, `{"id":"1","result":{}}`, `{"id":0,"result":{}}`,
		`{"id":-1,"error":{"code":-32600,"message":"failed to parse"}}`,
		`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"!!!!"}}`,
		`{"method":"process/output","params":{"processId":"p","seq":-1,"stream":"stdout","chunk":""}}`,
		`{"method":"process/exited","params":{"processId":"p","seq":1,"exitCode":"no"}}`,
		`{"method":"process/closed"}`, `{"method":"http/request/bodyDelta","params":7}`,
	} {
		t.Run(line, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *fake) {
				c, conn := s.client(Options{Latched: true}, false)
				go func() { _, _ = io.WriteString(conn.c, line+"\n") }()
				for range conn.got {
					continue
				}
				synctest.Wait()
				_, err := c.Status(t.Context())
				if !errors.Is(err, ErrSessionLost) || !errors.Is(err, ErrProtocol) {
					t.Error(err)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, s *fake) { // and what it may
		c, conn := s.client(Options{Latched: true}, false)
		for _, line := range []string{``, `{"method":"new/thing","params":{}}`, `{"id":1,"result":{}}`, `{"method":"process/output","params":{"processId":"nobody","seq":0,"stream":"new","chunk":""}}`} {
			conn.send(line)
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.Status(t.Context())
			done <- err
		}()
		conn.result(conn.want(wire.MethodEnvironmentStatus), wire.EnvironmentStatus{})
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		p, sub := start(t, c, conn, "p", Drop)
		done := make(chan error, 1)
		go func() {
			_, err := c.Status(t.Context())
			done <- err
		}()
		conn.want(wire.MethodEnvironmentStatus)
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		is(t, story(t, sub, 2), "failed: exec-server client is closed EOF")
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := c.Status(t.Context()); !errors.Is(err, ErrClosed) || c.State() != Ended {
			t.Error(err, c.State())
		}
		if _, open := <-conn.got; open {
			t.Error("the connection is still there")
		}
	})
}

// Close ends an attempt, a recovery and a stalled connection.
func TestCloseAnytime(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c := New(s.endpoint(true), Options{})
		done := make(chan error, 1)
		go func() { done <- c.Connect(t.Context()) }()
		s.conn().want(wire.MethodInitialize)
		c.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}

		c, conn := s.client(Options{}, true)
		_, sub := start(t, c, conn, "p", Drop)
		conn.cut()
		s.conn().want(wire.MethodInitialize)
		go func() { done <- c.Connect(t.Context()) }()
		synctest.Wait()
		c.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		is(t, story(t, sub, 1), "failed: exec-server client is closed")

		c, conn = s.client(Options{}, true)
		start(t, c, conn, "p", Keep)
		go func() {
			for q := uint64(1); ; q++ {
				if _, err := conn.c.Write(append(wire.AppendOutput(nil, []byte(`"p"`), q, wire.Stdout, make([]byte, 1<<20)), '\n')); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		c.Close()
	})
}

// What the server has said before it went away is heard, also when writing to
// it fails first.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		ours, theirs := net.Pipe()
		half := &halfOpen{Conn: ours}
		conn := &fakeConn{t: t, c: theirs, got: make(chan *wire.Message, 10)}
		go conn.read()
		s.conns <- conn
		c := New(Stream{Name: "half", Open: func(context.Context) (io.ReadWriteCloser, error) { return half, nil }}, Options{Latched: true})
		defer c.Close()
		s.connect(c, "s-1")
		synctest.Wait()
		p := newProcess(c, "p", 0)
		if err := c.register(p); err != nil {
			t.Fatal(err)
		}
		sub := p.Subscribe(Drop)
		half.broken.Lock() // every write fails from here on
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := c.Status(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		conn.out("p", 1, "still here")
		is(t, story(t, sub, 2), "1:still here failed: exec-server transport disconnected: broken pipe")
	})
}

// halfOpen is a connection whose writes fail while broken is locked.
type halfOpen struct {
	net.Conn
	broken sync.Mutex
}

func (h *halfOpen) Write(b []byte) (int, error) {
	if !h.broken.TryLock() {
		return 0, errors.New("broken pipe")
	}
	defer h.broken.Unlock()
	return h.Conn.Write(b)
}
