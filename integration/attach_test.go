//go:build linux

package integration

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// npm is the path of a program that ./test peers has installed.
func npm(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(peerDir, ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		require.Missing(t, "%v; ./test peers installs it", err)
	}
	return path
}

// notOfNpm are the programs that ./test peers does not install from npm.
var notOfNpm = map[string][]string{
	"clangd": {"clangd"},
	"gopls":  {"../.cache/bin/gopls"},
}

// peerProgram returns the path of a program that ./test peers installs.
func peerProgram(t testing.TB, name string) string {
	t.Helper()
	candidates, other := notOfNpm[name]
	if !other {
		peer(t, "node")
		return npm(t, name)
	}
	path, err := filepath.Abs(peer(t, candidates...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// server is a host that is a program which ./test peers installs.
func server(t testing.TB, name string, p codec.Protocol, argv ...string) supervisor.HostSpec {
	t.Helper()
	h := fromPeers(t, p, argv[0], argv[1:]...)
	h.Name, h.Restart.MaxCrashes = name, 10
	return h
}

type dict = map[string]any

// language is a language server with something to hover over.
type language struct {
	argv      []string
	id, file  string
	text      string
	asks      string // a method, about the place at
	at        dict
	says      string // in the answer
	diagnosed bool   // it publishes diagnostics of this text
	late      bool   // it answers before it has looked at the text
}

const hovers = "textDocument/hover"

var languages = map[string]language{
	"pyright":    {[]string{"pyright-langserver", "--stdio"}, "python", "a.py", "def greet(name: str) -> int:\n    return 1\n\ngreet(3)\n", hovers, dict{"line": 3, "character": 2}, "greet", true, false},
	"typescript": {[]string{"typescript-language-server", "--stdio"}, "typescript", "a.ts", "function greet(n: string): number { return 1 }\ngreet('x')\n", hovers, dict{"line": 1, "character": 2}, "greet", false, false},
	"json":       {[]string{"vscode-json-language-server", "--stdio"}, "json", "package.json", `{"name": "x", "version": 1}`, "textDocument/documentSymbol", nil, "version", false, false},
	"css":        {[]string{"vscode-css-language-server", "--stdio"}, "css", "a.css", "body { color: red; }\n", hovers, dict{"line": 0, "character": 8}, "color", false, false},
	"bash":       {[]string{"bash-language-server", "start"}, "shellscript", "a.sh", "greet() { echo \"$1\"; }\ngreet you\n", "textDocument/documentSymbol", nil, "greet", false, true},
	"yaml":       {[]string{"yaml-language-server", "--stdio"}, "yaml", "a.yaml", "name: x\nversion: 1\n", "textDocument/documentSymbol", nil, "version", false, false},
	"clangd":     {[]string{"clangd"}, "c", "a.c", "int greet(int n) { return n; }\nint main(void) { return greet(3); }\n", hovers, dict{"line": 1, "character": 26}, "greet", false, false},
	"gopls":      {[]string{"gopls"}, "go", "a.go", "package a\n\nfunc greet(n int) int { return n }\n\nvar _ = greet(3)\n", hovers, dict{"line": 4, "character": 9}, "greet", false, false},
	"html":       {[]string{"vscode-html-language-server", "--stdio"}, "html", "a.html", "<p>x</p>\n", hovers, dict{"line": 0, "character": 1}, "paragraph", false, false},
}

// opening is what an editor says of itself.
func opening(dir string) dict {
	p := dict{
		"processId": os.Getpid(), "clientInfo": dict{"name": "editor", "version": "1"}, "rootUri": "file://" + dir,
		"workspaceFolders": []dict{{"uri": "file://" + dir, "name": "w"}},
		"capabilities": dict{
			"textDocument": dict{"hover": dict{"contentFormat": []string{"plaintext"}}, "publishDiagnostics": dict{}, "synchronization": dict{}},
			"workspace":    dict{"configuration": true, "workspaceFolders": true},
			"window":       dict{"workDoneProgress": true},
		},
	}
	return p
}

// A language server is killed under an editor, which goes on: what it had open
// is open, with what it typed since, and no request but those in flight is lost.
func TestAttachLanguageServers(t *testing.T) {
	t.Parallel()
	for name, l := range languages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := server(t, name, jsonrpc.Headers(jsonrpc.Options{}), l.argv...)
			h.Attach = true
			sup, host := alone(t, h)
			if st := host.Status(); st.State != lifecycle.Stopped {
				t.Fatalf("it is %s before anybody has attached", st.State)
			}
			a := attachTo(t, sup, name, h.Protocol)
			a.reply = func(method string) (codec.Raw, *codec.Error) {
				if method == "workspace/configuration" {
					return codec.Raw(`[{},{},{},{},{},{},{},{}]`), nil
				}
				return nil, nil
			}
			if _, err := a.call("textDocument/hover", dict{}); err == nil || !strings.Contains(err.Error(), "before initialize") {
				t.Errorf("hover before initialize: %v", err)
			}
			if out := a.must("initialize", opening(dir)); !strings.Contains(out, `"capabilities"`) {
				t.Fatal(out)
			}
			a.tell("initialized", dict{})
			uri := "file://" + filepath.Join(dir, l.file)
			doc := dict{"uri": uri}
			a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": l.id, "version": 1, "text": "\n" + l.text}})
			// The line that is too many is taken out again, so that only who has
			// followed the change knows where the word is.
			a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 2}, "contentChanges": []dict{
				{"range": dict{"start": dict{"line": 0, "character": 0}, "end": dict{"line": 1, "character": 0}}, "text": ""},
			}})
			hover := func() (string, error) {
				q := dict{"textDocument": doc}
				if l.at != nil {
					q["position"] = l.at
				}
				for end := time.Now().Add(patience); ; {
					out, err := a.call(l.asks, q)
					if !l.late || err != nil || strings.Contains(out, l.says) || time.Now().After(end) {
						return out, err
					}
				}
			}
			if out, err := hover(); err != nil || !strings.Contains(out, l.says) {
				t.Fatalf("%s, %v", out, err)
			}
			if l.diagnosed {
				a.until("diagnostics", noted("textDocument/publishDiagnostics", uri, "severity"))
			}
			for life := uint64(1); life <= 2; life++ {
				pid := *host.Status().PID
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				failed := 0
				for ok := false; !ok; {
					out, err := hover()
					switch {
					case err == nil && strings.Contains(out, l.says):
						ok = host.Status().Life == life+1
					case err == nil:
						t.Fatalf("after the crash: %s", out)
					default:
						failed++
						t.Log(err)
					}
				}
				if failed > 0 {
					t.Errorf("%d requests failed that only read", failed)
				}
				if l.diagnosed {
					a.until("diagnostics taken back", noted("textDocument/publishDiagnostics", uri, `"diagnostics":[]`))
					a.until("diagnostics of the new life", noted("textDocument/publishDiagnostics", uri, "severity"))
				}
			}
			a.must("shutdown", nil)
			a.tell("exit", nil)
			if err := <-a.served; err != nil {
				t.Errorf("attach: %v", err)
			}
			if st := host.Status(); st.State != lifecycle.Running {
				t.Errorf("the host is %s after its client left", st.State)
			}
		})
	}
}

