//go:build unix

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

// startServer runs a server for a test.
func startServer(t testing.TB, opt Options) *Server {
	t.Helper()
	s, err := Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopServer(t, s) })
	return s
}

func stopServer(t testing.TB, s *Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// client is a plain client: it sends what it is told and keeps what comes.
type client struct {
	t    testing.TB
	send func([]byte) error
	stop func()
	ws   *websocket.Conn

	mu     sync.Mutex
	came   *sync.Cond
	all    []*got
	over   error
	nextID int64
}

// got is a message that came.
type got struct {
	*wire.Message
	text string
}

func newClient(t testing.TB) *client {
	c := &client{t: t}
	c.came = sync.NewCond(&c.mu)
	return c
}

func (c *client) take(b []byte) {
	m, err := wire.Decode(b)
	if err != nil {
		c.t.Errorf("the server sent %.200q: %v", b, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, &got{m, string(b)})
	c.came.Broadcast()
}

func (c *client) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	c.came.Broadcast()
}

// dial opens a WebSocket.
func dial(t testing.TB, url string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	c := newClient(t)
	c.ws = ws
	c.send = func(b []byte) error { return ws.Write(context.Background(), websocket.MessageText, b) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, b, err := ws.Read(context.Background())
			if err != nil {
				c.ended(err)
				return
			}
			c.take(b)
		}
	}()
	var once sync.Once
	c.stop = func() {
		once.Do(func() {
			_ = ws.CloseNow()
			<-done
		})
	}
	t.Cleanup(c.stop)
	return c
}

// lineClient speaks over two ends of pipes or a socket.
func lineClient(t testing.TB, r io.Reader, w io.WriteCloser) *client {
	c := newClient(t)
	c.send = func(b []byte) error {
		_, err := w.Write(append(bytes.Clone(b), '\n'))
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		br := bufio.NewReader(r)
		for {
			b, err := br.ReadBytes('\n')
			if err != nil {
				c.ended(err)
				return
			}
			c.take(bytes.TrimSpace(b))
		}
	}()
	var once sync.Once
	c.stop = func() {
		once.Do(func() {
			w.Close()
			<-done
		})
	}
	t.Cleanup(c.stop)
	return c
}

const patience = 3 * time.Minute

// await returns the first message that is wanted.
func (c *client) await(what string, want func(*got) bool) *got {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	timer := time.AfterFunc(patience, func() { c.mu.Lock(); c.came.Broadcast(); c.mu.Unlock() })
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; ; i++ {
		for i >= len(c.all) {
			if c.over != nil {
				c.t.Fatalf("waiting for %s: the connection ended: %v", what, c.over)
			}
			if time.Now().After(deadline) {
				var texts []string
				for _, g := range c.all {
					texts = append(texts, fmt.Sprintf("%.300s", g.text))
				}
				c.t.Fatalf("%s did not come; these did:\n%s", what, strings.Join(texts, "\n"))
			}
			c.came.Wait()
		}
		if want(c.all[i]) {
			return c.all[i]
		}
	}
}

// awaitEnd waits for the end of the connection.
func (c *client) awaitEnd() error {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	timer := time.AfterFunc(patience, func() { c.mu.Lock(); c.came.Broadcast(); c.mu.Unlock() })
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.over == nil {
		if time.Now().After(deadline) {
			c.t.Fatal("the connection did not end")
		}
		c.came.Wait()
	}
	return c.over
}

// ask sends a request and returns its id.
func (c *client) ask(method string, params any) wire.ID {
	c.t.Helper()
	c.mu.Lock()
	c.nextID++
	id := wire.IntID(c.nextID)
	c.mu.Unlock()
	b, err := wire.AppendRequest(nil, id, method, params)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.send(b); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return id
}

func (c *client) answer(id wire.ID) *got {
	c.t.Helper()
	return c.await("the answer to "+id.String(), func(g *got) bool { return g.Kind >= wire.KindResult && g.ID == id })
}

// call makes a request and decodes its result.
func call[R any](c *client, method string, params any) R {
	c.t.Helper()
	g := c.answer(c.ask(method, params))
	if g.Kind == wire.KindError {
		c.t.Fatalf("%s: %v", method, g.Err)
	}
	var r R
	if err := json.Unmarshal(g.Result, &r); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, g.Result)
	}
	return r
}

