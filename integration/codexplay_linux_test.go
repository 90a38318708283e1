//go:build linux

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

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
	a := &agent{dir: place(t, os.Getuid()), program: require.Codex(t), model: newModel(t, plan)}
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
