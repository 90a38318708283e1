//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const showMessage = "window/showMessage"

// shows waits until an editor shows a message of the supervisor's with all parts.
func (a *attached) shows(kind string, parts ...string) {
	a.t.Helper()
	a.until("message "+strings.Join(parts, " "), noted(showMessage, append(parts, `"type":`+kind, "hostsup: ")...))
}

// shown returns the messages that an editor has been shown and that no test has looked at.
func (a *attached) shown() (out []string) {
	for {
		select {
		case m := <-a.notes:
			if m.Method == showMessage {
				out = append(out, string(m.Params))
			}
		default:
			return out
		}
	}
}

// killsInARow kills the process of a host n times, each time when the next one runs.
func killsInARow(t testing.TB, host *supervisor.Host, n uint64) {
	t.Helper()
	for life := host.Status().Life; n > 0; n-- {
		signal(t, host, syscall.SIGKILL)
		life++
		runs(t, host, life)
	}
}

// Editors show that their server has crashed and that it is back: of many crashes in a
// row those of one, and how many there were when they are told next.
func TestAttachShowsCrashes(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	sup, host := alone(t, h)
	hello := opening(t.TempDir())
	a, b := newSharer(t, sup, hello), newSharer(t, sup, hello)
	quiet := attachTo(t, sup, "ls", h.Protocol) // it has said nothing yet
	begin := time.Now()
	killsInARow(t, host, 1)
	for _, e := range []sharer{a, b} {
		e.shows("2", "the language server ls crashed: killed by SIGKILL; it is started again")
		e.shows("3", "the language server ls is back after ")
	}
	killsInARow(t, host, 10)
	a.must("test/told", nil)
	got := a.shown()
	if windows := 1 + int(time.Since(begin)/time.Minute); len(got) > 3*windows-2 {
		t.Errorf("ten further crashes in %s are shown as %q", time.Since(begin), got)
	}
	quiet.must("initialize", hello)
	if got := quiet.shown(); len(got) > 0 {
		t.Errorf("a program that came after the crashes is shown %q", got)
	}
}

// With notify = false nothing is shown, from the reload on that has changed it.
func TestAttachShowsNothing(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	h.Features = append(h.Features, attach.Rule{Silent: true})
	sup, host := alone(t, h)
	a := newSharer(t, sup, opening(t.TempDir()))
	killsInARow(t, host, 2)
	a.must("test/told", nil)
	if got := a.shown(); len(got) > 0 {
		t.Errorf("it is shown %q", got)
	}
}

// What an editor shows when its server is given up says what helps.
func TestAttachShowsFailure(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	h.Restart.MaxCrashes = 2
	sup, host := alone(t, h)
	a := newSharer(t, sup, opening(t.TempDir()))
	killsInARow(t, host, 1)
	a.shows("3", "is back")
	signal(t, host, syscall.SIGKILL)
	a.shows("1", "the language server ls crashed: killed by SIGKILL: crash 2 in 5m0s, given up", "hostsup crashes ls shows what it printed", "hostsup start ls starts it again")
	if err := host.Wait(ctx(t), lifecycle.Failed); err != nil {
		t.Fatal(err)
	}
	if err := host.Start(ctx(t)); err != nil {
		t.Fatal(err)
	}
	a.shows("3", "is back")
}

// A server that is started wrongly says so before the editor's initialize has failed.
func TestAttachShowsWrongStart(t *testing.T) {
	t.Parallel()
	h := demoHost("ls")
	h.Command = []string{"/bin/sh", "-c", `echo "Use '--stdio'" >&2; exit 1`}
	h.Protocol = jsonrpc.Headers(jsonrpc.Options{})
	h.Attach, h.Restart.MaxCrashes, h.Start.Lazy = true, 2, true
	sup, _ := alone(t, h)
	a := attachTo(t, sup, "ls", h.Protocol)
	_, answer := a.begin("initialize", opening(t.TempDir()))
	a.shows("2", "crashed: exit 1: Use '--stdio'", "it is started again")
	a.shows("1", "crashed: exit 1: Use '--stdio'", "given up")
	if out, err := a.wait(answer); err == nil || !strings.Contains(err.Error(), "exit 1: Use '--stdio'") {
		t.Errorf("initialize: %s, %v", out, err)
	}
}

