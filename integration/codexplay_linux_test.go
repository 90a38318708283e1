//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// codexProgram is the path of the real client, which is a server as well.
func codexProgram(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("HOSTSUP_CODEX"); path != "" {
		return path
	}
	found, _ := filepath.Glob(peerDir + "/@openai/codex-linux-*/vendor/*/bin/codex") // the pattern is valid
	if len(found) == 0 {
		return peer(t, "codex")
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// agent is a run of `codex exec` whose model is played by the test: it decides
// what the tools are called with and keeps what they have answered.
type agent struct {
	dir     string // of it all; work/ is what it works on
	home    string // its CODEX_HOME
	env     []string
	program string
	model   *model
}

// newAgent is an agent in a folder of its own. Mode is the sandbox that it asks
// for.
func newAgent(t *testing.T, mode string, plan func(m *model)) *agent {
	t.Helper()
	a := &agent{dir: place(t, os.Getuid()), program: codexProgram(t), model: newModel(t, plan)}
	a.home = filepath.Join(a.dir, "codex")
	for _, sub := range []string{"home", "tmp", "codex", "work"} {
		if err := os.Mkdir(filepath.Join(a.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A model that it knows to have the tool for patches.
	a.write(t, "codex/config.toml", fmt.Sprintf(`
model = "gpt-5.5"
model_provider = "played"
approval_policy = "never"
sandbox_mode = %q
check_for_update_on_startup = false
[model_providers.played]
name = "played"
base_url = "%s/v1"
wire_api = "responses"
request_max_retries = 3
stream_max_retries = 0
requires_openai_auth = false
[analytics]
enabled = false
`, mode, a.model.web.URL))
	return a
}

func (a *agent) path(elem ...string) string {
	return filepath.Join(append([]string{a.dir}, elem...)...)
}

func (a *agent) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(a.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// append adds to a file.
func (a *agent) append(t testing.TB, name, text string) {
	t.Helper()
	b, err := os.ReadFile(a.path(name))
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name, string(b)+text)
}

// holds fails the test unless this is in the file.
func (a *agent) holds(t testing.TB, name, want string) {
	t.Helper()
	b, err := os.ReadFile(a.path(name))
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q (%v), want %q", name, b, err, want)
	}
}

// environ is the environment of the client and, but for what marks it, of the
// server.
func (a *agent) environ() []string {
	return append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + a.path("home"), "TMPDIR=" + a.path("tmp"), "CODEX_HOME=" + a.home,
	}, a.env...)
}

// byURL reaches a server by the variable.
func (a *agent) byURL(url string) { a.env = append(a.env, "CODEX_EXEC_SERVER_URL="+url) }

// byFile reaches one by environments.toml; the lines name it.
func (a *agent) byFile(t testing.TB, lines string) {
	t.Helper()
	a.write(t, "codex/environments.toml", "default = \"box\"\ninclude_local = false\n\n[[environments]]\nid = \"box\"\n"+lines)
}

// run runs the client to its end, and the model's plan with it.
func (a *agent) run(t testing.TB) {
	t.Helper()
	cmd := exec.CommandContext(ctx(t), a.program, "exec", "--skip-git-repo-check", "-C", a.path("work"), "go")
	cmd.Env, cmd.Dir, cmd.WaitDelay = a.environ(), a.path("work"), 10*time.Second
	close(a.model.begun)
	out, err := cmd.CombinedOutput()
	a.model.end()
	if err != nil {
		t.Fatalf("codex exec: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte(lastWord)) {
		t.Errorf("the client never heard the last word: %s", out)
	}
	if t.Failed() {
		t.Logf("codex exec said\n%s", out[:min(len(out), 8<<10)])
	}
}

// lastWord is what the model says when its plan is done.
const lastWord = "that-is-all"

// model is a model provider with a plan: a function that calls tools and looks
// at what they answer.
type model struct {
	t     *testing.T
	web   *httptest.Server
	begun chan struct{}   // closed when all is ready for the plan
	calls chan toolCall   // from the plan to the next answer of the provider
	heard chan []toolItem // what the client sends with each request
	over  chan struct{}   // closed when the client has ended
	done  chan struct{}   // closed when the plan has
	n     int

	ending sync.Once
}

type toolCall struct {
	Type      string `json:"type"`
	ID        string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
	Input     string `json:"input,omitempty"`
}

// toolItem is one item of a request.
type toolItem struct {
	Type   string          `json:"type"`
	ID     string          `json:"call_id"`
	Output json.RawMessage `json:"output"`
}

func newModel(t *testing.T, plan func(*model)) *model {
	m := &model{t: t, begun: make(chan struct{}), calls: make(chan toolCall), heard: make(chan []toolItem), over: make(chan struct{}), done: make(chan struct{})}
	m.web = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(func() {
		m.end()
		m.web.Close()
	})
	go func() {
		defer close(m.done)
		defer close(m.calls) // no more calls
		select {
		case <-m.begun:
		case <-m.over:
			return
		}
		select {
		case <-m.heard: // the first request, with nothing to answer yet
			plan(m)
		case <-m.over:
		}
	}()
	return m
}

// end waits for the plan, which has nobody to talk to any more.
func (m *model) end() {
	m.ending.Do(func() { close(m.over) })
	<-m.done
}

// serve answers one request of the client: with the call that the plan makes
// next, or with the last word.
func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var asked struct {
		Input []toolItem `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		m.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case m.heard <- asked.Input:
	case <-m.done:
	case <-m.over:
	}
	var item any = map[string]any{
		"type": "message", "role": "assistant", "id": "m",
		"content": []any{map[string]any{"type": "output_text", "text": lastWord}},
	}
	select {
	case call, ok := <-m.calls:
		if ok {
			item = call
		}
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []map[string]any{
		{"type": "response.created", "response": map[string]any{"id": "r"}},
		{"type": "response.output_item.done", "item": item},
		{"type": "response.completed", "response": map[string]any{"id": "r", "usage": map[string]any{
			"input_tokens": 1, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil, "total_tokens": 2,
		}}},
	} {
		b, err := json.Marshal(e)
		if err != nil {
			m.t.Error(err)
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b); err != nil {
			return // the client is gone
		}
	}
}

// call makes a call and returns what the tool answered.
func (m *model) call(c toolCall) string {
	m.n++
	c.ID = "call-" + strconv.Itoa(m.n)
	select {
	case m.calls <- c:
	case <-m.over:
		m.t.Errorf("the client ended before %+v", c)
		return ""
	}
	var items []toolItem
	select {
	case items = <-m.heard:
	case <-m.over:
		m.t.Errorf("the client ended at %+v", c)
		return ""
	}
	for _, i := range items {
		if i.ID == c.ID && strings.HasSuffix(i.Type, "_output") {
			return textOf(i.Output)
		}
	}
	m.t.Errorf("%+v has no answer", c)
	return ""
}

// textOf is the text of an output, which is a string or a list of parts.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // no text then
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// patch applies one.
func (m *model) patch(text string) string {
	return m.call(toolCall{Type: "custom_tool_call", Name: "apply_patch", Input: text})
}

func (m *model) function(name string, args map[string]any) result {
	b, err := json.Marshal(args)
	if err != nil {
		m.t.Error(err)
	}
	return newResult(m.call(toolCall{Type: "function_call", Name: name, Arguments: string(b)}))
}

// begin runs a command and returns after that long, or when it ends.
func (m *model) begin(command string, tty bool, within time.Duration) result {
	return m.function("exec_command", map[string]any{
		"cmd": command, "tty": tty, "yield_time_ms": within.Milliseconds(), "max_output_tokens": 100_000,
	})
}

// run runs a command to its end.
func (m *model) run(command string) result {
	return m.wait(m.begin(command, false, 30*time.Second))
}

// start runs a command that goes on, and returns when it has written this.
func (m *model) start(command string, tty bool, ready string) result {
	r := m.begin(command, tty, 500*time.Millisecond)
	for deadline := time.Now().Add(patience); r.session != 0 && r.output != ready && time.Now().Before(deadline); {
		r = m.typed(r, "")
	}
	if r.session == 0 || r.output != ready {
		m.t.Errorf("%s: it is not ready: %q, all of it %q", command, r.text, r.output)
	}
	return r
}

// typed writes to a command that runs.
func (m *model) typed(r result, text string) result {
	next := m.function("write_stdin", map[string]any{
		"session_id": r.session, "chars": text, "yield_time_ms": 2000, "max_output_tokens": 100_000,
	})
	next.output = r.output + next.output
	return next
}

// wait waits for the end of a command that may still run, and adds up what it
// wrote.
func (m *model) wait(r result) result {
	for deadline := time.Now().Add(patience); r.session != 0; {
		if time.Now().After(deadline) {
			m.t.Errorf("it still runs, and has said %q", r.text)
			return r
		}
		r = m.typed(r, "")
	}
	return r
}

// result is what the tools say of a command.
type result struct {
	text    string // all of it, as it came
	output  string // what the command has written
	session int    // while it runs
	code    int    // -1 when there is none
}

var (
	resultSession = regexp.MustCompile(`(?m)^Process running with session ID (\d+)$`)
	resultCode    = regexp.MustCompile(`(?m)^Process exited with code (-?\d+)$`)
)

func newResult(text string) result {
	r := result{text: text, code: -1}
	head, output, ok := strings.Cut(text, "\nOutput:\n")
	if !ok {
		return r
	}
	r.output = output
	if found := resultSession.FindStringSubmatch(head); found != nil {
		r.session, _ = strconv.Atoi(found[1]) // digits
	}
	if found := resultCode.FindStringSubmatch(head); found != nil {
		r.code, _ = strconv.Atoi(found[1]) // likewise
	}
	return r
}

// remote is a server in a process of its own that ends with the test. It marks
// what it starts, so that a test can tell who did.
type remote struct {
	cmd  *exec.Cmd
	url  string
	stop func(syscall.Signal)
}

// serverMask is the umask of a remote, by which its files are known.
const serverMask = "027"

// codexMarked is a command that starts a server that lets its mark be known.
func codexMarked(mark string, argv ...string) []string {
	return append([]string{"/bin/sh", "-c", `umask ` + serverMask + `; MARK="$0" exec "$@"`, mark}, argv...)
}

// serve starts a server for WebSockets, by a program and flags.
func (a *agent) serve(t testing.TB, mark string, argv ...string) *remote {
	t.Helper()
	return a.serveAt(t, mark, "ws://127.0.0.1:0", argv...)
}

// serveAt starts a server and waits until it listens.
func (a *agent) serveAt(t testing.TB, mark, listen string, argv ...string) *remote {
	t.Helper()
	argv = append([]string{argv[0], "exec-server", "--listen", listen}, argv[1:]...)
	argv = codexMarked(mark, argv...)
	r := &remote{cmd: exec.Command(argv[0], argv[1:]...)}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stderr = a.environ(), a.path("tmp"), logWriter{t}
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_, _ = io.Copy(io.Discard, out) // until it has ended
		if err := r.cmd.Wait(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
				t.Errorf("%s: %v", mark, err)
			}
		}
	})
	r.stop = func(sig syscall.Signal) {
		_ = r.cmd.Process.Signal(sig) // it may have ended
		stop()
	}
	t.Cleanup(func() { r.stop(syscall.SIGTERM) })
	if path, ok := strings.CutPrefix(listen, "unix://"); ok {
		r.url = listen
		eventually(t, func() bool {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
			}
			return err == nil
		}, "it listens at", path)
		return r
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s tells no address: %v", mark, err)
	}
	r.url = strings.TrimSpace(line)
	return r
}

// relay stands between a client and a server and cuts their connections.
type relay struct {
	l       net.Listener
	wg      sync.WaitGroup
	mu      sync.Mutex
	network string
	to      string
	closed  bool // to those who come
	conns   []net.Conn
	taken   int // connections so far
	cuts    int
}

func newRelay(t testing.TB, network, to string) *relay {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(place(t, os.Getuid()), "relay")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, network: network, to: to}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		l.Close()
		r.cut()
		r.wg.Wait()
	})
	return r
}

// url is where clients find it.
func (r *relay) url() string {
	if r.network == "unix" {
		return "unix://" + r.l.Addr().String()
	}
	return "ws://" + r.l.Addr().String()
}

// turn leads those who come from now on to another server.
func (r *relay) turn(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// shut turns away who comes, until it is opened again.
func (r *relay) shut(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = closed
}

// count is how many connections it has taken, and how many it has cut.
func (r *relay) count() (taken, cuts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.cuts
}

func (r *relay) accept() {
	for {
		client, err := r.l.Accept()
		if err != nil {
			return
		}
		r.join(client)
	}
}

func (r *relay) join(client net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		client.Close()
		return
	}
	server, err := net.Dial(r.network, r.to)
	if err != nil {
		client.Close()
		return
	}
	r.taken++
	r.conns = append(r.conns, client, server)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		r.wg.Go(func() {
			// Until it is cut. Not by splice, whose pipes are kept for the next time.
			_, _ = io.Copy(struct{ io.Writer }{pair[0]}, struct{ io.Reader }{pair[1]})
			pair[0].Close()
			pair[1].Close()
		})
	}
}

// cut ends all connections; what was on its way is lost.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
	if len(r.conns) > 0 {
		r.cuts++
	}
	r.conns = nil
}
