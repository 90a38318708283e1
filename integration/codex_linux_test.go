//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

const unconfined = "danger-full-access"

// TestCodex has the real client work on a server in every way that it reaches
// one by, and on the server that it comes with, to show that the plan is right.
func TestCodex(t *testing.T) {
	t.Parallel()
	require.Codex(t)
	ours := hostsupBinary(t)
	for name, reach := range map[string]func(t *testing.T, a *agent){
		"variable": func(t *testing.T, a *agent) { a.byURL(a.serve(t, "variable", ours).url) },
		"file":     func(t *testing.T, a *agent) { a.byFile(t, fmt.Sprintf("url = %q\n", a.serve(t, "file", ours).url)) },
		"program": func(t *testing.T, a *agent) {
			argv := codexMarked("program", ours, "exec-server", "--listen", "stdio")
			var quoted []string
			for _, arg := range argv[1:] {
				quoted = append(quoted, strconv.Quote(arg))
			}
			a.byFile(t, fmt.Sprintf("program = %q\nargs = [%s]\n", argv[0], strings.Join(quoted, ", ")))
		},
		"theirs": func(t *testing.T, a *agent) { a.byURL(a.serve(t, "theirs", a.program).url) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codexWorks(t, name, reach)
		})
	}
}

// codexWorks is a session with something of everything.
func codexWorks(t *testing.T, mark string, reach func(*testing.T, *agent)) {
	var a *agent
	a = newAgent(t, unconfined, func(m *model) {
		r := m.run(`echo out $MARK; echo err >&2; pwd; exit 3`)
		if r.code != 3 || !strings.Contains(r.output, "out "+mark+"\n") || !strings.Contains(r.output, "err\n") ||
			!strings.Contains(r.output, a.path("work")+"\n") {
			t.Errorf("a command: %q", r.text)
		}
		if r := m.run(`kill -9 $$`); r.code != 137 {
			t.Errorf("one that is killed: %q", r.text)
		}

		r = m.start(`test -t 0 && stty size; read -r x; echo "got:$x"; exit 7`, true, "24 80\r\n")
		if r = m.wait(m.typed(r, "a word\n")); r.code != 7 || r.output != "24 80\r\na word\r\ngot:a word\r\n" {
			t.Errorf("a terminal: %q, all of it %q", r.text, r.output)
		}
		r = m.start(`trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done`, true, "ready\r\n")
		if r = m.wait(m.typed(r, "\x03")); r.code != 5 || !strings.Contains(r.output, "caught\r\n") {
			t.Errorf("control-C: %q, all of it %q", r.text, r.output)
		}

		out := m.patch("*** Begin Patch\n*** Add File: sub/new.txt\n+one\n+two\n*** Update File: old.txt\n@@\n a\n-b\n+B\n c\n*** Delete File: gone.txt\n*** End Patch\n")
		if !strings.Contains(out, "Exit code: 0") {
			t.Errorf("a patch: %q", out)
		}
		if out := m.patch("*** Begin Patch\n*** Update File: old.txt\n@@\n-not there\n+x\n*** End Patch\n"); strings.Contains(out, "Exit code: 0") {
			t.Errorf("a patch that does not fit: %q", out)
		}
		if r := m.run(`cat sub/new.txt old.txt`); r.code != 0 || r.output != "one\ntwo\na\nB\nc\n" {
			t.Errorf("what is in the files: %q", r.text)
		}
		if r := m.run(`seq 1 5000`); r.code != 0 || r.output != numbers(1, 5000) {
			t.Errorf("five thousand lines: %d bytes, %q …", len(r.output), r.text[:min(len(r.text), 200)])
		}
	})
	a.write(t, "work/old.txt", "a\nb\nc\n")
	a.write(t, "work/gone.txt", "x\n")
	reach(t, a)
	a.run(t)

	a.holds(t, "work/sub/new.txt", "one\ntwo\n")
	a.holds(t, "work/old.txt", "a\nB\nc\n")
	if _, err := os.Stat(a.path("work/gone.txt")); !os.IsNotExist(err) {
		t.Errorf("what the patch deletes: %v", err)
	}
	// The server wrote it, not the client, whose umask is another.
	if info, err := os.Stat(a.path("work/sub/new.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

// TestCodexCut cuts the connection in the middle of a command's output: so that
// much is written while nobody is there, and again and again while it is
// written.
func TestCodexCut(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"theirs": require.Codex(t), "ours": hostsupBinary(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codexCut(t, program)
		})
	}
}

func codexCut(t *testing.T, program string) {
	var (
		a     *agent
		front *relay
	)
	a = newAgent(t, unconfined, func(m *model) {
		r := m.start(`
			await() { while ! [ -e "../$1" ]; do sleep 0.02; done; }
			seq 1 500; await alone
			seq 501 1000; touch ../written; await joined
			i=1001; while [ $i -le 3000 ]; do seq $i $((i+49)); sleep 0.02; i=$((i+50)); done
			touch ../over; await calm
			exit 9`, false, numbers(1, 500))
		front.shut(true)
		front.cut()
		a.touch("alone")
		a.await("written", 5*time.Millisecond, nil)
		front.shut(false)
		a.touch("joined")
		a.await("over", 300*time.Millisecond, front.cut)
		a.touch("calm")
		if r = m.wait(r); r.code != 9 || r.output != numbers(1, 3000) {
			t.Errorf("after all the cuts: %q, %d bytes in all", r.text, len(r.output))
		}
		if r := m.run(`echo and it goes on`); r.code != 0 || r.output != "and it goes on\n" {
			t.Errorf("a command after that: %q", r.text)
		}
	})
	front = newRelay(t, "tcp", strings.TrimPrefix(a.serve(t, "server", program).url, "ws://"))
	a.byURL(front.url())
	a.run(t)
	if taken, cuts := front.count(); cuts < 2 || taken < 2 {
		t.Errorf("%d connections, %d cuts", taken, cuts)
	}
}

// touch makes a file that a command waits for.
func (a *agent) touch(name string) {
	if err := os.WriteFile(a.path(name), nil, 0o644); err != nil {
		a.model.t.Error(err)
	}
}

// await looks for a file of a command's, every so often, and does something in
// between, until it is there or the client has ended.
func (a *agent) await(name string, every time.Duration, between func()) {
	for {
		if _, err := os.Stat(a.path(name)); err == nil {
			return
		}
		select {
		case <-a.model.over:
			return
		case <-time.After(every):
			if between != nil {
				between()
			}
		}
	}
}

// TestCodexRestart restarts the server under a command: the client is told that
// the command is lost, nothing of it is left, and the next one runs on the new
// server.
func TestCodexRestart(t *testing.T) {
	t.Parallel()
	require.Codex(t)
	ours := hostsupBinary(t)
	for name, sig := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codexRestart(t, ours, sig)
		})
	}
}

