//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// mcpClient is a client of the official SDK that is attached to a host.
type mcpClient struct {
	*sdk.ClientSession
	changes chan struct{} // of the list of tools
}

// attachMCP attaches a client to a host, until the test ends.
func attachMCP(t testing.TB, sup *supervisor.Supervisor, host string) *mcpClient {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- sup.Attach(ctx(t), host, far) }()
	c := &mcpClient{changes: make(chan struct{}, 100)}
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.changes <- struct{}{} },
	})
	var err error
	if c.ClientSession, err = client.Connect(ctx(t), &sdk.IOTransport{Reader: near, Writer: near}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-ended; err != nil && !errors.Is(err, supervisor.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// names returns the tools by their names.
func (c *mcpClient) names(t testing.TB) map[string]*sdk.Tool {
	t.Helper()
	out := map[string]*sdk.Tool{}
	for tool, err := range c.Tools(ctx(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		out[tool.Name] = tool
	}
	return out
}

// calls calls a tool and returns its result as a text, that of an error after "error: ".
func (c *mcpClient) calls(t testing.TB, name string, arguments any) string {
	t.Helper()
	out, err := c.CallTool(ctx(t), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, part := range out.Content {
		switch p := part.(type) {
		case *sdk.TextContent:
			texts = append(texts, p.Text)
		case *sdk.ImageContent:
			texts = append(texts, fmt.Sprintf("%s of %d bytes", p.MIMEType, len(p.Data)))
		default:
			t.Errorf("%s: a part %T", name, part)
		}
	}
	if text := strings.Join(texts, ", "); !out.IsError {
		return text
	}
	return "error: " + strings.Join(texts, ", ")
}

// Extensions are tools of an MCP client, which is told of their errors and of the end of their host.
func TestExtensionsAreToolsOfMCP(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, edited(t, version, "served", func(s *plan.Spec, _ *vscode.Options) {
			s.MCP = &plan.MCP{Commands: []string{"served.*"}}
		}))
		c := attachMCP(t, sup, h.Name())
		tools := c.names(t)
		if got := h.Status().State; got != lifecycle.Stopped {
			t.Errorf("the host is %s before a tool is called", got)
		}
		if len(tools) != 6 || tools["command_served_greet"] == nil || tools["served_add"] == nil {
			t.Fatalf("%v", tools)
		}
		if greet := tools["command_served_greet"]; greet.Title != "Served: Greet" {
			t.Errorf("%+v", greet)
		}
		if schema, _ := json.Marshal(tools["served_add"].InputSchema); !strings.Contains(string(schema), `"required":["numbers"]`) || tools["served_add"].Description != "Adds numbers." {
			t.Errorf("%s %+v", schema, tools["served_add"])
		}

		numbers := func(list ...int) any { return map[string]any{"numbers": append([]int{}, list...)} }
		same(t, strings.Join(strings.Fields(c.calls(t, "served_add", numbers(20, 22))), " "), `42, { "sum": "42" }, image/png of 3 bytes`)
		same(t, c.calls(t, "served_add", numbers()), "error: there are no numbers")
		same(t, c.calls(t, "command_served_greet", map[string]any{"arguments": []string{"Ada", "Bob"}}), `["hello Ada","hello Bob"]`)
		same(t, c.calls(t, "command_served_greet", nil), "The command was executed and has returned nothing.")
		if got := c.calls(t, "command_served_greet", map[string]any{"arguments": 1}); !strings.Contains(got, "error: ") || !strings.Contains(got, "arguments") {
			t.Errorf("%q", got)
		}
		if got := c.calls(t, "command_private_secret", nil); !strings.Contains(got, "unknown tool") {
			t.Errorf("%q", got)
		}

		// A client that cancels a tool cancels it in the extension.
		waiting, cancel := context.WithCancel(ctx(t))
		answered := make(chan error, 1)
		go func() {
			_, err := c.CallTool(waiting, &sdk.CallToolParams{Name: "served_wait"})
			answered <- err
		}()
		eventually(t, func() bool { return h.Status().Pending > 0 }, "the call at the host")
		cancel()
		if err := <-answered; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		eventually(t, func() bool { return c.calls(t, "command_served_cancelled", nil) == "1" }, "the cancellation")

		// A command that is registered later is a tool then.
		for len(c.changes) > 0 {
			<-c.changes
		}
		c.calls(t, "command_served_later", nil)
		<-c.changes
		eventually(t, func() bool { return c.names(t)["command_served_new"] != nil }, "the tool")
		same(t, c.calls(t, "command_served_new", nil), "new")

		// A host that ends in the middle fails the call, and the session goes on.
		if got := c.calls(t, "served_die", nil); !strings.Contains(got, "error: The tool served_die has not finished: its extension host") {
			t.Errorf("%q", got)
		}
		eventually(t, func() bool { return strings.HasPrefix(c.calls(t, "served_add", numbers(1, 1)), "2") }, "the next life")
	})
}

// A host that has crashed too often is not started again, which its clients are told with what a person
// can do.
func TestToolsOfAFailedHostSayWhatToDo(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		spec := edited(t, version, "served", func(s *plan.Spec, _ *vscode.Options) {
			s.MCP = &plan.MCP{Commands: []string{"served.greet"}}
		})
		spec.Restart.MaxCrashes = 2
		sup, h := alone(t, spec)
		c := attachMCP(t, sup, h.Name())
		const again = "The host is started again, and the tool can be called again. The host: killed by SIGKILL"
		if got := c.calls(t, "served_die", nil); !strings.Contains(got, "has not finished") || !strings.Contains(got, again) {
			t.Errorf("the first end: %q", got)
		}
		failed := fmt.Sprintf("The host has failed and is not started again by itself. A person can start it (hostsup start %[1]s) and read why it ended (hostsup crashes %[1]s)", h.Name())
		if got := c.calls(t, "served_die", nil); !strings.Contains(got, "has not finished") || !strings.Contains(got, failed) {
			t.Errorf("the last end: %q", got)
		}
		if got := c.calls(t, "served_add", nil); !strings.Contains(got, "The tool served_add has not run: ") || !strings.Contains(got, failed) {
			t.Errorf("a tool of a failed host: %q", got)
		}
		if got := c.calls(t, "command_served_greet", nil); !strings.Contains(got, "The command served.greet has not run: ") || !strings.Contains(got, failed) {
			t.Errorf("a command of a failed host: %q", got)
		}
		if err := h.Start(ctx(t)); err != nil {
			t.Fatal(err)
		}
		same(t, strings.Join(strings.Fields(c.calls(t, "served_add", map[string]any{"numbers": []int{20, 22}})), " "), `42, { "sum": "42" }, image/png of 3 bytes`)
	})
}

