//go:build unix

package server

import (
	"fmt"
	"net"
	"net/http"
	"os"
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

func TestExtensions(t *testing.T) {
	s := startServer(t, Options{})
	c, _ := extended(t, s)
	p := shell("a", "trap 'echo bye; exit 7' TERM; echo in; while :; do sleep 0.01; done")
	p.TTY, p.Size = true, &wire.TerminalSize{Rows: 50, Cols: 132}
	r := c.start(p)
	if r.PID <= 0 || r.AttachToken == "" {
		t.Errorf("%+v", r)
	}
	c.awaitOutput("a", wire.PTY, "in")
	call[wire.Empty](c, wire.MethodProcessResize, wire.ProcessResizeParams{ProcessID: "a", Rows: 10, Cols: 20})

	// Another session watches.
	o, _ := extended(t, s)
	at := call[wire.ProcessAttachResult](o, wire.MethodProcessAttach, wire.ProcessAttachParams{AttachID: "seen", Token: r.AttachToken})
	if at.Process.ProcessID != "a" || at.Process.PID != r.PID {
		t.Errorf("%+v", at)
	}
	o.awaitOutput("seen", wire.PTY, "in")
	_ = o.refused(wire.MethodProcessAttach, wire.ProcessAttachParams{AttachID: "more", Token: "guess"})
	_ = o.refused(wire.MethodProcessAttach, wire.ProcessAttachParams{AttachID: "seen", Token: r.AttachToken})

	if r := call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "a", GraceMs: ptr(uint64(60_000))}); !r.Running {
		t.Error(r)
	}
	for who, id := range map[*client]string{c: "a", o: "seen"} {
		if e := who.awaitExit(id); e.ExitCode != 7 {
			t.Errorf("%s: %+v", id, e)
		}
		who.awaitClose(id)
		if out := who.output(id)[wire.PTY]; !strings.Contains(out, "bye") {
			t.Errorf("%s: %q", id, out)
		}
	}
	list := call[wire.ProcessListResult](c, wire.MethodProcessList, nil)
	if len(list.Processes) != 1 || !list.Processes[0].Closed || *list.Processes[0].ExitCode != 7 {
		t.Errorf("%+v", list)
	}

	q := shell("b", "wc -c")
	q.PipeStdin = true
	c.start(q)
	call[wire.ProcessWriteResult](c, wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: "b", Chunk: []byte("12345"), WriteID: "1"})
	if r := call[wire.ProcessWriteResult](c, wire.MethodProcessCloseStdin, wire.ProcessCloseStdinParams{ProcessID: "b"}); r.Status != wire.WriteAccepted {
		t.Error(r)
	}
	c.awaitClose("b")
	if out := c.output("b")[wire.Stdout]; strings.TrimSpace(out) != "5" {
		t.Errorf("%q", out)
	}
}

// A program that takes nothing from its terminal holds up nobody: not the
// connection that writes to it, not who looks at it, and not the server's end.
func TestTerminalThatIsNotRead(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{})
	c, _ := extended(t, s)
	for _, id := range []string{"a", "stays"} {
		p := shell(id, "stty raw -echo; echo in; exec sleep 1000")
		p.TTY = true
		c.start(p)
		c.awaitOutput(id, wire.PTY, "in")
		for i := range 20 { // until some have no room, and no answer
			c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: make([]byte, inputBound/16), WriteID: strconv.Itoa(i)})
		}
		call[wire.Empty](c, wire.MethodProcessResize, wire.ProcessResizeParams{ProcessID: id, Rows: 10, Cols: 20})
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: id, Chunk: []byte("x"), WriteID: "after"})
	}
	c.start(shell("beside", "echo beside"))
	c.awaitClose("beside")
	call[wire.ProcessTerminateResult](c, wire.MethodProcessTerminate, wire.ProcessTerminateParams{ProcessID: "a"})
	c.awaitClose("a")
	stopServer(t, s)
}

// With a terminal a death by signal is 1, as it always was, but for who knows of
// extensions.
func TestExitCodeOfATerminal(t *testing.T) {
	s := startServer(t, Options{})
	plain := dial(t, s.URL())
	plain.initialize(wire.InitializeParams{})
	knowing, _ := extended(t, s)
	for c, want := range map[*client]int32{plain: 1, knowing: 130} {
		p := shell("a", "kill -INT $$")
		p.TTY = true
		c.start(p)
		if e := c.awaitExit("a"); e.ExitCode != want {
			t.Errorf("%d, want %d", e.ExitCode, want)
		}
	}
}

