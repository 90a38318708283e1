//go:build unix

package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/internal/require"
)

// peerPath is a program from npm, installed by ./test peers.
func peerPath(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.cache/peers/node_modules/.bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		require.Missing(t, "%s, which ./test peers installs: %v", name, err)
	}
	return path
}

// peer is a real server that is spoken to through a Session.
type peer struct {
	t     *testing.T
	s     codec.Session
	cmd   *exec.Cmd
	stdin io.WriteCloser
	got   chan codec.Message // what is no part of the handshake
	err   chan error         // why the reader ended
	hello codec.Peer

	mu   sync.Mutex // over the writing half
	next uint32
}

// limit is for what takes a second at most on an idle machine.
const limit = time.Minute

// startPeer opens a connection to a new process.
func startPeer(t *testing.T, p codec.Protocol, h codec.Hello, argv ...string) *peer {
	t.Helper()
	c := &peer{t: t, s: p.Open(codec.Limits{}), got: make(chan codec.Message, 1000), err: make(chan error, 1), next: 2}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir = h.Dir
	c.cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // pyright leaves folders in it when it is killed
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.stdin.Close()
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill() // may have ended
			_ = c.cmd.Wait()
		}
	})
	if n := c.s.Features(); n.OnNoise != nil {
		n.OnNoise(func(line []byte) { t.Logf("noise: %q", line) })
	}
	hs := c.s.Handshake(h)
	out, done := hs.Start()
	c.send(out...)
	opened := make(chan struct{})
	go func() {
		r := c.s.NewReader(stdout)
		for {
			var m codec.Message
			err := r.Next(&m)
			if err == nil && !done {
				out, done, err = hs.Handle(&m)
				c.send(out...)
				switch {
				case done:
					c.hello = hs.Peer()
					close(opened)
					continue
				case err == nil:
					continue
				case errors.Is(err, codec.ErrUnrelated):
					err = nil
				}
			}
			if err != nil {
				c.err <- err
				return
			}
			if m.Kind == codec.Request { // none of these servers needs more
				c.send(codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Name: codec.NameMethodNotFound, Message: m.Method}})
				continue
			}
			c.got <- m
		}
	}()
	select {
	case <-opened:
	case err := <-c.err:
		t.Fatalf("%s: %v", argv[0], err)
	case <-time.After(limit):
		t.Fatalf("%s: no handshake", argv[0])
	}
	return c
}

func (c *peer) send(out ...codec.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range out {
		b, err := c.s.Append(nil, &out[i])
		if err != nil {
			c.t.Errorf("append %s %s: %v", out[i].Kind, out[i].Method, err)
			continue
		}
		_, _ = c.stdin.Write(b) // the reader tells when the process is gone
	}
}

func (c *peer) params(v any) codec.Raw {
	raw, err := jsonrpc.Encoding{}.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	return raw
}

func (c *peer) notify(method string, params any) {
	c.send(codec.Message{Kind: codec.Notification, Method: method, Params: c.params(params)})
}

// ask sends a request and returns its number.
func (c *peer) ask(method string, params any, progress bool) uint32 {
	c.next++
	c.send(codec.Message{Kind: codec.Request, ID: c.next, Method: method, Params: c.params(params), Progress: progress})
	return c.next
}

// until waits for a message that is wanted; others are dropped.
func (c *peer) until(what string, want func(*codec.Message) bool) codec.Message {
	c.t.Helper()
	deadline := time.After(limit)
	for {
		select {
		case m := <-c.got:
			if want(&m) {
				return m
			}
		case err := <-c.err:
			c.t.Fatalf("%s: %v", what, err)
		case <-deadline:
			c.t.Fatalf("%s: nothing came", what)
		}
	}
}

func (c *peer) answer(id uint32) codec.Message {
	c.t.Helper()
	return c.until("answer", func(m *codec.Message) bool { return m.Kind == codec.Response && m.ID == id })
}

func (c *peer) call(method string, params any) codec.Raw {
	c.t.Helper()
	m := c.answer(c.ask(method, params, false))
	if m.Err != nil {
		c.t.Fatalf("%s: %v", method, m.Err)
	}
	return m.Result
}

// alive asks for life.
func (c *peer) alive() {
	c.t.Helper()
	c.next++
	c.send(codec.Message{Kind: codec.Request, ID: c.next, Method: c.s.Ping()})
	c.answer(c.next)
}

// goodbye ends the process, which has to exit with 0.
func (c *peer) goodbye() {
	c.t.Helper()
	ask, last := c.s.Goodbye()
	if ask != nil {
		c.next++
		ask.ID = c.next
		c.send(*ask)
		c.answer(ask.ID)
	}
	c.send(last...)
	c.stdin.Close()
	for {
		select {
		case <-c.got:
		case err := <-c.err:
			if !errors.Is(err, io.EOF) {
				c.t.Errorf("at the end: %v", err)
			}
			if err := c.cmd.Wait(); err != nil {
				c.t.Errorf("exit: %v", err)
			}
			return
		case <-time.After(limit):
			c.t.Fatal("no end")
		}
	}
}

// What language servers are shown, where they are asked, and a word of the answer.
var languages = []struct {
	server, args, id, file, text string
	line, character              int
	want                         string
}{
	{"pyright-langserver", "--stdio", "python", "a.py", "def square(x: int) -> int:\n    return x * x\n\nsquare(2)\n", 3, 2, "square"},
	{"vscode-json-language-server", "--stdio", "json", "a.json", `{"name": "x"}`, 0, 3, "what it is called"},
	{"vscode-css-language-server", "--stdio", "css", "a.css", "body { color: red; }\n", 0, 8, "color"},
	{"vscode-html-language-server", "--stdio", "html", "a.html", "<body>hello</body>\n", 0, 2, "body"},
	{"typescript-language-server", "--stdio", "typescript", "a.ts", "const answer = 42;\nconsole.log(answer);\n", 1, 14, "answer"},
}

