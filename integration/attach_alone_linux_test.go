package integration

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
)

// pipes are the standard streams of a program.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// attachAlone runs hostsup attach with a command of its own, as an editor does.
func attachAlone(t *testing.T, p codec.Protocol, dir string, args ...string) (*attached, *exec.Cmd) {
	t.Helper()
	return attachTelling(t, logWriter{t}, p, dir, args...)
}

// attachTelling is attachAlone. What the program prints to standard error goes to told.
func attachTelling(t *testing.T, told io.Writer, p codec.Protocol, dir string, args ...string) (*attached, *exec.Cmd) {
	t.Helper()
	peer(t, "node")
	cmd := exec.Command(hostsupBinary(t), append([]string{"attach"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir)
	cmd.Stderr = told
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &attached{t: t, session: p.Open(codec.Limits{}), enc: p, rw: pipes{out, in}, notes: make(chan codec.Message, 4096), served: make(chan error, 1), read: make(chan struct{}), calls: map[uint32]chan codec.Message{}}
	a.reply = func(method string) (codec.Raw, *codec.Error) {
		if method == "workspace/configuration" {
			return codec.Raw(`[{},{},{},{},{},{},{},{}]`), nil
		}
		return nil, nil
	}
	go a.loop()
	t.Cleanup(func() {
		_ = in.Close()
		<-a.read
		_ = cmd.Wait() // the test may have waited
	})
	return a, cmd
}

// serverBelow returns the pid of a node that a program has started, itself or by others, and
// whose command line has a part; 0 for none.
func serverBelow(program int, part string) int {
	for _, p := range below(program) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)) // it may have ended
		if strings.Contains(string(line), "node") && strings.Contains(string(line), part) {
			return p.pid
		}
		if pid := serverBelow(p.pid, part); pid != 0 {
			return pid
		}
	}
	return 0
}

// killed kills the server below a program.
func killed(t *testing.T, cmd *exec.Cmd, part string) (pid int) {
	t.Helper()
	eventually(t, func() bool { pid = serverBelow(cmd.Process.Pid, part); return pid != 0 }, "no server runs")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return pid
}

// endsAlone waits for the end of a program that end ends; its server ends too.
func endsAlone(t *testing.T, a *attached, cmd *exec.Cmd, part string, end func()) {
	t.Helper()
	pid := serverBelow(cmd.Process.Pid, part)
	if pid == 0 {
		t.Error("no server runs")
	}
	end()
	<-a.read
	_ = cmd.Wait() // its code follows
	if got := cmd.ProcessState.ExitCode(); got != 0 {
		t.Errorf("exit code %d", got)
	}
	if !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("server %d is left", pid)
	}
}

// A language server that hostsup attach supervises itself is killed under an editor, which goes
// on. Confined it is the same.
func TestAttachAloneLanguageServers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pyright", "typescript"} {
		for _, confined := range []bool{false, true} {
			l := languages[name]
			t.Run(name+map[bool]string{true: " confined"}[confined], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var args []string
				if confined {
					args = confining(t, dir)
				}
				a, cmd := attachAlone(t, jsonrpc.Headers(jsonrpc.Options{}), dir, append(append(args, "--", npm(t, l.argv[0])), l.argv[1:]...)...)
				part := filepath.Base(l.argv[0])
				a.must("initialize", opening(dir))
				a.tell("initialized", dict{})
				uri := "file://" + filepath.Join(dir, l.file)
				a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": "\n" + l.text}})
				a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 2}, "contentChanges": []dict{
					{"range": dict{"start": dict{"line": 0, "character": 0}, "end": dict{"line": 1, "character": 0}}, "text": ""},
				}})
				hover := func() (string, error) {
					return a.call(l.asks, dict{"textDocument": dict{"uri": uri}, "position": l.at})
				}
				for life := 1; life <= 3; life++ {
					out, err := hover()
					if err != nil && life > 1 { // it was lost with the life before
						out, err = hover()
					}
					if err != nil || !strings.Contains(out, l.says) {
						t.Fatalf("life %d: %s, %v", life, out, err)
					}
					if life < 3 {
						killed(t, cmd, part)
					}
				}
				endsAlone(t, a, cmd, part, func() {
					a.must("shutdown", nil)
					a.tell("exit", nil)
				})
			})
		}
	}
}

// confining returns the flags that confine a server of npm to its own folder and a folder to
// work in.
func confining(t *testing.T, dir string) []string {
	t.Helper()
	confinable(t)
	unresolved, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.EvalSymlinks(unresolved)
	if err != nil {
		require.Missing(t, "%v; ./test peers installs it", err)
	}
	return []string{"--sandbox", "language-server", "--level", "no-cgroup", "--exec", modules, "--exec", unresolved, "--exec", filepath.Dir(peer(t, "node")), "--write", dir}
}

// A call that is open when an MCP server is killed is answered, once, and the client goes on.
// The end of the client's stream ends everything, and so does a signal.
func TestAttachAloneMCP(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(a *attached, cmd *exec.Cmd) error{
		"the stream ends": func(a *attached, _ *exec.Cmd) error { return a.rw.Close() },
		"SIGTERM":         func(_ *attached, cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const program = "mcp-server-everything"
			a, cmd := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), t.TempDir(), "--", npm(t, program), "stdio")
			a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
			a.tell("notifications/initialized", nil)
			echo := dict{"name": "echo", "arguments": dict{"message": "hello"}}
			if out := a.must("tools/call", echo); !strings.Contains(out, "hello") {
				t.Fatal(out)
			}
			_, open := a.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}})
			a.must("tools/call", echo) // behind the one that is open
			killed(t, cmd, program)
			if out, err := a.wait(open); err == nil || !strings.Contains(err.Error(), "crashed") {
				t.Errorf("the open call: %s, %v", out, err)
			}
			a.until("list of tools", noted("notifications/tools/list_changed"))
			if out := a.must("tools/call", echo); !strings.Contains(out, "hello") {
				t.Fatal(out)
			}
			endsAlone(t, a, cmd, program, func() {
				if err := end(a, cmd); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What an editor or an agent keeps for each of its servers is small: seconds after the last
// message, hostsup attach has at most 12 MiB, also after it had much more.
func TestAttachAloneGivesBack(t *testing.T) {
	t.Parallel()
	const most = 12 << 20
	a, cmd := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), t.TempDir(), "--", npm(t, "mcp-server-everything"), "stdio")
	a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
	a.tell("notifications/initialized", nil)
	a.must("tools/list", dict{})
	rests := func(when string) {
		t.Helper()
		before := residentOf(t, cmd.Process.Pid)
		if before <= most {
			t.Fatalf("%s: %d bytes, which is nothing to give back", when, before)
		}
		after := before
		eventually(t, func() bool { after = residentOf(t, cmd.Process.Pid); return after <= most }, when, " it keeps ", before, " bytes")
		t.Logf("%s: %.1f MiB, then %.1f MiB", when, float64(before)/(1<<20), float64(after)/(1<<20))
	}
	rests("opened")
	for range 20 {
		a.must("tools/call", dict{"name": "echo", "arguments": dict{"message": strings.Repeat("x", 500_000)}})
	}
	a.must("tools/call", dict{"name": "echo", "arguments": dict{"message": "x"}})
	rests("after large calls")
}
