//go:build unix

package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
)

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !within(patience, ok) {
		t.Fatalf("%s did not come about", what)
	}
}

// gone waits for the end of a process that is not our child.
func gone(t testing.TB, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ") // whoever inherited it has not looked yet
	})
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOutputIsInOrderAndWhole(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "for i in $(seq 1 2000); do echo out$i; echo err$i >&2; done; exit 3"))
	c.awaitClose("a")
	out := c.output("a") // checks the order
	for stream, word := range map[wire.Stream]string{wire.Stdout: "out", wire.Stderr: "err"} {
		var want strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&want, "%s%d\n", word, i+1)
		}
		if out[stream] != want.String() {
			t.Errorf("%s has %d bytes, want %d", stream, len(out[stream]), want.Len())
		}
	}
	if e := c.awaitExit("a"); e.ExitCode != 3 || e.Seq+1 != c.awaitClose("a").Seq {
		t.Error(e)
	}
}

func TestExitComesAfterWhatWasWrittenBefore(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	for i := range 20 {
		id := fmt.Sprint("p", i)
		// A grandchild holds the pipe: its end cannot be what is waited for.
		c.start(shell(id, "sleep 30 & head -c 50000 /dev/zero; exit 4"))
		exit := c.awaitExit(id)
		if n := len(c.output(id)[wire.Stdout]); n != 50000 {
			t.Errorf("%d bytes came before the exit (seq %d)", n, exit.Seq)
		}
		call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: id})
		c.awaitClose(id)
	}
}

func TestTerminalEndsByControlD(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	for i := range 50 { // its end must not look like a hangup
		id := fmt.Sprint("t", i)
		p := shell(id, "exec cat")
		p.TTY = true
		c.start(p)
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: []byte("a\n"), WriteID: "1"})
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: []byte{4}, WriteID: "2"})
		c.awaitClose(id)
		if e := c.awaitExit(id); e.ExitCode != 0 {
			t.Fatalf("%d: %+v %q", i, e, c.output(id))
		}
	}
}

func TestTerminateTakesTheTree(t *testing.T) {
	s := startServer(t, Options{})
	if k := s.Status().Kill; k == "group" {
		t.Skipf("trees are ended by %s here", k)
	}
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "setsid sleep 1000 & echo $!; wait"))
	c.awaitOutput("a", wire.Stdout, "\n")
	pid := number(t, c.output("a")[wire.Stdout])
	if r := call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "a"}); !r.Running {
		t.Error("it was not running")
	}
	if e := c.awaitExit("a"); e.ExitCode != 137 {
		t.Error(e)
	}
	c.awaitClose("a")
	gone(t, pid)
}

func TestWhatIsLeftBehindLivesWithTheSession(t *testing.T) {
	s := startServer(t, Options{KeepDetached: 50 * time.Millisecond})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"))
	c.awaitClose("a")
	pid := number(t, c.output("a")[wire.Stdout])
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("it ended with the command that started it: %v", err)
	}
	c.stop()
	if s.Status().Kill == "group" {
		t.Skip("trees are ended by group here")
	}
	gone(t, pid)
	eventually(t, "the end of the session", func() bool { return len(s.Status().Sessions) == 0 })
}

func TestSessionIsResumed(t *testing.T) {
	s := startServer(t, Options{})
	a := dial(t, s.URL())
	id := a.initialize(wire.InitializeParams{}).SessionID
	p := shell("p", "echo one; read x; echo two; read x; exit 5")
	p.PipeStdin = true
	a.start(p)
	a.awaitOutput("p", wire.Stdout, "one\n")

	b := dial(t, s.URL())
	if err := b.refused(wire.MethodInitialize, wire.InitializeParams{ClientName: "x", ResumeSessionID: &id}); err.Code != wire.CodeAlreadyAttached ||
		err.Message != "session "+id+" is already attached to another connection" {
		t.Error(err)
	}
	if err := b.refused(wire.MethodInitialize, wire.InitializeParams{ClientName: "x", ResumeSessionID: ptr("nobody")}); err.Message != "unknown session id nobody" {
		t.Error(err)
	}
	a.stop()
	eventually(t, "the detachment", func() bool { return s.Status().Sessions[0].Detached != nil })
	if r := b.initialize(wire.InitializeParams{ResumeSessionID: &id}); r.SessionID != id {
		t.Errorf("got session %s", r.SessionID)
	}
	// Nothing is replayed, everything can be read.
	read := call[wire.ProcessReadResult](b, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "p", AfterSeq: ptr(uint64(0))})
	if len(read.Chunks) != 1 || string(read.Chunks[0].Chunk) != "one\n" || read.NextSeq != 2 {
		t.Errorf("%+v", read)
	}
	call[wire.ProcessWriteResult](b, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "p", Chunk: []byte("x\n"), WriteID: "1"})
	b.awaitOutput("p", wire.Stdout, "two\n")
	call[wire.ProcessWriteResult](b, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "p", Chunk: []byte("x\n"), WriteID: "2"})
	if e := b.awaitExit("p"); e.ExitCode != 5 || e.Seq != 3 {
		t.Error(e)
	}
}

