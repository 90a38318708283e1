//go:build unix

package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
)

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !poll.Within(patience, ok) {
		t.Fatalf("%s did not come about", what)
	}
}

// goneWith waits until no process holds a tether.
func goneWith(t testing.TB, h *leaktest.Tether) {
	t.Helper()
	eventually(t, "the end of what was started", func() bool { return !h.IsHeld() })
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
	c, _ := extended(t, s) // without extensions the end by any signal is told as 1
	for i := range 50 {    // its end must not look like a hangup
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
		require.Missing(t, "a way to end whole trees: here it is %s", k)
	}
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	tree := leaktest.NewTether(t)
	c.start(shell("a", tree.Hold+"setsid sleep 1000 & echo up; wait"))
	c.awaitOutput("a", wire.Stdout, "\n")
	if !tree.IsHeld() {
		t.Error("it does not run")
	}
	if r := call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "a"}); !r.Running {
		t.Error("it was not running")
	}
	if e := c.awaitExit("a"); e.ExitCode != 137 {
		t.Error(e)
	}
	c.awaitClose("a")
	goneWith(t, tree)
}

func TestWhatIsLeftBehindLivesWithTheSession(t *testing.T) {
	s := startServer(t, Options{KeepDetached: 50 * time.Millisecond})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	left := leaktest.NewTether(t)
	c.start(shell("a", left.Hold+"setsid sleep 1000 >/dev/null 2>&1 &"))
	c.awaitClose("a")
	if !left.IsHeld() {
		t.Error("it ended with the command that started it")
	}
	c.stop()
	if s.Status().Kill == "group" {
		require.Missing(t, "a way to end whole trees: here it is group")
	}
	goneWith(t, left)
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
	s := startServer(t, Options{Retain: 64 << 10, WhenFull: Drop})
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
			if p.RetainedBytes > s.opt.Retain/2+pageBytes {
				t.Errorf("%s keeps %d bytes", p.ID, p.RetainedBytes)
			}
		}
	}
}

// TestClientThatDoesNotReadTakesBoundedMemory: what its processes write without
// end is held in memory that does not grow.
func TestClientThatDoesNotReadTakesBoundedMemory(t *testing.T) {
	const processes = 16
	s := startServer(t, Options{})
	slow := dialRaw(t, s.URL())
	slow.send(t, fmt.Sprintf(startTrue, 1, "x", 1))
	slow.until(t, `"id":1,`)
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for i := range processes {
		slow.send(t, fmt.Sprintf(`{"id":%d,"method":"process/start","params":{"processId":"zero%d","argv":["/bin/cat","/dev/zero"],"cwd":"file:///tmp","env":{},"tty":false}}`, i+2, i))
	}
	stalled := func() bool {
		for i := range processes {
			p := s.all()[0].process(fmt.Sprint("zero", i))
			if p == nil {
				return false
			}
			p.mu.Lock()
			full := p.unsent >= s.opt.Window
			p.mu.Unlock()
			if !full {
				return false
			}
		}
		return true
	}
	eventually(t, "that all stall", stalled)
	// Of each the retained output and a window that is not sent, and for all the
	// queue of answers.
	bound := processes*(s.opt.Retain+s.opt.Window+4*pageBytes) + queueBytes
	if grown := heap() - before; grown > bound {
		t.Errorf("%d bytes for %d processes, want at most %d", grown, processes, bound)
	}
	if output := s.count.output.Load(); output < processes*uint64(s.opt.Window) {
		t.Errorf("only %d bytes were written", output)
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
	// By the id of the request, wherever that stands.
	for _, text := range []string{`{"id":%d,"method":"environment/status","params":{"a":%q}}`, `{"method":"environment/status","params":{"a":%[2]q},"id":%[1]d}`} {
		c.nextID++
		if err := c.send(fmt.Appendf(nil, text, c.nextID, strings.Repeat("x", 3<<20))); err != nil {
			t.Fatal(err)
		}
		if g := c.answer(wire.IntID(c.nextID)); g.Kind != wire.KindError || g.Err.Message != "message is too large: limit is 1048576 bytes" {
			t.Error(g.text)
		}
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

// What a process writes to one pipe and then to the other is told in that
// order, also when both are full by the time that somebody looks.
func TestStreamsAreToldInTheOrderTheyWereReady(t *testing.T) {
	if !readsInOrder {
		t.Skip("here each stream is read by itself")
	}
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	const each = 100
	for i := range each {
		c.start(shell(fmt.Sprint("out first ", i), "echo x; echo x >&2"))
		c.start(shell(fmt.Sprint("err first ", i), "echo x >&2; echo x"))
	}
	wrong := map[wire.Stream]int{}
	for i := range each {
		for id, want := range map[string]wire.Stream{fmt.Sprint("out first ", i): wire.Stdout, fmt.Sprint("err first ", i): wire.Stderr} {
			first := awaitNote(c, "output of "+id, wire.NotifyProcessOutput, func(p wire.ProcessOutput) bool { return p.ProcessID == id })
			if first.Stream != want {
				wrong[want]++
			}
			c.awaitClose(id)
		}
	}
	if len(wrong) > 0 {
		t.Errorf("of %d each, second instead of first: %v", each, wrong)
	}
}