// Several editors share a language server.
func TestAttachTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := server(t, "pyright", jsonrpc.Headers(jsonrpc.Options{}), "pyright-langserver", "--stdio")
	h.Attach = true
	sup, host := alone(t, h)
	settings := func(method string) (codec.Raw, *codec.Error) {
		if method == "workspace/configuration" {
			return codec.Raw(`[{},{},{},{},{},{},{},{}]`), nil
		}
		return nil, nil
	}
	one, two := attachTo(t, sup, "pyright", h.Protocol), attachTo(t, sup, "pyright", h.Protocol)
	one.reply, two.reply = settings, settings
	first := one.must("initialize", opening(dir))
	one.tell("initialized", dict{})
	if second := two.must("initialize", opening(dir)); second != first {
		t.Errorf("the second was told\n%s\nand the first\n%s", second, first)
	}
	three := attachTo(t, sup, "pyright", h.Protocol)
	if _, err := three.call("initialize", opening("/elsewhere")); err == nil || !strings.Contains(err.Error(), "/elsewhere") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a client of another folder: %v", err)
	}

	uri := "file://" + filepath.Join(dir, "a.py")
	open := func(text string) dict {
		return dict{"textDocument": dict{"uri": uri, "languageId": "python", "version": 1, "text": text}}
	}
	one.tell("textDocument/didOpen", open("x = 1\nx.nothing\n"))
	one.until("diagnostics", noted("textDocument/publishDiagnostics", uri, "nothing"))
	two.until("diagnostics", noted("textDocument/publishDiagnostics", uri, "nothing"))
	late := attachTo(t, sup, "pyright", h.Protocol)
	late.reply = settings
	late.must("initialize", opening(dir))
	late.tell("initialized", dict{})
	late.tell("textDocument/didOpen", open("x = 1\nx.nothing\n"))
	late.until("diagnostics of what was open already", noted("textDocument/publishDiagnostics", uri, "nothing"))
	_ = late.rw.Close()
	<-late.served
	two.tell("textDocument/didOpen", open("x = 1\nx.nothing\n"))
	two.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 2}, "contentChanges": []dict{{"text": "y = 2\n"}}})
	one.until("warning", noted("window/showMessage", "another text"))

	// Both ask at once, with the same ids and the same token, each about its own text.
	hover := dict{"textDocument": dict{"uri": uri}, "position": dict{"line": 0, "character": 0}, "workDoneToken": "t"}
	var wg sync.WaitGroup
	for a, word := range map[*attached]string{one: "x", two: "y"} {
		wg.Go(func() {
			for range 20 {
				if out, err := a.call("textDocument/hover", hover); err != nil || !strings.Contains(out, word) {
					t.Errorf("%s, %v", out, err)
				}
			}
		})
	}
	wg.Wait()

	// One vanishes: the document is still open for the other.
	_ = one.rw.Close()
	<-one.served
	two.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": 3}, "contentChanges": []dict{{"text": "z: int = ''\n"}}})
	two.until("diagnostics of the change", noted("textDocument/publishDiagnostics", uri, `int`, "severity"))
	if err := host.Restart(ctx(t)); err != nil {
		t.Fatal(err)
	}
	out, err := two.call("textDocument/hover", dict{"textDocument": dict{"uri": uri}, "position": dict{"line": 0, "character": 0}})
	if err != nil || !strings.Contains(out, "z: int") {
		t.Errorf("%s, %v", out, err)
	}

	// The last one leaves; another of other folders may come now.
	_ = two.rw.Close()
	<-two.served
	_ = three.rw.Close()
	<-three.served
	other := t.TempDir()
	four := attachTo(t, sup, "pyright", h.Protocol)
	four.reply = settings
	four.must("initialize", opening(other))
	if n := host.Status().Life; n != 3 {
		t.Errorf("life %d serves other folders, want 3", n)
	}
}