func TestSlowObserverIsToldOfItsLoss(t *testing.T) {
	s := startServer(t, Options{Retain: 64 << 10})
	c, _ := extended(t, s)
	p := shell("a", "head -c 2000000 /dev/zero")
	r := c.start(p)
	c.awaitClose("a")
	o, _ := extended(t, s)
	call[wire.ProcessAttachResult](o, wire.MethodProcessAttach, wire.ProcessAttachParams{AttachID: "seen", Token: r.AttachToken})
	g := o.await("the loss", func(g *got) bool { return g.Method == wire.NotifyProcessOutLost })
	if !strings.Contains(g.text, `"processId":"seen"`) {
		t.Error(g.text)
	}
	o.awaitClose("seen")
}

func TestEnvPolicy(t *testing.T) {
	own := []string{"HOME=/h", "LANG=l", "PATH=/p", "TERM=t", "API_KEY=k", "my_token=t", "FOO=1", "BAR=2"}
	all := wire.EnvPolicy{Inherit: wire.InheritAll, IgnoreDefaultExcludes: true}
	for name, c := range map[string]struct {
		p    wire.EnvPolicy
		want string
	}{
		"all":      {all, "API_KEY BAR FOO HOME LANG PATH TERM my_token"},
		"defaults": {wire.EnvPolicy{Inherit: wire.InheritAll}, "BAR FOO HOME LANG PATH TERM"},
		"core":     {wire.EnvPolicy{Inherit: wire.InheritCore}, "HOME LANG PATH"},
		"none":     {wire.EnvPolicy{Inherit: wire.InheritNone, Set: map[string]string{"SECRET": "x"}}, "SECRET"},
		"exclude":  {wire.EnvPolicy{Inherit: wire.InheritAll, Exclude: []string{"f*", "?AR"}, Set: map[string]string{"FOO": "x"}}, "FOO HOME LANG PATH TERM"},
		"include":  {wire.EnvPolicy{Inherit: wire.InheritAll, IncludeOnly: []string{"*o*"}, Set: map[string]string{"X": "1", "XO": "2"}}, "FOO HOME XO"},
	} {
		var names []string
		for k := range applyPolicy(&c.p, own) {
			names = append(names, k)
		}
		if got := sorted(names); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if !matches("a*b*c", "aXXbXc") || matches("a*b*c", "aXXbX") || !matches("*", "") || matches("?", "") {
		t.Error("globs")
	}
}

func sorted(s []string) string {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return strings.Join(s, " ")
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "x.sock")
	s := startServer(t, Options{Listen: "unix://" + path})
	if s.URL() != "unix://"+path {
		t.Error(s.URL())
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st, err)
	}
	if _, err := Start(Options{Listen: "unix://" + path}); err == nil {
		t.Error("two servers listen on one socket")
	}
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := lineClient(t, nc, nc)
	c.initialize(wire.InitializeParams{})
	c.start(shell("a", "echo hello"))
	c.awaitClose("a")
	if got := c.output("a")[wire.Stdout]; got != "hello\n" {
		t.Errorf("%q", got)
	}
}

func TestHTTPSide(t *testing.T) {
	s := startServer(t, Options{})
	base := "http" + strings.TrimPrefix(s.URL(), "ws")
	for _, c := range []struct {
		path, origin string
		want         int
	}{
		{"/readyz", "", 200}, {"/readyz", "http://x", 403}, {"/", "", 400}, {"/", "null", 403}, {"/else", "", 404},
	} {
		req, _ := http.NewRequest("GET", base+c.path, nil)
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		tr := &http.Transport{DisableKeepAlives: true}
		res, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%+v: %d", c, res.StatusCode)
		}
	}
}

