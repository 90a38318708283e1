//go:build linux

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/intercept/answer"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// fromPeers is a host that runs a program which ./test peers installs.
func fromPeers(t testing.TB, p codec.Protocol, name string, args ...string) supervisor.HostSpec {
	t.Helper()
	path, home := peerProgram(t, name), t.TempDir()
	return demoHost(name, func(h *supervisor.HostSpec) {
		h.Command, h.Protocol, h.Dir = append([]string{path}, args...), p, home
		h.Env = map[string]string{"HOME": home, "TMPDIR": home, "PATH": os.Getenv("PATH")}
		h.Start.Timeout = patience
		// On a machine that is busy with other tests they take their time; what a
		// verdict comes to is asked where it is meant.
		h.Liveness.After, h.Stop.Grace = patience, patience
	})
}

// endsWell stops a host, which has to exit with 0.
func endsWell(t testing.TB, h *supervisor.Host) {
	t.Helper()
	if err := h.Stop(ctx(t)); err != nil {
		t.Error(err)
	}
	if s := h.Status(); s.State != lifecycle.Stopped || s.LastExit == nil || s.LastExit.Code == nil || *s.LastExit.Code != 0 {
		t.Errorf("stopped: %+v, last exit %+v", s, s.LastExit)
	}
}

type object = map[string]any

// TestLanguageServersAsHosts has each server tell of a word in a document, kills
// it, and has the next one tell again.
func TestLanguageServersAsHosts(t *testing.T) {
	t.Parallel()
	for _, l := range []struct {
		program, language, file, text string
		line, character               int
		want                          string
	}{
		{"pyright-langserver", "python", "a.py", "def square(x: int) -> int:\n    return x * x\n\nsquare(\"2\")\n", 3, 2, "square"},
		{"vscode-json-language-server", "json", "a.json", `{"name": 3}`, 0, 3, "what it is called"},
		{"vscode-css-language-server", "css", "a.css", "body { color: red; }\n", 0, 8, "color"},
		{"vscode-html-language-server", "html", "a.html", "<body>hello</body>\n", 0, 2, "body"},
		{"typescript-language-server", "typescript", "a.ts", "const answer = 42;\nconsole.log(answer);\n", 1, 14, "answer"},
	} {
		t.Run(l.program, func(t *testing.T) {
			t.Parallel()
			spec := fromPeers(t, jsonrpc.Headers(jsonrpc.Options{}), l.program, "--stdio")
			spec.Init = object{"capabilities": object{"workspace": object{"configuration": true}, "textDocument": object{"publishDiagnostics": object{}}}}
			spec.Answers.Replies = []answer.Reply{
				{Method: "workspace/configuration", Result: []object{{}, {}, {}, {}}},
				{Method: "client/*"},
			}
			said := make(chan string, 1000)
			sup, h := alone(t, spec, supervisor.WithNotifications(func(n supervisor.Notification) {
				if n.Method == "textDocument/publishDiagnostics" {
					said <- string(n.Params)
				}
			}))
			uri := "file://" + filepath.Join(spec.Dir, l.file)
			for life := uint64(1); life <= 3; life++ {
				runs(t, h, life)
				for method, params := range map[string]object{
					"workspace/didChangeConfiguration": {"settings": object{"json": object{"validate": object{"enable": true}, "schemas": []object{{
						"fileMatch": []string{"*.json"}, "schema": object{"properties": object{"name": object{"type": "string", "description": "what it is called"}}},
					}}}}},
					"textDocument/didOpen": {"textDocument": object{"uri": uri, "languageId": l.language, "version": 1, "text": l.text}},
				} {
					if err := h.Notify(ctx(t), method, params); err != nil {
						t.Fatal(err)
					}
				}
				var hover codec.Raw
				at := object{"textDocument": object{"uri": uri}, "position": object{"line": l.line, "character": l.character}}
				if err := h.Call(ctx(t), "textDocument/hover", at, &hover); err != nil || !strings.Contains(string(hover), l.want) {
					t.Fatalf("life %d: hover %q, %v", life, hover, err)
				}
				if l.language == "python" { // the one that tells by itself what it thinks of a text
					select {
					case d := <-said:
						if !strings.Contains(d, uri) {
							t.Errorf("diagnostics %s", d)
						}
					case <-time.After(patience):
						t.Error("no diagnostics")
					}
				}
				if life < 3 {
					signal(t, h, syscall.SIGKILL)
				}
			}
			if s := h.Status(); s.Liveness != "ping" || s.Restarts != 2 || s.Noise != 0 {
				t.Errorf("%+v", s)
			}
			endsWell(t, h)
			if c, err := sup.Crashes(h.Name()); err != nil || len(c) != 2 {
				t.Errorf("%d crashes, %v", len(c), err)
			}
		})
	}
}

// A language server that is stopped owes the answer to a ping; it is reported,
// not killed, and is back when it goes on.
func TestLanguageServerThatHangs(t *testing.T) {
	t.Parallel()
	spec := fromPeers(t, jsonrpc.Headers(jsonrpc.Options{}), "vscode-css-language-server", "--stdio")
	reported(&spec)
	_, h := alone(t, spec)
	hangsAndIsBack(t, h)
	endsWell(t, h)
}

// hangsAndIsBack stops the process of a host and lets it go on.
func hangsAndIsBack(t testing.TB, h *supervisor.Host) {
	t.Helper()
	until(t, h, lifecycle.Running)
	signal(t, h, syscall.SIGSTOP)
	until(t, h, lifecycle.Unresponsive)
	signal(t, h, syscall.SIGCONT)
	until(t, h, lifecycle.Running)
	if s := h.Status(); s.Life != 1 || s.Liveness != "ping" {
		t.Errorf("%+v", s)
	}
}