// Who cannot be attached to is refused.
func TestAttachRefused(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, demoHost("demo"))
	ours, theirs := net.Pipe()
	defer ours.Close()
	if err := sup.Attach(ctx(t), "demo", theirs); !errors.Is(err, attach.ErrProtocol) {
		t.Errorf("a host of another protocol: %v", err)
	}
	if err := sup.Attach(ctx(t), "nobody", theirs); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("nobody: %v", err)
	}
}

// An MCP server is killed under its agent.
func TestAttachMCP(t *testing.T) {
	t.Parallel()
	h := server(t, "every", jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
	sup, host := alone(t, h)
	a := attachTo(t, sup, "every", h.Protocol)
	hello := dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}}
	if out := a.must("initialize", hello); !strings.Contains(out, "serverInfo") {
		t.Fatal(out)
	}
	a.tell("notifications/initialized", nil)
	echo := func(text string) (string, error) {
		return a.call("tools/call", dict{"name": "echo", "arguments": dict{"message": text}})
	}
	if out, err := echo("one"); err != nil || !strings.Contains(out, "one") {
		t.Fatalf("%s, %v", out, err)
	}
	a.must("ping", nil)
	a.must("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 0.2, "steps": 2}, "_meta": dict{"progressToken": "mine"}})
	a.until("progress", noted("notifications/progress", `"mine"`))

	id, answer := a.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 60, "steps": 60}})
	a.send(&codec.Message{Kind: codec.Cancel, ID: id})
	silent := func(when string) {
		t.Helper()
		select {
		case m := <-answer:
			t.Errorf("%s: a call that was cancelled is answered: %s %v", when, m.Result, m.Err)
		default:
		}
	}
	eventually(t, func() bool { return host.Status().Pending == 0 })
	if _, err := echo("behind it"); err != nil {
		t.Error(err)
	}
	a.must("ping", nil)
	silent("at once")

	_, lost := a.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 60, "steps": 60}})
	if _, err := echo("two"); err != nil { // so that the other is on its way
		t.Fatal(err)
	}
	if err := syscall.Kill(*host.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := a.wait(lost); err == nil || !strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("a call that was lost in the crash: %v", err)
	}
	if out, err := echo("three"); err != nil || !strings.Contains(out, "three") {
		t.Errorf("after the crash: %s, %v", out, err)
	}
	a.until("news of the tools", noted("notifications/tools/list_changed"))
	if out := a.must("tools/list", nil); !strings.Contains(out, `"echo"`) {
		t.Error(out)
	}
	silent("later")
	_ = a.rw.Close()
	<-a.served
}
