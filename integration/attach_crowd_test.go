//go:build linux

package integration

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// attachEditor attaches to a language server as an editor with a folder.
func attachEditor(t *testing.T, sup *supervisor.Supervisor, host string, p codec.Protocol, dir string) *attached {
	t.Helper()
	a := attachTo(t, sup, host, p)
	a.reply = func(method string) (codec.Raw, *codec.Error) {
		if method == "workspace/configuration" {
			return codec.Raw(`[{},{},{},{},{},{},{},{}]`), nil
		}
		return nil, nil
	}
	a.must("initialize", opening(dir))
	a.tell("initialized", dict{})
	return a
}

// Five editors share each language server, most of them with a document for each. The server is
// killed in the middle of their calls, and hangs in the middle of others: each call has one
// outcome, and all editors go on.
func TestAttachCrowdOfEditors(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for name, l := range languages {
		play := func(t *testing.T) {
			dir := t.TempDir()
			h := server(t, name, jsonrpc.Headers(jsonrpc.Options{}), l.argv...)
			h.Attach, h.Restart.MaxCrashes = true, 100
			h.Liveness.Ping, h.Liveness.After, h.Liveness.KillAfter = 500*time.Millisecond, 30*time.Second, time.Second
			sup, host := alone(t, h)
			type editor struct {
				*attached
				question dict
			}
			var editors []editor
			for i := range 5 {
				e := editor{attached: attachEditor(t, sup, name, h.Protocol, dir)}
				file := fmt.Sprint("d", i, l.file) // of one folder: gopls knows no other package
				if l.late {
					file = l.file // of what is opened while it starts, it looks at the last document alone
				}
				uri := "file://" + filepath.Join(dir, file)
				e.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": l.text}})
				e.question = dict{"textDocument": dict{"uri": uri}}
				if l.at != nil {
					e.question["position"] = l.at
				}
				editors = append(editors, e)
			}
			answered := func(when string) {
				t.Helper()
				for i, e := range editors {
					eventually(t, func() bool { // some servers answer before they have looked at a document
						out, err := e.call(l.asks, e.question)
						if err != nil {
							t.Fatalf("%s: editor %d: %v", when, i, err)
						}
						return strings.Contains(out, l.says)
					}, when)
				}
			}
			// stopped has all of them ask a server that does not run on, until end has ended it.
			stopped := func(when string, end func()) {
				t.Helper()
				until(t, host, lifecycle.Running)
				life := host.Status().Life
				signal(t, host, syscall.SIGSTOP)
				var answers []chan codec.Message
				for _, e := range editors {
					_, answer := e.begin(l.asks, e.question)
					answers = append(answers, answer)
				}
				end()
				for i, answer := range answers { // what only reads is asked again
					if _, err := editors[i].wait(answer); err != nil {
						t.Errorf("%s: editor %d: %v", when, i, err)
					}
				}
				if now := host.Status().Life; now <= life {
					t.Errorf("%s: life %d answers, and it was %d", when, now, life)
				}
			}
			answered("at first")
			stopped("killed", func() { signal(t, host, syscall.SIGKILL) })
			answered("after the kill")
			stopped("hung", func() {}) // it is killed for that
			answered("after the hang")
			if c, err := sup.Crashes(name); err != nil || len(c) < 2 || !strings.Contains(fmt.Sprint(c), "unresponsive") {
				t.Errorf("crashes %+v, %v", c, err)
			}
			for _, e := range editors {
				_ = e.rw.Close()
				<-e.served
			}
		}
		// Not t.Parallel: each waits half a minute for a hang to be noticed, and would take one
		// of the few places for tests that run at once. All of them have their parent's.
		all.Go(func() { t.Run(name, play) })
	}
	all.Wait()
}

// Five agents of both public SDKs of MCP share each of its public servers, over stdio and over
// HTTP. A server is killed in the middle of their calls, and hangs in the middle of others.
func TestAttachCrowdOfAgents(t *testing.T) {
	t.Parallel()
	node, work := peer(t, "node"), t.TempDir()
	text := ""
	for name, command := range map[string][]string{
		"everything": {npm(t, "mcp-server-everything"), "stdio"}, "filesystem": {npm(t, "mcp-server-filesystem"), work},
		"memory": {npm(t, "mcp-server-memory")}, "thinking": {npm(t, "mcp-server-sequential-thinking")},
	} {
		text += strings.Replace(secondSDKHost(name, command...), "  stop {", fmt.Sprintf(`
  env = { MEMORY_FILE_PATH = %q }
  unresponsive {
    ping       = "500ms"
    after      = "8s" # longer than a process waits for its turn on a busy machine
    kill_after = "1s"
  }
  restart {
    max_crashes = 100
  }
  stop {`, filepath.Join(work, "memory.json")), 1)
	}
	modules, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	from := url.URL{Scheme: "file", Path: modules + "/"}
	servedOverHTTP(t, text, "  hosts  = [\"everything\", \"filesystem\", \"memory\", \"thinking\"]\n", false, func(socket, at, token string) error {
		cmd := exec.CommandContext(ctx(t), node, filepath.Join("testdata", "mcp_crowd.mjs"), from.String(), hostsupBinary(t), socket, at, token)
		cmd.Env = append(os.Environ(), "TMPDIR="+work)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		t.Logf("%s", out)
		return nil
	})
}