func codexRestart(t *testing.T, ours string, sig syscall.Signal) {
	var (
		a             *agent
		first, second *remote
		front         *relay
	)
	a = newAgent(t, unconfined, func(m *model) {
		r := m.start(`echo $$ >../pid; echo $MARK; while :; do sleep 0.1; done`, false, "first\n")
		first.stop(sig)
		front.turn(strings.TrimPrefix(second.url, "ws://"))
		if r = m.wait(r); r.code == 0 || !strings.Contains(r.text, "session") {
			t.Errorf("of a command that went with its server: %q", r.text)
		}
		if r := m.run(`echo $MARK`); r.code != 0 || r.output != "second\n" {
			t.Errorf("after: %q", r.text)
		}
	})
	first, second = a.serve(t, "first", ours), a.serve(t, "second", ours)
	front = newRelay(t, "tcp", strings.TrimPrefix(first.url, "ws://"))
	a.byURL(front.url())
	a.run(t)
	lostWith(t, a.path("pid"))
}

// lostWith waits for the end of the process whose number is in the file.
func lostWith(t testing.TB, file string) {
	t.Helper()
	pid, err := numberIn(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, "the end of", pid)
}

func numberIn(file string) (int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// TestCodexProgramDies kills a server that the client has started: it says so,
// of the command that ran and of the next one.
func TestCodexProgramDies(t *testing.T) {
	t.Parallel()
	require.Codex(t)
	ours := hostsupBinary(t)
	var a *agent
	a = newAgent(t, unconfined, func(m *model) {
		r := m.start(`echo $$ >../pid; echo ready; while :; do sleep 0.1; done`, false, "ready\n")
		pid, err := numberIn(a.path("server"))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
		if r = m.wait(r); r.code != -1 || !strings.Contains(r.text, "exec-server transport disconnected") {
			t.Errorf("of a command that went with its server: %q", r.text)
		}
		if r = m.run(`echo after`); r.code != -1 || !strings.Contains(r.text, "exec-server transport disconnected") {
			t.Errorf("after: %q", r.text)
		}
	})
	script := fmt.Sprintf("echo $$ >%s; exec %s exec-server --listen stdio", a.path("server"), ours)
	a.byFile(t, fmt.Sprintf("program = \"/bin/sh\"\nargs = [\"-c\", %q]\n", script))
	a.run(t)
	lostWith(t, a.path("pid"))
}

// TestCodexConfined has the client ask for a sandbox in which the work folder
// alone may be written.
func TestCodexConfined(t *testing.T) {
	t.Parallel()
	require.Codex(t)
	ours := hostsupBinary(t)
	var a *agent
	a = newAgent(t, "workspace-write", func(m *model) {
		if r := m.run(`echo yes >in.txt && cat in.txt`); r.code != 0 || r.output != "yes\n" {
			t.Errorf("in the work folder: %q", r.text)
		}
		if r := m.run(`echo no >` + a.path("home/out.txt")); r.code == 0 {
			t.Errorf("outside: %q", r.text)
		}
		if out := m.patch("*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch\n"); !strings.Contains(out, "Exit code: 0") {
			t.Errorf("a patch: %q", out)
		}
		if out := m.patch("*** Begin Patch\n*** Add File: " + a.path("home/q.txt") + "\n+x\n*** End Patch\n"); strings.Contains(out, "Exit code: 0") {
			t.Errorf("a patch outside: %q", out)
		}
	})
	a.append(t, "codex/config.toml", "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
	a.byURL(a.serve(t, "confined", ours).url)
	a.run(t)
	a.holds(t, "work/in.txt", "yes\n")
	a.holds(t, "work/p.txt", "x\n")
	if left, _ := filepath.Glob(a.path("home/*.txt")); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}