// An editor whose server does not answer initialize shows what that usually means, and
// what the server has printed, and then that it has started.
func TestAttachShowsSlowStart(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	h.Start.Lazy = true
	file := filepath.Join(t.TempDir(), "capabilities") // who reads it waits for who writes it
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	h.Env[textCapsEnv] = file
	sup, _ := alone(t, h)
	a := attachTo(t, sup, "ls", h.Protocol)
	_, answer := a.begin("initialize", opening(t.TempDir()))
	a.shows("2", "the language server ls has not answered for 5s since its start", "--stdio", "reading its capabilities")
	if err := os.WriteFile(file, []byte(incremental), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.wait(answer); err != nil {
		t.Fatal(err)
	}
	a.shows("3", "the language server ls has started after ")
}

// An editor whose server is away for longer than a moment shows that as work in progress,
// if it does not refuse to.
func TestAttachShowsRestart(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	sup, host := alone(t, h)
	hello := opening(t.TempDir())
	a, b := newSharer(t, sup, hello), newSharer(t, sup, hello)
	b.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) {
		return nil, &codec.Error{Code: -32603, Message: "no"}
	})
	b.must("test/told", nil) // initialized has been read
	a.must("test/told", nil)
	for restart := range 2 {
		file := h.Env[textCapsEnv]
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(file, 0o600); err != nil { // who reads it waits for who writes it
			t.Fatal(err)
		}
		token := fmt.Sprintf(`"hostsup/restart-%d"`, restart+1)
		signal(t, host, syscall.SIGKILL)
		a.until("begin", noted("$/progress", token, "begin", "hostsup: starting the language server ls again"))
		if err := os.WriteFile(file, []byte(incremental), 0o600); err != nil {
			t.Fatal(err)
		}
		a.until("end", noted("$/progress", token, "end"))
		runs(t, host, uint64(restart)+2)
	}
	b.must("test/told", nil)
	for len(b.notes) > 0 {
		if m := <-b.notes; m.Method == "$/progress" {
			t.Errorf("an editor that has refused it is told %s", m.Params)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.asked, []string{"window/workDoneProgress/create", "window/workDoneProgress/create"}) {
		t.Errorf("it was asked %q", b.asked)
	}
}

// A real server is killed under an editor.
func TestAttachShowsCrashOfTypeScript(t *testing.T) {
	t.Parallel()
	h := server(t, "typescript", jsonrpc.Headers(jsonrpc.Options{}), "typescript-language-server", "--stdio")
	h.Attach = true
	sup, host := alone(t, h)
	a := attachTo(t, sup, "typescript", h.Protocol)
	a.must("initialize", opening(t.TempDir()))
	a.tell("initialized", dict{})
	signal(t, host, syscall.SIGKILL)
	a.shows("2", "the language server typescript crashed: killed by SIGKILL; it is started again")
	a.shows("3", "the language server typescript is back after ")
}

// Clients of an MCP server that has log messages get one, if they want those of its level.
func TestAttachLogsCrashes(t *testing.T) {
	t.Parallel()
	h := wishesServer(t, "wishes")
	sup, host := alone(t, h)
	connect := func(level string) *attached {
		a := attachTo(t, sup, h.Name, h.Protocol)
		a.must("initialize", named("agent", "2025-11-25"))
		a.tell("notifications/initialized", nil)
		if level != "" {
			a.must("logging/setLevel", dict{"level": level})
		}
		return a
	}
	all, severe := connect(""), connect("error")
	killsInARow(t, host, 1)
	ofHub := func(parts ...string) func(codec.Message) bool {
		return noted("notifications/message", append(parts, `"logger":"hostsup"`)...)
	}
	all.until("a log message of the crash", ofHub("warning", "the MCP server wishes crashed: killed by SIGKILL; it is started again"))
	all.until("a log message that it is back", ofHub("info", "the MCP server wishes is back after "))
	severe.must("ping", nil)
	for len(severe.notes) > 0 {
		if m := <-severe.notes; ofHub()(m) {
			t.Errorf("a client that wants errors alone is told %s", m.Params)
		}
	}
}