// refused makes a request that must fail.
func (c *client) refused(method string, params any) *wire.Error {
	c.t.Helper()
	g := c.answer(c.ask(method, params))
	if g.Kind != wire.KindError {
		c.t.Fatalf("%s was answered with %s", method, g.text)
	}
	return g.Err
}

// initialize makes a session, or resumes one.
func (c *client) initialize(p wire.InitializeParams) wire.InitializeResult {
	c.t.Helper()
	if p.ClientName == "" {
		p.ClientName = "test"
	}
	r := call[wire.InitializeResult](c, wire.MethodInitialize, p)
	if err := c.send([]byte(`{"method":"initialized","params":{}}`)); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// session dials and initializes, with extensions.
func extended(t testing.TB, s *Server) (*client, string) {
	t.Helper()
	c := dial(t, s.URL())
	r := c.initialize(wire.InitializeParams{Extensions: []string{wire.ExtAll}})
	return c, r.SessionID
}

// shell is a process that runs a script.
func shell(id, script string) wire.ProcessStartParams {
	return wire.ProcessStartParams{ProcessID: id, Argv: []string{"/bin/sh", "-c", script}, Cwd: "file:///tmp", Env: map[string]string{"PATH": "/usr/bin:/bin"}}
}

func (c *client) start(p wire.ProcessStartParams) wire.ProcessStartResult {
	c.t.Helper()
	return call[wire.ProcessStartResult](c, wire.MethodProcessStart, p)
}

// note decodes a notification about a process; ok is false for another.
func note[P any](g *got, method string) (p P, ok bool) {
	if g.Kind != wire.KindNotification || g.Method != method || json.Unmarshal(g.Params, &p) != nil {
		return p, false
	}
	return p, true
}

// awaitNote waits for a notification about a process.
func awaitNote[P any](c *client, what, method string, about func(P) bool) (found P) {
	c.t.Helper()
	c.await(what, func(g *got) bool {
		p, ok := note[P](g, method)
		found = p
		return ok && about(p)
	})
	return found
}

func (c *client) awaitExit(id string) wire.ProcessExited {
	c.t.Helper()
	return awaitNote(c, "the exit of "+id, wire.NotifyProcessExited, func(p wire.ProcessExited) bool { return p.ProcessID == id })
}

func (c *client) awaitClose(id string) wire.ProcessClosed {
	c.t.Helper()
	return awaitNote(c, "the close of "+id, wire.NotifyProcessClosed, func(p wire.ProcessClosed) bool { return p.ProcessID == id })
}

// output is what came of a process so far, by stream; it checks that seqs have
// no gap and no disorder.
func (c *client) output(id string) map[wire.Stream]string {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[wire.Stream]string{}
	last := uint64(0)
	for _, g := range c.all {
		var seq uint64
		if p, ok := note[wire.ProcessOutput](g, wire.NotifyProcessOutput); ok && p.ProcessID == id {
			out[p.Stream] += string(p.Chunk)
			seq = p.Seq
		} else if p, ok := note[wire.ProcessExited](g, wire.NotifyProcessExited); ok && p.ProcessID == id {
			seq = p.Seq
		} else if p, ok := note[wire.ProcessClosed](g, wire.NotifyProcessClosed); ok && p.ProcessID == id {
			seq = p.Seq
		} else {
			continue
		}
		if seq != last+1 {
			c.t.Errorf("process %q: seq %d came after %d", id, seq, last)
		}
		last = seq
	}
	return out
}

// awaitOutput waits until a stream of the process has had text.
func (c *client) awaitOutput(id string, stream wire.Stream, text string) {
	c.t.Helper()
	var all strings.Builder
	c.await(fmt.Sprintf("%q from %s", text, id), func(g *got) bool {
		p, ok := note[wire.ProcessOutput](g, wire.NotifyProcessOutput)
		if ok && p.ProcessID == id && p.Stream == stream {
			all.Write(p.Chunk)
		}
		return ok && strings.Contains(all.String(), text)
	})
}

func ptr[T any](v T) *T { return &v }