func TestDetachedProcessGoesOnAndLossIsTold(t *testing.T) {
	s := startServer(t, Options{Retain: 64 << 10})
	a := dial(t, s.URL())
	id := a.initialize(wire.InitializeParams{}).SessionID
	p := shell("p", "read x; head -c 3000000 /dev/zero")
	p.PipeStdin = true
	a.start(p)
	call[wire.ProcessWriteResult](a, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "p", Chunk: []byte("\n"), WriteID: "1"})
	a.stop()
	eventually(t, "the close", func() bool { return s.Status().Sessions[0].Processes[0].State == ProcessClosed })
	b := dial(t, s.URL())
	b.initialize(wire.InitializeParams{ResumeSessionID: &id})
	read := call[wire.ProcessReadResult](b, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "p"})
	kept := 0
	for _, c := range read.Chunks {
		kept += len(c.Chunk)
	}
	if read.Lost == nil || kept > 64<<10 || kept < 48<<10 || uint64(kept)+read.Lost.Bytes != 3000000 || read.Lost.ThroughSeq+1 != read.Chunks[0].Seq || !read.Closed {
		t.Errorf("%d bytes are kept, lost is %+v", kept, read.Lost)
	}
	last := read.Chunks[len(read.Chunks)-1].Seq
	if r := call[wire.ProcessReadResult](b, wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "p", AfterSeq: ptr(last - 1)}); r.Lost != nil {
		t.Errorf("what was not asked for is told as lost: %+v", r.Lost)
	}
}

func TestClosedProcessIsForgottenInTime(t *testing.T) {
	s := startServer(t, Options{KeepClosed: 50 * time.Millisecond})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "echo x"))
	c.awaitClose("a")
	eventually(t, "the forgetting", func() bool {
		g := c.answer(c.ask(wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "a"}))
		return g.Kind == wire.KindError && g.Err.Message == "unknown process id a"
	})
	c.start(shell("a", "echo y")) // the id is free
}

func TestSlowReaderStallsItsOwnProcessAlone(t *testing.T) {
	s := startServer(t, Options{})
	slow := dialRaw(t, s.URL())
	slow.send(t, fmt.Sprintf(startTrue, 1, "x", 1))
	slow.send(t, `{"id":2,"method":"process/start","params":{"processId":"zero","argv":["/bin/cat","/dev/zero"],"cwd":"file:///tmp","env":{},"tty":false}}`)
	slow.until(t, `"id":2,`)
	eventually(t, "the stall", func() bool { // nobody reads
		p := s.all()[0].process("zero")
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.unsent >= s.opt.Window
	})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "echo hello"))
	c.awaitClose("a")
	if got := c.output("a")[wire.Stdout]; got != "hello\n" {
		t.Errorf("%q", got)
	}
	for _, se := range s.Status().Sessions {
		for _, p := range se.Processes {
			if p.RetainedBytes > wire.RetainBytes+pageBytes {
				t.Errorf("%s keeps %d bytes", p.ID, p.RetainedBytes)
			}
		}
	}
}

func TestHalfDeadConnectionIsTakenOver(t *testing.T) {
	s := startServer(t, Options{PongWait: 30 * time.Millisecond})
	// A client that reads nothing answers no ping.
	dead := dialRaw(t, s.URL())
	id := s.Status().Sessions[0].ID
	dead.send(t, fmt.Sprintf(startTrue, 1, "x", 1))
	c := dial(t, s.URL())
	eventually(t, "the takeover", func() bool {
		g := c.answer(c.ask(wire.MethodInitialize, wire.InitializeParams{ClientName: "x", ResumeSessionID: &id}))
		if g.Kind == wire.KindError && g.Err.Code != wire.CodeAlreadyAttached {
			t.Fatal(g.Err)
		}
		return g.Kind == wire.KindResult
	})
	if n := s.Metrics().Takeovers; n != 1 {
		t.Errorf("%d takeovers", n)
	}
	// One that answers is not taken over.
	other := dial(t, s.URL())
	alive := s.session(id)
	for start := time.Now(); time.Since(start) < 3*s.opt.PongWait; {
		if err := other.refused(wire.MethodInitialize, wire.InitializeParams{ClientName: "x", ResumeSessionID: &id}); err.Code != wire.CodeAlreadyAttached {
			t.Fatal(err)
		}
		eventually(t, "the pong", func() bool {
			alive.mu.Lock()
			c := alive.conn
			alive.mu.Unlock()
			c.pingMu.Lock()
			defer c.pingMu.Unlock()
			return c.pinged.IsZero()
		})
	}
}

