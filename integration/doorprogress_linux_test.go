//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// worksHost is a host with an extension that works for a while, for both kinds of clients.
func worksHost(t testing.TB, version string) (sup *supervisor.Supervisor, h *supervisor.Host, work string) {
	t.Helper()
	work = t.TempDir()
	sup, h = alone(t, edited(t, version, "works", func(s *plan.Spec, o *vscode.Options) {
		s.MCP, s.LSP = &plan.MCP{Commands: []string{"works.*"}}, &plan.LSP{Commands: []string{"works.*"}}
		o.Workspace = &vscode.Workspace{Folders: []string{work}}
	}))
	return sup, h, work
}

// An agent is told how far a command of an extension is, and the start of its host. When it cancels the call, the
// extension cancels its work; one that cannot be canceled goes on.
func TestAgentsFollowAndCancelCommands(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, _ := worksHost(t, version)
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- sup.Attach(ctx(t), h.Name(), far) }()
		told := make(chan string, 100)
		client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) {
				told <- fmt.Sprintf("%v %s", q.Params.ProgressToken, q.Params.Message)
			},
		})
		session, err := client.Connect(ctx(t), &sdk.IOTransport{Reader: near, Writer: near}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &mcpClient{ClientSession: session}
		defer func() {
			_ = c.Close()
			if err := <-ended; err != nil && !errors.Is(err, supervisor.ErrClosed) {
				t.Error(err)
			}
		}()
		// run calls the command that works, and returns when its progress was told.
		run := func(token string, cancelable bool, want ...string) (cancel func(), result chan string) {
			t.Helper()
			calling, cancel := context.WithCancel(ctx(t))
			result = make(chan string, 1)
			go func() {
				p := &sdk.CallToolParams{Name: "command_works_run", Arguments: map[string]any{"arguments": []any{cancelable}}}
				p.SetProgressToken(token)
				out, err := c.CallTool(calling, p)
				switch {
				case err != nil:
					result <- "error: " + err.Error()
				default:
					result <- out.Content[0].(*sdk.TextContent).Text
				}
			}()
			for _, w := range want {
				for got := range told {
					if got == token+" Working" { // it is told with its message, or before
						continue
					}
					if got != token+" "+w {
						t.Errorf("%q, want %q", got, w)
					}
					break
				}
			}
			return cancel, result
		}
		cancel, result := run("one", true, "Starting the extension host vs", "Working: half")
		c.calls(t, "command_works_finish", nil)
		same(t, <-result, "finished")
		cancel()

		cancel, result = run("two", true, "Working: half")
		cancel()
		if got := <-result; !strings.Contains(got, context.Canceled.Error()) {
			t.Errorf("%q", got)
		}
		eventually(t, func() bool { return c.calls(t, "command_works_outcome", nil) == "canceled" }, "the cancellation")

		cancel, result = run("three", false, "Working: half")
		cancel()
		<-result
		c.calls(t, "command_works_finish", nil)
		eventually(t, func() bool { return c.calls(t, "command_works_outcome", nil) == "finished" }, "the end")
	})
}

// A command whose host is killed while it runs is executed once and has one answer, and the session goes on. The
// client fails the test if there is a second one.
func TestACommandOfAKilledHostHasOneOutcome(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := worksHost(t, version)
		a := attachTo(t, sup, h.Name(), jsonrpc.Lines(jsonrpc.Options{}))
		a.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
		a.tell("notifications/initialized", dict{})
		began := filepath.Join(work, "began")
		for n := 1; n <= 2; n++ {
			_, answer := a.begin("tools/call", dict{"name": "command_works_hang", "arguments": dict{"arguments": list{began}}})
			lines := func() int {
				text, err := os.ReadFile(began)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
				return strings.Count(string(text), "\n")
			}
			eventually(t, func() bool { return lines() == n }, "the command")
			signal(t, h, syscall.SIGKILL)
			if got, err := a.wait(answer); err != nil || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "has not finished: its extension host") {
				t.Errorf("%s, %v", got, err)
			}
			eventually(t, func() bool {
				return strings.Contains(a.must("tools/call", dict{"name": "command_works_outcome", "arguments": dict{}}), "has returned nothing")
			}, "the next life")
			if got := lines(); got != n {
				t.Errorf("it was executed %d times, want %d", got, n)
			}
		}
	})
}