// What many processes in a row, in many sessions, leave behind is nothing: no
// descriptor, goroutine, process, file or memory. In CI there are 10,000, with
// HOSTSUP_MANY as many as it says.
func TestManyProcessesLeaveNothing(t *testing.T) {
	n := 1000
	switch {
	case testing.Short():
		n = 200
	case require.All():
		n = 10_000
	}
	if s := os.Getenv("HOSTSUP_MANY"); s != "" {
		n = number(t, s)
	}
	t.Setenv("TMPDIR", t.TempDir())
	s := startServer(t, Options{KeepClosed: time.Millisecond, KeepDetached: time.Millisecond})
	const each = 100 // in a session
	some := func(rounds int) {
		for range rounds {
			c := dial(t, s.URL())
			c.initialize(wire.InitializeParams{})
			for i := range each {
				p := shell(fmt.Sprint("p", i), "echo x; echo y >&2")
				p.PipeStdin, p.TTY = i%4 == 0, i%10 == 0
				c.start(p)
				c.awaitClose(p.ProcessID)
			}
			c.stop()
		}
		eventually(t, "that nothing runs", func() bool {
			m := s.Metrics()
			return m.OpenSessions == 0 && m.Open == 0 && m.Processes == 0
		})
	}
	type state struct{ files, goroutines, heap int }
	measure := func() state {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return state{len(leaktest.Descriptors()), runtime.NumGoroutine(), int(m.HeapAlloc)}
	}
	some(1)
	before := measure()
	some(n/each - 1)
	var after state
	if !poll.Within(patience, func() bool {
		after = measure()
		return after.files <= before.files && after.goroutines <= before.goroutines && after.heap <= before.heap+1<<20
	}) {
		t.Errorf("before %+v, after %d processes %+v", before, n, after)
	}
	if m := s.Metrics(); m.Starts != uint64(n) || m.Sessions != uint64(n/each) {
		t.Errorf("%+v", m)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	children(t)
}

// children fails the test when processes of this one's are left, but for those
// that the launchers keep.
func children(t *testing.T) {
	t.Helper()
	var left string
	if !poll.Within(patience, func() bool {
		left = ""
		dirs, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
		for _, stat := range dirs {
			b, err := os.ReadFile(stat)
			if err != nil {
				continue
			}
			name, rest, _ := strings.Cut(string(b), ") ")
			f := strings.Fields(rest)
			if len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) && (f[0] == "Z" || strings.HasSuffix(name, "(sh")) {
				left += string(b)
			}
		}
		return left == ""
	}) {
		t.Errorf("processes are left:\n%s", left)
	}
}

// Answers that the socket does not take whole must reach the client whole.
func TestAnswersToAClientThatReadsLate(t *testing.T) {
	s := startServer(t, Options{})
	w := dialRaw(t, s.URL())
	const n = 12000 // answers of 800 bytes
	go func() {
		for i := range n {
			w.send(t, fmt.Sprintf(`{"id":%d,"method":"environment/info"}`, i))
		}
	}()
	eventually(t, "a full socket", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.mu.Lock()
			full := c.waiting > 1<<20
			c.mu.Unlock()
			if full {
				return true
			}
		}
		return false
	})
	var buf []byte
	for i := range n {
		buf = w.next(t, buf[:cap(buf)])
		m, err := wire.Decode(buf)
		if err != nil || m.ID != wire.IntID(int64(i)) {
			t.Fatalf("%d: %.100s, %v", i, buf, err)
		}
	}
}

func TestAThousandAtOnce(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	for i := range n {
		p := shell(fmt.Sprint("p", i), "read y; echo $y")
		p.PipeStdin = true
		c.ask(wire.MethodProcessStart, p)
	}
	eventually(t, "their start", func() bool { return s.Metrics().Starts == uint64(n) })
	if got := s.Metrics().Processes; got != int64(n) {
		t.Errorf("%d run", got)
	}
	for i := range n {
		c.ask(wire.MethodProcessWrite, wire.ProcessWriteParams{ProcessID: fmt.Sprint("p", i), Chunk: fmt.Appendf(nil, "%d\n", i), WriteID: "1"})
	}
	closed := 0
	c.await("all their ends", func(g *got) bool {
		if g.Kind == wire.KindNotification && g.Method == wire.NotifyProcessClosed {
			closed++
		}
		return closed == n
	})
	if out := c.output("p7")[wire.Stdout]; out != "7\n" {
		t.Errorf("%q", out)
	}
}