func TestCloseFramesSayWhy(t *testing.T) {
	s := startServer(t, Options{})
	for text, want := range map[string]string{
		`{"method":"initialized"}`: "initialized came before initialize",
		`{"method":"nonsense"}`:    "unexpected notification nonsense",
		`{"id":5,"result":{}}`:     "an answer to a request that was not made: id 5",
	} {
		c := dial(t, s.URL())
		if err := c.send([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var ce websocket.CloseError
		if err := c.awaitEnd(); !asClose(err, &ce) || ce.Code != closeProtocol || ce.Reason != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func asClose(err error, ce *websocket.CloseError) bool {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(websocket.CloseError); ok { //nolint:errorlint // the loop unwraps
			*ce = e
			return true
		}
	}
	return false
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func TestOversizeMessageIsAnswered(t *testing.T) {
	s := startServer(t, Options{MaxMessage: 1 << 20})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	if err := c.send(bytes.Repeat([]byte(" "), 3<<20)); err != nil {
		t.Fatal(err)
	}
	g := c.await("the refusal", func(g *got) bool { return g.Kind == wire.KindError && g.ID == wire.UnknownID })
	if g.Err.Code != wire.CodeInvalidRequest || g.Err.Message != "message is too large: limit is 1048576 bytes" {
		t.Error(g.Err)
	}
	call[wire.EnvironmentStatus](c, wire.MethodEnvironmentStatus, nil) // it goes on
}

func TestRequestsRunSideBySide(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "read x"))
	p := shell("b", "read x")
	p.PipeStdin = true
	c.start(p)
	poll := c.ask(wire.MethodProcessRead, wire.ProcessReadParams{ProcessID: "b", WaitMs: ptr(uint64(60_000))})
	call[wire.EnvironmentStatus](c, wire.MethodEnvironmentStatus, nil)
	call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "b"})
	g := c.answer(poll)
	if !strings.Contains(g.text, `"exited":true,"exitCode":137`) {
		t.Error(g.text)
	}
}

func TestPipelinedRequestsKeepTheirOrder(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	p := shell("a", "exec cat")
	p.PipeStdin = true
	c.ask(wire.MethodProcessStart, p)
	var want strings.Builder
	for i := range 500 { // while it starts, and after
		fmt.Fprintf(&want, "%d\n", i)
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "a", Chunk: fmt.Appendf(nil, "%d\n", i), WriteID: fmt.Sprint(i)})
	}
	c.awaitOutput("a", wire.Stdout, "499\n")
	if got := c.output("a")[wire.Stdout]; got != want.String() {
		t.Errorf("%.100q", got)
	}
	path := string(wire.FileURI(filepath.Join(t.TempDir(), "f")))
	var last wire.ID
	for i := range 100 {
		c.ask(wire.MethodFSWriteFile, map[string]any{"path": path, "dataBase64": base64.StdEncoding.EncodeToString(fmt.Append(nil, i))})
		last = c.ask(wire.MethodFSReadFile, map[string]any{"path": path})
		want := `"` + base64.StdEncoding.EncodeToString(fmt.Append(nil, i)) + `"`
		if i%10 == 0 {
			if g := c.answer(last); !strings.Contains(g.text, want) {
				t.Errorf("%d: %s, want %s", i, g.text, want)
			}
		}
	}
	c.answer(last)
}

func TestLargeInputForAProcessThatDoesNotRead(t *testing.T) {
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	p := shell("a", "sleep 0.2; wc -c")
	p.PipeStdin = true
	c.start(p)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	var ids []wire.ID
	for i := range 4 {
		ids = append(ids, c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "a", Chunk: chunk, WriteID: fmt.Sprint(i)}))
	}
	for _, id := range ids {
		if g := c.answer(id); !strings.Contains(g.text, "accepted") {
			t.Error(g.text)
		}
	}
	// Without the extension there is no end of input.
	_ = c.refused(wire.MethodProcessCloseStdin, wire.ProcessCloseStdinParams{ProcessID: "a"})
}