// What extensions work on is shown in an editor, which can cancel it; so is what a command works on, with the
// token of its request, and the start of a host.
func TestEditorsShowProgress(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, _ := worksHost(t, version)
		a := attachTo(t, sup, h.Name(), jsonrpc.Headers(jsonrpc.Options{}))
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			if method != "window/workDoneProgress/create" {
				t.Errorf("%s %s", method, params)
			}
			return codec.Raw("null"), nil
		})
		a.must("initialize", dict{"workDoneToken": "hello", "capabilities": dict{"window": dict{"workDoneProgress": true}}})
		a.tell("initialized", dict{})
		begins := func(what string, parts ...string) string {
			t.Helper()
			m := a.until(what, noted("$/progress", parts...))
			return string(m.Params)
		}
		begins("the start", `"hello"`, `"begin"`, "Starting the extension host vs")
		begins("the end of the start", `"hello"`, `"end"`)
		run := func(token any, cancelable bool) chan codec.Message {
			p := dict{"command": "works.run", "arguments": list{cancelable}}
			if token != nil {
				p["workDoneToken"] = token
			}
			_, answer := a.begin("workspace/executeCommand", p)
			return answer
		}
		canceled := func(answer chan codec.Message) {
			t.Helper()
			if got, err := a.wait(answer); err != nil || got != `"canceled"` {
				t.Errorf("%s, %v", got, err)
			}
		}
		cancel := func(token any) { a.tell("window/workDoneProgress/cancel", dict{"token": token}) }

		result := run(nil, true)
		shown := begins("the progress", `"begin"`, `"title":"Working"`, `"cancellable":true`)
		token := strings.Split(strings.SplitAfter(shown, `"token":"`)[1], `"`)[0]
		if !strings.HasPrefix(token, "hostsup.vs/") {
			t.Errorf("%s", shown)
		}
		cancel(token)
		canceled(result)
		begins("the end", token, `"end"`)

		result = run(7, true)
		begins("the progress of the request", `"token":7`, `"begin"`, "Working")
		cancel(7)
		canceled(result)
		begins("the end of the request", `"token":7`, `"end"`)

		// A kill ends the progress, and the next start is shown.
		result = run(nil, false)
		shown = begins("the progress", `"begin"`, `"title":"Working"`, `"cancellable":false`)
		token = strings.Split(strings.SplitAfter(shown, `"token":"`)[1], `"`)[0]
		signal(t, h, syscall.SIGKILL)
		begins("the end of the life", token, `"end"`)
		if got, err := a.wait(result); err == nil || !strings.Contains(err.Error(), "it is not repeated") {
			t.Errorf("%s, %v", got, err)
		}
		begins("the next start", `"begin"`, "Starting the extension host vs")
	})
}

// Extensions take part in the saves of an editor that only announces them; what they change comes after.
func TestEditorsAnnounceSaves(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, work := worksHost(t, version)
		path := written(t, work, "a.acme", "one\n")
		a := attachTo(t, sup, h.Name(), jsonrpc.Headers(jsonrpc.Options{}))
		applied := make(chan string, 10)
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			applied <- method + " " + string(params)
			return codec.Raw(`{"applied":true}`), nil
		})
		out := a.must("initialize", dict{"capabilities": dict{"textDocument": dict{"synchronization": dict{"willSave": true}}}})
		if !strings.Contains(out, `"willSave":true`) {
			t.Errorf("%s", out)
		}
		a.tell("initialized", dict{})
		doc := opensDoc(a, path, "two\n")
		command := func(name string) string {
			t.Helper()
			return a.must("workspace/executeCommand", dict{"command": "works." + name})
		}
		same(t, command("saves"), `""`) // it is active
		// What takes longer than a save may take is left out, on a busy machine: then the document is saved again.
		for attempt := 1; len(applied) == 0 && attempt <= 5; attempt++ {
			a.tell("textDocument/willSave", dict{"textDocument": doc, "reason": 1})
			if err := os.WriteFile(path, []byte("two\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a.tell("textDocument/didSave", dict{"textDocument": doc})
			var saves string
			eventually(t, func() bool {
				saves += strings.Trim(command("saves"), `"`) + " "
				return strings.Contains(saves, "did")
			}, "the save")
			if got := strings.Join(strings.Fields(strings.ReplaceAll(saves, ",", "")), " "); got != "will 1 did" {
				t.Errorf("%q", got)
			}
		}
		eventually(t, func() bool { return len(applied) > 0 }, "the change")
		if got := <-applied; !strings.HasPrefix(got, "workspace/applyEdit ") || !strings.Contains(got, `"newText":"saved `) {
			t.Errorf("%s", got)
		}
	})
}

// Neovim's own client shows the progress of extensions and cancels it.
func TestNeovimShowsProgress(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		host := configuredHost(t, version, "works", fmt.Sprintf("    workspace = [%q]\n    serve \"lsp\" { commands = [\"works.*\"] }\n", work))
		runNeovim(t, host, written(t, work, "a.acme", "one\n"), neovimProgress)
	})
}

const neovimProgress = `
local function check(ok, what) if not ok then print(what) vim.cmd('cquit') end end
local seen, token = {}, nil
local shows = vim.lsp.handlers['$/progress']
vim.lsp.handlers['$/progress'] = function(err, result, ctx, config)
  table.insert(seen, result.value.kind .. ' ' .. (result.value.title or result.value.message or ''))
  if result.value.title == 'Working' then token = result.token end
  return shows(err, result, ctx, config)
end
local id = vim.lsp.start_client({ name = 'code', cmd = { os.getenv('PROGRAM'), 'attach', 'code' }, get_language_id = function() return 'acme' end })
check(id, 'the client was not started')
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
check(vim.wait(60000, function() return client.initialized end, 20), 'not initialized')
local outcome
client.request('workspace/executeCommand', { command = 'works.run' }, function(err, result) outcome = err and vim.inspect(err) or result end)
check(vim.wait(60000, function() return token end, 20), vim.inspect(seen))
client.notify('window/workDoneProgress/cancel', { token = token })
check(vim.wait(60000, function() return outcome end, 20), 'no outcome')
check(outcome == 'canceled', outcome)
check(vim.wait(60000, function() return seen[#seen]:find('^end') end, 20), vim.inspect(seen))
print('all is well')
vim.cmd('qall!')
`
