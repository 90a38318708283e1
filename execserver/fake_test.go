package execserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/leaktest"
)

// asServer makes this binary a server on its standard streams.
const asServer = "HOSTSUP_TEST_EXEC_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		s, err := server.Start(server.Options{Listen: "stdio"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		<-s.Done()
		os.Exit(0)
	}
	leaktest.Main(m)
}

// fake is a server that does what a test says, line by line.
type fake struct {
	t     *testing.T
	conns chan *fakeConn
	deny  chan error // an error here is what the next attempt comes to
	dials []time.Time
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, conns: make(chan *fakeConn, 1000), deny: make(chan error, 1000)}
}

// endpoint reaches it.
func (f *fake) endpoint(lasting bool) Endpoint {
	return Stream{Name: "fake", Lasting: lasting, Open: func(ctx context.Context) (io.ReadWriteCloser, error) {
		f.dials = append(f.dials, time.Now())
		select {
		case err := <-f.deny:
			return nil, err
		default:
		}
		ours, theirs := net.Pipe()
		c := &fakeConn{t: f.t, c: theirs, got: make(chan *wire.Message, 1000)}
		go c.read()
		f.conns <- c
		return ours, nil
	}}
}

// client connects a client, with session s-1.
func (f *fake) client(opt Options, lasting bool) (*Client, *fakeConn) {
	f.t.Helper()
	c := New(f.endpoint(lasting), opt)
	f.t.Cleanup(func() { c.Close() })
	return c, f.connect(c, "s-1")
}

// connect connects it with a new session.
func (f *fake) connect(c *Client, session string) *fakeConn {
	f.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.Connect(f.t.Context()) }()
	conn := f.accept("", session)
	if err := <-done; err != nil {
		f.t.Fatal(err)
	}
	if c.SessionID() != session {
		f.t.Fatalf("session %q, want %q", c.SessionID(), session)
	}
	return conn
}

// conn is the next connection.
func (f *fake) conn() *fakeConn {
	f.t.Helper()
	select {
	case c := <-f.conns:
		return c
	case <-time.After(time.Hour): // of a bubble's time, mostly
		f.t.Fatal("nobody connects")
		return nil
	}
}

// accept shakes hands with the next connection, which is to resume a session
// or, with "", not to.
func (f *fake) accept(resume, session string) *fakeConn {
	f.t.Helper()
	c := f.conn()
	m := c.want(wire.MethodInitialize)
	var p wire.InitializeParams
	if err := json.Unmarshal(m.Params, &p); err != nil {
		f.t.Fatal(err)
	}
	if (p.ResumeSessionID == nil) != (resume == "") || p.ResumeSessionID != nil && *p.ResumeSessionID != resume {
		f.t.Fatalf("initialize %s, want to resume %q", m.Params, resume)
	}
	c.result(m, wire.InitializeResult{
		SessionID: session, Extensions: wire.Extensions(),
		EnvironmentInfo: wire.EnvironmentInfo{Capabilities: wire.Capabilities{FileWriteStreaming: true}},
	})
	c.want(wire.NotifyInitialized)
	return c
}

// fakeConn is one connection as the server sees it.
type fakeConn struct {
	t   *testing.T
	c   net.Conn
	got chan *wire.Message
}

func (c *fakeConn) read() {
	defer close(c.got)
	r := bufio.NewReader(c.c)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := wire.Decode(bytes.TrimSpace(line))
		if err != nil {
			c.t.Errorf("the client sends %q: %v", line, err)
			return
		}
		c.got <- m
	}
}

// want returns the next message, which is to be of a method.
func (c *fakeConn) want(method string) *wire.Message {
	c.t.Helper()
	m, ok := <-c.got
	if !ok {
		c.t.Fatalf("the connection has ended, want %s", method)
	}
	if m.Method != method {
		c.t.Fatalf("%s %s %s, want %s", m.Method, m.Params, m.Result, method)
	}
	return m
}

func (c *fakeConn) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.c, line+"\n"); err != nil {
		c.t.Fatalf("send %s: %v", line, err)
	}
}

func (c *fakeConn) sendf(format string, args ...any) {
	c.t.Helper()
	c.send(fmt.Sprintf(format, args...))
}

func (c *fakeConn) result(m *wire.Message, result any) {
	c.t.Helper()
	b, err := wire.AppendResult(nil, m.ID, result)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(b))
}

func (c *fakeConn) refuse(m *wire.Message, code wire.Code, message string) {
	c.t.Helper()
	c.send(string(wire.AppendError(nil, m.ID, &wire.Error{Code: code, Message: message})))
}

func (c *fakeConn) out(id string, seq uint64, text string) {
	c.t.Helper()
	c.send(string(wire.AppendOutput(nil, wire.AppendString(nil, id), seq, wire.Stdout, []byte(text))))
}

func (c *fakeConn) exited(id string, seq uint64, code int32) {
	c.t.Helper()
	c.send(string(wire.AppendExited(nil, wire.AppendString(nil, id), seq, code, false)))
}

func (c *fakeConn) closed(id string, seq uint64) {
	c.t.Helper()
	c.send(string(wire.AppendClosed(nil, wire.AppendString(nil, id), seq)))
}

func (c *fakeConn) cut() { c.c.Close() }

// params reads a message's params.
func params[T any](t *testing.T, m *wire.Message) T {
	t.Helper()
	var p T
	if err := json.Unmarshal(m.Params, &p); err != nil {
		t.Fatalf("%s: %v", m.Params, err)
	}
	return p
}

// start starts process id over conn and subscribes to it.
func start(t *testing.T, c *Client, conn *fakeConn, id string, o Overflow) (*Process, *Subscription) {
	t.Helper()
	var p *Process
	var sub *Subscription
	done := make(chan error, 1)
	go func() {
		var err error
		p, sub, err = c.StartSubscribed(t.Context(), wire.ProcessStartParams{ProcessID: id, Argv: []string{"x"}, Cwd: "file:///"}, o)
		done <- err
	}()
	conn.result(conn.want(wire.MethodProcessStart), wire.ProcessStartResult{ProcessID: id})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return p, sub
}

// story reads n events and tells them in a line.
func story(t *testing.T, s *Subscription, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var told []string
	for range n {
		e, err := s.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			told = append(told, "EOF")
		case errors.Is(err, ErrLagged):
			told = append(told, err.Error())
		case err != nil:
			t.Fatalf("after %v: %v", told, err)
		case e.Kind == Output:
			told = append(told, fmt.Sprintf("%d:%s", e.Seq, e.Data))
		case e.Kind == Exited:
			told = append(told, fmt.Sprintf("%d:exit(%d)", e.Seq, e.ExitCode))
		case e.Kind == Closed:
			told = append(told, fmt.Sprintf("%d:closed", e.Seq))
		default:
			told = append(told, "failed: "+e.Err.Error())
		}
	}
	return strings.Join(told, " ")
}

func is(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