func TestLanguageServers(t *testing.T) {
	for _, l := range languages {
		t.Run(l.server, func(t *testing.T) {
			path := peerPath(t, l.server)
			dir := t.TempDir()
			p := jsonrpc.Headers(jsonrpc.Options{})
			c := startPeer(t, p, codec.Hello{Supervisor: "hostsup", Version: "1", PID: os.Getpid(), Dir: dir}, path, l.args)
			if want := codec.CapPing | codec.CapCancel | codec.CapAbandon; c.hello.Caps != want {
				t.Errorf("caps %b", c.hello.Caps)
			}
			request, result := c.s.(interface {
				Opened() (request, result codec.Raw)
			}).Opened()
			if !json.Valid(request) || !strings.Contains(string(result), `"capabilities"`) {
				t.Errorf("opened with %q, %q", request, result)
			}
			c.alive()
			c.notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"json": map[string]any{"schemas": []any{
				map[string]any{"fileMatch": []string{"*.json"}, "schema": map[string]any{"properties": map[string]any{"name": map[string]any{"description": "what it is called"}}}},
			}}}})
			uri := "file://" + filepath.Join(dir, l.file)
			c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": l.id, "version": 1, "text": l.text}})
			at := map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": l.line, "character": l.character}}
			if hover := c.call("textDocument/hover", at); !strings.Contains(string(hover), l.want) {
				t.Errorf("hover: %q", hover)
			}
			gone := c.ask("textDocument/hover", at, true)
			c.send(codec.Message{Kind: codec.Cancel, ID: gone})
			c.alive() // also while it is busy, and after a cancelled request
			c.goodbye()
		})
	}
}

func TestEverythingServer(t *testing.T) {
	path := peerPath(t, "mcp-server-everything")
	c := startPeer(t, jsonrpc.Lines(jsonrpc.Options{}), codec.Hello{Supervisor: "hostsup", Version: "1"}, path, "stdio")
	if c.hello.Name != "mcp-servers/everything" || c.hello.Version == "" || !c.hello.Caps.Has(codec.CapPing) {
		t.Errorf("peer %+v", c.hello)
	}
	c.alive()
	if tools := c.call("tools/list", nil); !strings.Contains(string(tools), `"echo"`) {
		t.Errorf("tools: %q", tools)
	}
	said := c.call("tools/call", map[string]any{"name": "echo", "arguments": map[string]any{"message": "two\nlines"}})
	if !strings.Contains(string(said), `two\nlines`) {
		t.Errorf("echo: %q", said)
	}
	long := map[string]any{"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 0.2, "steps": 2}}
	id := c.ask("tools/call", long, true)
	c.until("progress", func(m *codec.Message) bool { return m.Method == "notifications/progress" && m.ID == id })
	if m := c.answer(id); m.Err != nil {
		t.Errorf("long operation: %v", m.Err)
	}
	// A cancelled request is not answered: what comes next is another's answer.
	id = c.ask("tools/call", map[string]any{"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 2, "steps": 2}}, false)
	c.send(codec.Message{Kind: codec.Cancel, ID: id})
	c.next++
	c.send(codec.Message{Kind: codec.Request, ID: c.next, Method: c.s.Ping()})
	if m := c.until("an answer", func(m *codec.Message) bool { return m.Kind == codec.Response }); m.ID != c.next {
		t.Errorf("answer to %d, which was cancelled", m.ID)
	}
	c.goodbye()
}

func TestFilesystemServer(t *testing.T) {
	path := peerPath(t, "mcp-server-filesystem")
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("contents"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A version of the other generation is looked for first, then the one there is.
	for _, init := range []any{nil, map[string]any{"protocolVersion": jsonrpc.SessionlessVersion}} {
		c := startPeer(t, jsonrpc.Lines(jsonrpc.Options{}), codec.Hello{Supervisor: "hostsup", Dir: dir, Init: init}, path, dir)
		got := c.call("tools/call", map[string]any{"name": "read_text_file", "arguments": map[string]any{"path": file}})
		if !strings.Contains(string(got), "contents") {
			t.Errorf("read: %q", got)
		}
		c.alive()
		c.goodbye()
	}
}

// A server that has no session refuses initialize, and is found out.
func TestSessionlessServer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	script, err := filepath.Abs("testdata/sessionless.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, init := range []any{nil, map[string]any{"protocolVersion": jsonrpc.SessionlessVersion}} {
		c := startPeer(t, jsonrpc.Lines(jsonrpc.Options{Ping: "server/discover"}), codec.Hello{Supervisor: "hostsup", Version: "1", Init: init}, python, script)
		if c.hello.Name != "sessionless" || c.hello.Version != "1" {
			t.Errorf("peer %+v", c.hello)
		}
		if tools := c.call("tools/list", nil); !strings.Contains(string(tools), `"who"`) {
			t.Errorf("tools: %q", tools)
		}
		id := c.ask("tools/call", map[string]any{"name": "who"}, true)
		c.until("progress", func(m *codec.Message) bool { return m.Method == "notifications/progress" && m.ID == id })
		if m := c.answer(id); m.Err != nil || !strings.Contains(string(m.Result), "you are hostsup") {
			t.Errorf("%q, %v", m.Result, m.Err)
		}
		c.alive()
		c.goodbye()
	}
}
