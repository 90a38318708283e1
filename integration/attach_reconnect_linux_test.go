package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// losses are the ways in which a supervisor goes away.
var losses = map[string]os.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM}

// relayedTo runs a daemon with one host, to which programs attach.
func relayedTo(t *testing.T, name, protocol string, argv ...string) *daemon {
	t.Helper()
	d := daemonOf(t, relayedHost(t, name, protocol, argv...))
	d.run()
	return d
}

// relayedHost returns the block of such a host.
func relayedHost(t *testing.T, name, protocol string, argv ...string) string {
	t.Helper()
	command := fmt.Sprintf("%q", npm(t, argv[0]))
	for _, arg := range argv[1:] {
		command += fmt.Sprintf(", %q", arg)
	}
	return fmt.Sprintf(`
host %q {
  command     = [%s]
  protocol    = %q
  attach      = true
  inherit_env = ["PATH", "HOME"]
  env         = { MARK }
}
`, name, command, protocol)
}

// again ends the daemon and starts it anew.
func (d *daemon) again(sig os.Signal) {
	d.t.Helper()
	d.end(sig)
	d.run()
}

// The supervisor of a language server goes away under an editor, twice, and comes back. The
// editor goes on: what it has typed is what the new server sees, and each call has one outcome.
func TestAttachReconnectsLanguageServers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pyright", "typescript"} {
		for how, sig := range losses {
			l := languages[name]
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				d := relayedTo(t, name, "jsonrpc-headers", l.argv...)
				dir := t.TempDir()
				a, cmd := attachAlone(t, jsonrpc.Headers(jsonrpc.Options{}), dir, "--socket", d.dir+"/control", name)
				a.must("initialize", opening(dir))
				a.tell("initialized", dict{})
				uri := "file://" + filepath.Join(dir, l.file)
				a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": "\n" + l.text}})
				a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 2}, "contentChanges": []dict{
					{"range": dict{"start": dict{"line": 0, "character": 0}, "end": dict{"line": 1, "character": 0}}, "text": ""},
				}})
				b, _ := attachAlone(t, jsonrpc.Headers(jsonrpc.Options{}), dir, "--socket", d.dir+"/control", name) // a second editor
				b.must("initialize", opening(dir))
				b.tell("initialized", dict{})
				b.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": l.text}})
				hover := dict{"textDocument": dict{"uri": uri}, "position": l.at}
				for range 2 {
					if out := a.must(l.asks, hover); !strings.Contains(out, l.says) {
						t.Fatal(out)
					}
					_, open := a.begin(l.asks, hover)
					d.again(sig)
					var failed *codec.Error
					switch out, err := a.wait(open); {
					case sig == syscall.SIGTERM && errors.As(err, &failed) && failed.Code == -32801: // its server was stopped
					case err != nil || !strings.Contains(out, l.says):
						t.Errorf("a call that only reads: %s, %v", out, err)
					}
				}
				for _, c := range []*attached{a, b} {
					out, err := c.call(l.asks, hover)
					if err != nil || !strings.Contains(out, l.says) {
						t.Errorf("after the supervisor was lost twice: %s, %v", out, err)
					}
				}
				a.must("shutdown", nil)
				a.tell("exit", nil)
				<-a.read
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
				if d.end(syscall.SIGTERM) != 0 {
					t.Error("the supervisor did not end well")
				}
			})
		}
	}
}

// An agent loses the supervisor of its MCP server in the middle of a call, which is answered
// once, by an error. Its session and its subscription go on.
func TestAttachReconnectsMCP(t *testing.T) {
	t.Parallel()
	for how, sig := range losses {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const program = "mcp-server-everything"
			d := relayedTo(t, "everything", "jsonrpc-lines", program, "stdio")
			a, cmd := attachAlone(t, jsonrpc.Lines(jsonrpc.Options{}), t.TempDir(), "--socket", d.dir+"/control", "everything")
			a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
			a.tell("notifications/initialized", nil)
			echo := dict{"name": "echo", "arguments": dict{"message": "hello"}}
			_, open := a.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}})
			a.must("tools/call", echo) // behind the one that is open
			d.again(sig)
			if out, err := a.wait(open); err == nil {
				t.Errorf("the open call: %s", out)
			}
			a.until("list of tools", noted("notifications/tools/list_changed"))
			if out := a.must("tools/call", echo); !strings.Contains(out, "hello") {
				t.Error(out)
			}
			if err := a.rw.Close(); err != nil {
				t.Error(err)
			}
			<-a.read
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			d.end(syscall.SIGTERM)
		})
	}
}