// Hosts whose extensions are not served have no door.
func TestExtensionsAreNotServedUnasked(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h := alone(t, edited(t, version, "served"))
		if attach.DoorOf(h) != nil {
			t.Error("there is a door")
		}
		near, far := net.Pipe()
		defer near.Close()
		if err := sup.Attach(ctx(t), h.Name(), far); err == nil {
			t.Error("a client can attach")
		}
	})
}

// The same over hostsup attach and over HTTP, with a kill from outside in the middle.
func TestExtensionsOverAttachAndHTTP(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		host := configuredHost(t, version, "served", `    serve "mcp" {
      commands = ["served.greet"]
      tools    = ["served_*"]
    }
`)
		servedOverHTTP(t, host, "  hosts = [\"code\"]\n", false, func(socket, at, tokenFile string) error {
			token, err := os.ReadFile(tokenFile)
			if err != nil {
				return err
			}
			attach := exec.CommandContext(ctx(t), hostsupBinary(t), "--socket", socket, "attach", "code")
			bearer := &http.Client{Transport: bearerTransport(strings.TrimSpace(string(token)))}
			for _, transport := range []sdk.Transport{
				&sdk.CommandTransport{Command: attach},
				&sdk.StreamableClientTransport{Endpoint: at + "/mcp", HTTPClient: bearer},
			} {
				if err := usesExtensions(t, transport, socket); err != nil {
					return fmt.Errorf("%T: %w", transport, err)
				}
			}
			return nil
		})
	})
}

// configuredHost returns the block of a host "code" with the extensions of a folder of testdata/vscode,
// and with more settings of its extensions block.
func configuredHost(t testing.TB, version, folder, more string) string {
	t.Helper()
	spec := vscodeHost(t, version)
	dir, err := filepath.Abs("testdata/vscode/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`host "code" {
  command  = [%q, %q, %q]
  protocol = "vscode"
  env      = { HOME = %[4]q, TMPDIR = %[4]q, PATH = "/usr/local/bin:/usr/bin:/bin" }
  start { timeout = "90s" }
  extensions {
    user    = [%[5]q]
    storage = %[6]q
%[7]s  }
}`, spec.Command[0], spec.Command[1], spec.Command[2], spec.Env["HOME"], dir, t.TempDir(), more)
}

// bearerTransport sends a token with each request.
type bearerTransport string

func (token bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// usesExtensions calls tools, and one while the host is killed from outside.
func usesExtensions(t testing.TB, transport sdk.Transport, socket string) error {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx(t), transport, nil)
	if err != nil {
		return err
	}
	c := &mcpClient{ClientSession: session}
	defer session.Close()
	if tools := c.names(t); len(tools) != 4 || tools["command_served_greet"] == nil || tools["served_wait"] == nil {
		t.Errorf("%v", tools)
	}
	same(t, c.calls(t, "command_served_greet", map[string]any{"arguments": []string{"Ada"}}), `["hello Ada"]`)

	status := func() (pid, pending int) {
		out, err := exec.CommandContext(ctx(t), hostsupBinary(t), "--socket", socket, "status", "--json").Output()
		var all struct {
			Hosts []struct{ PID, Pending int }
		}
		if err == nil {
			err = json.Unmarshal(out, &all)
		}
		if err != nil || len(all.Hosts) != 1 {
			t.Fatalf("%s %v", out, err)
		}
		return all.Hosts[0].PID, all.Hosts[0].Pending
	}
	lost := make(chan string, 1)
	go func() { lost <- c.calls(t, "served_wait", nil) }()
	eventually(t, func() bool { _, pending := status(); return pending > 0 }, "the call at the host")
	pid, _ := status()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if got := <-lost; !strings.HasPrefix(got, `error: The tool served_wait has not finished: its extension host "code" ended`) {
		t.Errorf("%q", got)
	}
	eventually(t, func() bool {
		return c.calls(t, "command_served_greet", map[string]any{"arguments": []int{1}}) == `["hello 1"]`
	}, "the next life")
	return nil
}
